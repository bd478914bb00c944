//! Plain pages over HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tracing::debug;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// An address can't be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process has the port.
    #[error(
        "{what} cannot listen on {address}: the port is in use; stop what listens there or choose another"
    )]
    InUse {
        /// What would have listened.
        what: &'static str,
        /// Where.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("{what} cannot listen on {address}: {source}")]
    Listen {
        /// What would have listened.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
}

/// Opens a port, and returns its number.
///
/// # Errors
/// The port is in use, or the address isn't one of this machine's.
pub async fn listen(
    what: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { what, address },
        _ => ListenError::Listen {
            what,
            address,
            source,
        },
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// The response of a page.
pub enum Answer {
    /// All is well.
    Text(String),
    /// Metrics as Prometheus reads them.
    Metrics(String),
    /// Unavailable; the text has the reason.
    Unavailable(String),
    /// The page doesn't exist.
    NotFound,
    /// The page can't be written.
    Failed,
}

/// All that is counted.
pub fn metrics(registry: &Registry) -> Answer {
    let mut text = String::new();
    match encode(&mut text, registry) {
        Ok(()) => Answer::Metrics(text),
        Err(_) => Answer::Failed,
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        match self {
            Answer::Text(text) => text.into_response(),
            Answer::Metrics(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
            Answer::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
            Answer::NotFound => StatusCode::NOT_FOUND.into_response(),
            Answer::Failed => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// Answers `GET` of pages by their path.
pub fn pages(pages: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Router {
    let pages = Arc::new(pages);
    Router::new().fallback(get(async move |uri: Uri| pages(uri.path())))
}

/// How many connections are served at once. Further ones wait until one ends.
const CONNECTIONS: usize = 1000;

/// The most that a request's headers may have, in bytes. A token has a few thousand.
const HEADERS: usize = 32 * 1024;

/// The most that is kept of what a connection sends before it is read, in bytes.
const BUFFER: usize = 2 * HEADERS;

/// Serves HTTP until dropped. A client has 30 seconds to send its headers, the default of hyper with a timer, which
/// `axum::serve` has not.
pub async fn serve(listener: impl Listener, router: Router) {
    serve_at_most(CONNECTIONS, listener, router).await;
}

async fn serve_at_most(connections: usize, mut listener: impl Listener, router: Router) {
    let places = Arc::new(Semaphore::new(connections));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let (stream, _) = listener.accept().await;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .max_header_size(HEADERS)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                debug!(%error, "connection failed");
            }
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    /// What the pages answer, each on a connection of its own, without the date.
    async fn answer(request: &str) -> String {
        let (listener, address) = listen("a test", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let router = pages(|path| match path {
            "/healthz" => Answer::Text("ok\n".to_owned()),
            "/readyz" => Answer::Unavailable("not yet\n".to_owned()),
            "/metrics" => metrics(&Registry::default()),
            _ => Answer::NotFound,
        });
        let asked = async {
            let mut connection = TcpStream::connect(address).await.unwrap();
            connection.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).await.unwrap();
            let lines = answer.lines().filter(|line| !line.starts_with("date"));
            lines.map(|line| format!("{line}\n")).collect()
        };
        tokio::select! {
            () = serve(listener, router) => unreachable!(),
            answer = asked => answer,
        }
    }

    #[tokio::test]
    async fn pages_have_the_status_and_type_of_their_answer() {
        for (path, expected) in [
            (
                "/healthz",
                "200 OK\ncontent-type: text/plain; charset=utf-8\ncontent-length: 3\nconnection: close\n\nok\n",
            ),
            (
                "/readyz",
                "503 Service Unavailable\ncontent-type: text/plain; charset=utf-8\ncontent-length: 8\nconnection: close\n\n\
                 not yet\n",
            ),
            (
                "/metrics",
                "200 OK\ncontent-type: application/openmetrics-text; version=1.0.0; charset=utf-8\ncontent-length: 6\n\
                 connection: close\n\n# EOF\n",
            ),
            (
                "/",
                "404 Not Found\nconnection: close\ncontent-length: 0\n\n",
            ),
        ] {
            let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
            assert_eq!(answer(&request).await, format!("HTTP/1.1 {expected}"));
        }
        let posted =
            answer("POST /healthz HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await;
        assert_eq!(
            posted.lines().next(),
            Some("HTTP/1.1 405 Method Not Allowed")
        );
    }

    #[tokio::test]
    async fn headers_that_are_too_large_are_refused() {
        let header = "a".repeat(HEADERS);
        let refused = answer(&format!(
            "GET /healthz HTTP/1.1\r\nhost: {header}\r\nconnection: close\r\n\r\n"
        ))
        .await;
        assert_eq!(
            refused.lines().next(),
            Some("HTTP/1.1 431 Request Header Fields Too Large")
        );
    }

    #[tokio::test]
    async fn connection_beyond_the_limit_waits_until_another_ends() {
        let (listener, address) = listen("a test", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let router = pages(|_| Answer::Text("ok\n".to_owned()));
        let asked = async {
            let first = TcpStream::connect(address).await.unwrap();
            let mut second = TcpStream::connect(address).await.unwrap();
            let request = "GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
            second.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            let early = Duration::from_millis(200);
            let early = timeout(early, second.read_to_string(&mut answer)).await;
            assert!(early.is_err(), "{answer}");
            drop(first);
            second.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        };
        tokio::select! {
            () = serve_at_most(1, listener, router) => unreachable!(),
            () = asked => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_headers_is_disconnected() {
        assert_eq!(answer("GET /healthz HTTP/1.1\r\n").await, "");
    }
}
