//! Plain pages over HTTP.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing::debug;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// When no connection can be accepted there are too many: time for some to end.
pub const PAUSE_AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

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

/// Answers `GET` of pages by their path until dropped.
pub async fn serve(listener: TcpListener, pages: impl Fn(&str) -> Answer + Send + Sync + 'static) {
    let pages = Arc::new(pages);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE_AFTER_FAILED_ACCEPT).await;
            continue;
        };
        let pages = Arc::clone(&pages);
        let answer = service_fn(move |request: Request<Incoming>| {
            let response = match (pages(request.uri().path()), request.method()) {
                (Answer::NotFound, _) => response(StatusCode::NOT_FOUND, PLAIN, String::new()),
                (_, method) if method != Method::GET => {
                    response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, String::new())
                }
                (Answer::Text(text), _) => response(StatusCode::OK, PLAIN, text),
                (Answer::Metrics(text), _) => response(StatusCode::OK, OPEN_METRICS, text),
                (Answer::Unavailable(why), _) => {
                    response(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why)
                }
                (Answer::Failed, _) => {
                    response(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, String::new())
                }
            };
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = connection.await {
                debug!(%error, "connection failed");
            }
        });
    }
}

fn response(status: StatusCode, content: &'static str, text: String) -> Response<Full<Bytes>> {
    let is_empty = text.is_empty();
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    if !is_empty {
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    }
    response
}
