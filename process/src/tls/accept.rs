//! Connections, once their clients are known.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tracing::{debug, warn};

/// When no connection can be accepted there are too many: time for some to end.
const PAUSE_AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

const HANDSHAKE: Duration = Duration::from_secs(10);

/// How many connections may wait to be served.
const WAITING: usize = 16;

type Connection = io::Result<TlsStream<TcpStream>>;

/// Accepts connections, each with the configuration of its moment, until the stream is dropped. Handshakes don't wait for
/// one another.
pub fn accept(
    listener: TcpListener,
    config: watch::Receiver<Arc<ServerConfig>>,
) -> ReceiverStream<Connection> {
    let (ready, connections) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = ready.closed() => return,
            };
            match accepted {
                Ok((stream, _)) => {
                    let acceptor = TlsAcceptor::from(Arc::clone(&config.borrow()));
                    tokio::spawn(shake_hands(acceptor, stream, ready.clone()));
                }
                Err(error) => {
                    warn!(%error, "a connection cannot be accepted");
                    sleep(PAUSE_AFTER_FAILED_ACCEPT).await;
                }
            }
        }
    });
    ReceiverStream::new(connections)
}

/// Accepts connections for [`serve`](crate::serve), each once its handshake is done.
pub struct Connections {
    accepted: ReceiverStream<Connection>,
    address: SocketAddr,
}

impl Connections {
    /// Accepts connections to an address, each with the configuration of its moment.
    pub fn accept(
        listener: TcpListener,
        address: SocketAddr,
        config: watch::Receiver<Arc<ServerConfig>>,
    ) -> Self {
        Self {
            accepted: accept(listener, config),
            address,
        }
    }
}

impl Listener for Connections {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.accepted.next().await {
                Some(Ok(connection)) => return (connection, self.address),
                Some(Err(_)) => {}
                None => pending().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.address)
    }
}

async fn shake_hands(acceptor: TlsAcceptor, stream: TcpStream, ready: mpsc::Sender<Connection>) {
    let client = stream.peer_addr().ok();
    let shaken = async {
        stream.set_nodelay(true)?;
        acceptor.accept(stream).await
    };
    let failure = match timeout(HANDSHAKE, shaken).await {
        // The server may have stopped meanwhile.
        Ok(Ok(connection)) => return ready.send(Ok(connection)).await.unwrap_or_default(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    debug!(
        client = client.map(tracing::field::display),
        failure, "TLS handshake failed"
    );
}
