//! Metrics over HTTP.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tracing::debug;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers `GET /metrics` until dropped.
pub(crate) async fn expose(listener: TcpListener, registry: Registry) {
    let registry = Arc::new(registry);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(crate::server::PAUSE_AFTER_FAILED_ACCEPT).await;
            continue;
        };
        let registry = Arc::clone(&registry);
        let answer = service_fn(move |request: Request<Incoming>| {
            let response = answer(request.method(), request.uri().path(), &registry);
            async move { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = connection.await {
                debug!(%error, "metrics connection failed");
            }
        });
    }
}

fn answer(method: &Method, path: &str, registry: &Registry) -> Response<Full<Bytes>> {
    if path != "/metrics" {
        return refusal(StatusCode::NOT_FOUND);
    }
    if method != Method::GET {
        return refusal(StatusCode::METHOD_NOT_ALLOWED);
    }
    let mut text = String::new();
    if encode(&mut text, registry).is_err() {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR);
    }
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static(OPEN_METRICS),
    );
    response
}

fn refusal(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
