//! HTTP servers of a scenario itself.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// Serves on a port of loopback. Dropped, it and all its connections are cut, whatever is under way.
pub struct Server(JoinHandle<Infallible>);

impl Server {
    /// Serves by plain HTTP. A connection whose request fails is cut.
    ///
    /// # Errors
    /// When it can't listen.
    pub async fn start<S, F, B, E>(port: u16, answer: S) -> Result<Self>
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .with_context(|| format!("cannot listen on port {port}"))?;
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let answer = answer.clone();
                connections.spawn(async move {
                    if stream.set_nodelay(true).is_ok() {
                        let connection = http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service_fn(answer));
                        // Whoever is at the other end sees it himself.
                        let _ended = connection.await;
                    }
                });
            }
        });
        Ok(Self(task))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}
