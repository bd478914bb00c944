//! A client outside the cluster: it knows the address of the way in, and trusts one authority.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use lab::{Context, Result, ensure, seconds};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How many parts an upload has, and how many bytes each.
const PARTS: usize = 20;
const PART: usize = 1 << 20;

/// What an upload has in all.
pub const UPLOAD: usize = PARTS * PART;

/// A client outside the cluster.
pub struct Client {
    tls: TlsConnector,
    address: SocketAddr,
}

impl Client {
    /// One who trusts an authority, and finds every name at this address.
    pub fn new(authority: &str, address: Ipv4Addr) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            roots.add(certificate?)?;
        }
        let provider = rustls::crypto::ring::default_provider();
        let config = ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls: TlsConnector::from(Arc::new(config)),
            address: SocketAddr::from((address, 443)),
        })
    }

    /// Connects, and verifies that the certificate is for this name.
    pub async fn connect(&self, host: &str) -> Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(host.to_owned())?;
        Ok(self.tls.connect(name, stream).await?)
    }

    /// What the API says of a request.
    pub async fn get(&self, host: &str, path: &str) -> Result<Value> {
        let mut stream = self.connect(host).await?;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.flush().await?;
        answer(stream).await
    }

    /// What the API says of an upload whose length isn't known before, by a client that pauses.
    pub async fn upload(&self, host: &str, path: &str) -> Result<Value> {
        let mut stream = self.connect(host).await?;
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let part = vec![b'x'; PART];
        for number in 0..PARTS {
            if number % 5 == 4 {
                sleep(seconds(1)).await;
            }
            let size = format!("{PART:x}\r\n");
            stream.write_all(size.as_bytes()).await?;
            stream.write_all(&part).await?;
            stream.write_all(b"\r\n").await?;
        }
        stream.write_all(b"0\r\n\r\n").await?;
        stream.flush().await?;
        answer(stream).await
    }

    /// What comes back by a WebSocket. Its frames are nothing to those on the way.
    pub async fn echo(&self, host: &str, path: &str, text: &str) -> Result<String> {
        let mut stream = self.connect(host).await?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.flush().await?;
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n\r\n") {
            said.push(stream.read_u8().await?);
        }
        let said = String::from_utf8(said)?;
        ensure!(said.starts_with("HTTP/1.1 101 "), "it answers {said}");
        stream.write_all(text.as_bytes()).await?;
        stream.flush().await?;
        let mut echo = vec![0; text.len()];
        stream.read_exact(&mut echo).await?;
        Ok(String::from_utf8(echo)?)
    }
}

/// The answer on a connection that is closed after it.
async fn answer(mut stream: TlsStream<TcpStream>) -> Result<Value> {
    let mut said = String::new();
    stream.read_to_string(&mut said).await?;
    let (head, body) = said.split_once("\r\n\r\n").context("it has no head")?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "it answers {said}");
    serde_json::from_str(body).with_context(|| format!("it answers {said}"))
}
