//! A connection that swallows everything.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::{Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Server;
/// A TCP proxy before an API server that can swallow everything, in both directions, and closes nothing.
pub(crate) struct Hole {
    address: SocketAddr,
    swallows: Arc<AtomicBool>,
}

impl Hole {
    pub(crate) async fn start(server: &Server) -> Self {
        let upstream = listen().await;
        let upstream_address = upstream.local_addr().unwrap();
        let server = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = upstream.accept().await {
                let server = server.clone();
                let service = service_fn(move |request| {
                    let server = server.clone();
                    async move { Ok::<_, Infallible>(server.answer(request).await) }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        let swallows = Arc::new(AtomicBool::new(false));
        let switch = Arc::clone(&swallows);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(upstream_address).await.unwrap();
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                tokio::spawn(pass(near_in, far_out, Arc::clone(&switch)));
                tokio::spawn(pass(far_in, near_out, Arc::clone(&switch)));
            }
        });
        Self { address, swallows }
    }

    pub(crate) fn client(&self) -> Client {
        let url = format!("http://{}", self.address).parse().unwrap();
        Client::try_from(Config::new(url)).unwrap()
    }

    /// From now on nothing gets through, or what is sent on new connections does.
    pub(crate) fn swallow(&self, swallows: bool) {
        self.swallows.store(swallows, Ordering::Relaxed);
    }
}

async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Passes bytes on, and for ever none once some were swallowed.
async fn pass(
    mut from: impl tokio::io::AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
    swallows: Arc<AtomicBool>,
) {
    let mut buffer = [0; 4096];
    let mut is_lost = false;
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        is_lost |= swallows.load(Ordering::Relaxed);
        if !is_lost && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    if is_lost {
        std::future::pending().await
    }
}
