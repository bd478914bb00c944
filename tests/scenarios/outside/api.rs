//! An API that says what has arrived of a request, and sends back what comes by a WebSocket.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{copy, split};

pub async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    if request.headers().contains_key(UPGRADE) {
        tokio::spawn(echo(hyper::upgrade::on(&mut request)));
        return Ok(switched());
    }
    let (head, body) = request.into_parts();
    let length = body.collect().await?.to_bytes().len();
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let said = json!({ "host": host, "path": head.uri.path(), "length": length });
    Ok(Response::new(Full::from(said.to_string())))
}

fn switched() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    response
}

/// Whoever is at the other end sees it himself if it fails.
async fn echo(upgrade: OnUpgrade) {
    if let Ok(upgraded) = upgrade.await {
        let (mut from, mut to) = split(TokioIo::new(upgraded));
        let _ended = copy(&mut from, &mut to).await;
    }
}
