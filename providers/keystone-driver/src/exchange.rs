//! One request of HTTP, and what comes back.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::client::Resumption;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;

use crate::error::Error;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection is kept for the next request: a query takes several, and then there is none for minutes.
const IDLE: Duration = Duration::from_secs(5);
/// How many TLS sessions are remembered: those of one server.
const RESUMED: usize = 8;
/// The largest answer, in bytes.
const LARGEST: usize = 8 << 20;

/// Sends requests to one Keystone.
pub(crate) struct Exchange {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
    /// Its host, the part of the URL that may be shown.
    pub(crate) host: String,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// A new token, if it is one.
    pub(crate) token: Option<String>,
    /// JSON, or null if it is none.
    pub(crate) body: Value,
}

impl Exchange {
    /// With the Keystone at a URL, whose certificate is checked against these in PEM or against the system's.
    pub(crate) fn new(url: &str, cloud: &str, ca: Option<&str>) -> Result<Self, Error> {
        let no_url = || Error::NoUrl {
            cloud: cloud.to_owned(),
        };
        let uri: Uri = url.parse().map_err(|_| no_url())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri.host().filter(|_| is_http).ok_or_else(no_url)?;
        let is_plain = uri.scheme_str() == Some("http");
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(ca, is_plain)?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE)
                .build(connector),
            url: url.to_owned(),
            host: host.to_owned(),
        })
    }

    /// Sends a request to a path below the URL. `what` says what it is for.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
        what: &'static str,
    ) -> Result<Reply, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("accept", "application/json");
        if let Some(token) = token {
            request = request.header("x-auth-token", token);
        }
        let content = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        let request = request
            .body(Full::new(content))
            .map_err(|_| self.strange(what))?;
        let exchanged = tokio::time::timeout(PATIENCE, self.exchange(request, what));
        exchanged.await.map_err(|_| Error::Slow {
            host: self.host.clone(),
            seconds: PATIENCE.as_secs(),
        })?
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        what: &'static str,
    ) -> Result<Reply, Error> {
        let response = self.client.request(request).await.map_err(|error| {
            let mut why = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                why = format!("{why}: {cause}");
                source = cause.source();
            }
            Error::Unreachable {
                host: self.host.clone(),
                why,
            }
        })?;
        let (head, body) = response.into_parts();
        let token = head.headers.get("x-subject-token");
        let token = token.and_then(|token| token.to_str().ok());
        let body = Limited::new(body, LARGEST).collect().await;
        let body = body.map_err(|_| self.strange(what))?.to_bytes();
        Ok(Reply {
            status: head.status.as_u16(),
            token: token.map(str::to_owned),
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        })
    }

    /// An answer that can't be understood.
    pub(crate) fn strange(&self, what: &'static str) -> Error {
        Error::Strange {
            host: self.host.clone(),
            what,
        }
    }
}

/// How certificates are checked. Over plain HTTP there are none to check.
fn tls(ca: Option<&str>, is_plain: bool) -> Result<ClientConfig, Error> {
    let roots = match ca {
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|_| Error::NoCertificate)?;
                roots.add(certificate).map_err(|_| Error::NoCertificate)?;
            }
            if roots.is_empty() {
                return Err(Error::NoCertificate);
            }
            Arc::new(roots)
        }
        None if is_plain => Arc::new(RootCertStore::empty()),
        None => system_roots()?,
    };
    let provider = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::NoRoots)?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(RESUMED);
    Ok(config)
}

/// The certificates of the system: the same for all Keystones, and as large as a hundred of their tokens.
fn system_roots() -> Result<Arc<RootCertStore>, Error> {
    static ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    });
    match ROOTS.is_empty() {
        true => Err(Error::NoRoots),
        false => Ok(Arc::clone(&ROOTS)),
    }
}
