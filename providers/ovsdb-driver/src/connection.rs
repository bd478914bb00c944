//! OVSDB's protocol, JSON-RPC 1.0 over a stream (RFC 7047), as far as one client needs it that waits for each answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use provider_ovn::ovsdb::ClientCertificate;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::error::Error;

/// How long a connection or an answer may take: a member that doesn't answer must not hold up the others' answers.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer, in bytes: some thousand nodes. Parsed it takes sixteen times as much of the operator's memory.
const LARGEST: usize = 2 << 20;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection with one member of a database.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    host: String,
    /// What was received and not yet read.
    received: Vec<u8>,
    requests: u64,
}

impl Connection {
    /// Connects. The server's certificate must be valid for its name.
    pub(crate) async fn open(
        host: &str,
        port: u16,
        tls: Option<Arc<ClientConfig>>,
    ) -> Result<Self, Error> {
        let unreachable = |error: io::Error| Error::Unreachable {
            host: host.to_owned(),
            why: error.to_string(),
        };
        let connected = async {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            let Some(tls) = tls else {
                return Ok::<Box<dyn Stream>, io::Error>(Box::new(stream));
            };
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let stream = TlsConnector::from(tls).connect(name, stream).await?;
            Ok(Box::new(stream))
        };
        let connected = timeout(PATIENCE, connected);
        let stream = connected
            .await
            .map_err(|_| slow(host))?
            .map_err(unreachable)?;
        Ok(Self {
            stream,
            host: host.to_owned(),
            received: Vec::new(),
            requests: 0,
        })
    }

    /// Carries out operations of a transaction, and gives the result of each. `what` says what it is for.
    pub(crate) async fn transact(
        &mut self,
        database: &str,
        operations: &[Value],
        what: &'static str,
    ) -> Result<Vec<Value>, Error> {
        let params = [json!(database)].into_iter();
        let params: Vec<Value> = params.chain(operations.iter().cloned()).collect();
        let answered = timeout(PATIENCE, self.exchange("transact", params));
        let answered = answered.await.map_err(|_| slow(&self.host))?;
        let mut answer = answered.map_err(|error| Error::Unreachable {
            host: self.host.clone(),
            why: error.to_string(),
        })?;
        let results = match answer["result"].take() {
            Value::Array(results) if answer["error"].is_null() => results,
            _ => return Err(self.strange(what)),
        };
        // After the results of the operations there may be one more: why the whole was not committed.
        match results.iter().all(|result| result["error"].is_null()) {
            true => Ok(results),
            false => Err(self.strange(what)),
        }
    }

    /// An answer that isn't valid.
    pub(crate) fn strange(&self, what: &'static str) -> Error {
        Error::Strange {
            host: self.host.clone(),
            what,
        }
    }

    async fn exchange(&mut self, method: &str, params: Vec<Value>) -> io::Result<Value> {
        self.requests += 1;
        let id = json!(self.requests);
        self.send(&json!({ "method": method, "params": params, "id": id }))
            .await?;
        loop {
            let message = self.receive().await?;
            if message["method"] == "echo" {
                let reply =
                    json!({ "result": message["params"], "error": null, "id": message["id"] });
                self.send(&reply).await?;
            } else if message["id"] == id {
                return Ok(message);
            }
        }
    }

    async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.stream
            .write_all(message.to_string().as_bytes())
            .await?;
        self.stream.flush().await
    }

    /// The next message. Nothing stands between two of them.
    async fn receive(&mut self) -> io::Result<Value> {
        loop {
            let mut messages =
                serde_json::Deserializer::from_slice(&self.received).into_iter::<Value>();
            match messages.next() {
                Some(Ok(message)) => {
                    let read = messages.byte_offset();
                    self.received.drain(..read);
                    return Ok(message);
                }
                Some(Err(error)) if !error.is_eof() => return Err(error.into()),
                Some(Err(_)) | None => {}
            }
            if self.received.len() > LARGEST {
                return Err(io::Error::other("the answer is too large"));
            }
            // Parsing begins anew with each part, so parts had better be large.
            self.received.reserve(1 << 20);
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn slow(host: &str) -> Error {
    Error::Slow {
        host: host.to_owned(),
        seconds: PATIENCE.as_secs(),
    }
}

/// How certificates are checked, and the client's own.
pub(crate) fn tls(client: &ClientCertificate) -> Result<Arc<ClientConfig>, Error> {
    let certificates = |pem: &str| {
        CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Error::NoCertificate)
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&client.authority)? {
        roots.add(certificate).map_err(|_| Error::NoCertificate)?;
    }
    let key = PrivateKeyDer::from_pem_slice(client.key.as_bytes());
    let key = key.map_err(|_| Error::NoCertificate)?;
    let provider = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::NoCertificate)?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates(&client.certificate)?, key)
        .map_err(|_| Error::NoCertificate)?;
    Ok(Arc::new(config))
}
