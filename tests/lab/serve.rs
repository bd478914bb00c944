//! HTTP servers of a scenario itself.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::pki::Identity;

/// Serves on a port. Dropped, it and all its connections are cut, whatever is under way.
pub struct Server(JoinHandle<Infallible>);

impl Server {
    /// Serves on loopback by plain HTTP. A connection whose request fails is cut.
    pub async fn start<S, F, B, E>(port: u16, answer: S) -> Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        Self::listen((Ipv4Addr::LOCALHOST, port), None, answer).await
    }

    /// Serves on every address by HTTPS, with a certificate. A connection whose request fails is cut.
    pub async fn start_encrypted<S, F, B, E>(
        port: u16,
        identity: &Identity,
        answer: S,
    ) -> Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        Self::listen(
            (Ipv4Addr::UNSPECIFIED, port),
            Some(acceptor(identity)?),
            answer,
        )
        .await
    }

    async fn listen<S, F, B, E>(
        address: (Ipv4Addr, u16),
        tls: Option<TlsAcceptor>,
        answer: S,
    ) -> Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on port {}", address.1))?;
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let (tls, answer) = (tls.clone(), answer.clone());
                connections.spawn(async move {
                    if stream.set_nodelay(true).is_err() {
                        return;
                    }
                    match tls {
                        None => converse(stream, answer).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                converse(stream, answer).await;
                            }
                        }
                    }
                });
            }
        });
        Ok(Self(task))
    }
}

/// Answers the requests of one connection, and leaves it to one who asks for another protocol.
async fn converse<S, F, B, E>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: S,
) where
    S: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Response<B>, E>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let connection = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .with_upgrades();
    // Whoever is at the other end sees it himself.
    let _ended = connection.await;
}

fn acceptor(identity: &Identity) -> Result<TlsAcceptor> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates?, key?)
        .context("the certificate can't be served")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}
