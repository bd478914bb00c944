//! HTTP servers of a scenario itself.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::pki::Identity;

/// Serves on a port. Dropped, it and all its connections are cut, whatever is under way.
pub struct Server(JoinHandle<Infallible>);

impl Server {
    /// Serves on loopback by plain HTTP, or on every address by HTTPS, with a certificate. A connection whose request fails is cut.
    pub async fn start<S, F, B, E>(
        port: u16,
        identity: Option<&Identity>,
        answer: S,
    ) -> Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let tls = identity.map(acceptor).transpose()?;
        let address = match tls {
            None => Ipv4Addr::LOCALHOST,
            Some(_) => Ipv4Addr::UNSPECIFIED,
        };
        let listener = TcpListener::bind((address, port))
            .await
            .with_context(|| format!("cannot listen on port {port}"))?;
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

    /// As [`start`](Self::start), for an API that takes JSON, which is null where a request has none. Answers have the header in which
    /// Keystone gives tokens.
    pub(crate) async fn start_api(
        port: u16,
        identity: Option<&Identity>,
        answer: impl Fn(&Request<Value>) -> (StatusCode, String) + Clone + Send + 'static,
    ) -> Result<Self> {
        Self::start(port, identity, move |request| {
            respond(answer.clone(), request)
        })
        .await
    }
}

async fn respond(
    answer: impl Fn(&Request<Value>) -> (StatusCode, String),
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let (status, text) = answer(&Request::from_parts(head, body));
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let token = HeaderValue::from_static("token");
    response.headers_mut().insert("x-subject-token", token);
    Ok(response)
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
