//! A server that answers as the services of a cloud do.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use provider_hypervisor_pool::nova::{Access, Call, Change, Query, Question};
use provider_openstack_driver::Nova;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub const HOST: &str = "nova.openstack-prod.svc.cluster.local";

/// The secret of application credentials that Keystone refuses.
pub const WRONG: &str = "wrong";
/// The secret of application credentials that something before Keystone refuses.
pub const UNHEARD: &str = "unheard";
/// The secret of application credentials after which Keystone refuses everyone.
pub const LAST: &str = "last";

/// Answers a request, the method and the path, with a status and a body; with the status [`NEVER`] not at all. It isn't asked
/// for Keystone's token.
pub type Answer = fn(&str) -> (u16, Value);

/// Answers a request that succeeds.
pub fn ok(body: Value) -> (u16, Value) {
    (200, body)
}

/// The status of a request that the server works on for ever.
pub const NEVER: u16 = 0;

/// What the server was asked, one line each.
pub type Log = Arc<Mutex<Vec<String>>>;

/// What the log has of a request: of its line, the version of its API or else how it is authenticated without a token, and its body.
pub type Logged = fn(&str, &str, Option<BTreeMap<String, Value>>) -> Option<String>;

/// Logs all of every request except those for tokens.
pub fn all(line: &str, version: &str, body: Option<BTreeMap<String, Value>>) -> Option<String> {
    let body = body.map(|body| format!("{body:?}")).unwrap_or_default();
    let request = [line, version, body.as_str()].join(" ");
    (!line.ends_with("/auth/tokens")).then(|| request.trim().to_owned())
}

/// Answers a request for a token.
fn login(content: Option<&BTreeMap<String, Value>>, is_down: &AtomicBool) -> (u16, Value) {
    let secret = content.and_then(|content| {
        let secret = content["auth"].pointer("/identity/application_credential/secret");
        secret.and_then(Value::as_str)
    });
    if secret == Some(LAST) {
        is_down.store(true, Ordering::Relaxed);
    }
    match secret {
        Some(UNHEARD) => (401, Value::Null),
        _ if secret == Some(WRONG) || is_down.load(Ordering::Relaxed) => (
            401,
            json!({ "error": { "code": 401, "title": "Unauthorized" } }),
        ),
        _ => ok(json!({ "token": { "expires_at": "2999-01-01T00:00:00.000000Z" } })),
    }
}

async fn respond(
    (answer, logged): (Answer, Logged),
    (log, is_down): (Log, Arc<AtomicBool>),
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let line = format!("{} {}", request.method(), request.uri());
    let headers = request.headers();
    let version = headers.get("openstack-api-version");
    let version = version.or_else(|| headers.get("authorization"));
    let version = version.and_then(|version| version.to_str().ok());
    let version = version.unwrap_or_default().to_owned();
    let content = request.into_body().collect().await;
    let content = content.map(|body| body.to_bytes()).unwrap_or_default();
    // In the order of the names.
    let content: Option<BTreeMap<String, Value>> = serde_json::from_slice(&content).ok();
    let (status, body) = match line.as_str() {
        "POST /v3/auth/tokens" => login(content.as_ref(), &is_down),
        line => answer(line),
    };
    if status == NEVER {
        std::future::pending::<()>().await;
    }
    let logged = logged(&line, &version, content);
    log.lock().unwrap().extend(logged);
    let response = Response::builder()
        .status(status)
        .header("x-subject-token", "token");
    Ok(response.body(Full::from(body.to_string())).unwrap())
}

/// Starts a server. Returns how it is reached, and what it is asked.
pub async fn server(answer: Answer) -> Result<(Access, Log), Box<dyn Error>> {
    let (port, log) = listen(answer, all).await?;
    Ok((access(port), log))
}

/// Starts a server on a port of this machine.
pub async fn listen(answer: Answer, logged: Logged) -> Result<(u16, Log), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let log = Log::default();
    let state = (Arc::clone(&log), Arc::<AtomicBool>::default());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let state = state.clone();
            let service =
                service_fn(move |request| respond((answer, logged), state.clone(), request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Ok((port, log))
}

/// How a server at a port is reached.
pub fn access(port: u16) -> Access {
    let url = format!("http://{HOST}:{port}");
    let clouds = json!({ "clouds": { "nova": {
        "auth": { "auth_url": url, "application_credential_id": "1", "application_credential_secret": "s3cret" },
        "compute_endpoint_override": format!("{url}/v2.1"),
        "network_endpoint_override": url,
        "placement_endpoint_override": format!("{url}/placement"),
    } } });
    Access {
        clouds: clouds.to_string(),
        ca: None,
        addresses: BTreeMap::from([(HOST.to_owned(), vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])]),
    }
}

/// What a request fails with that is tried again.
pub fn unavailable<T>(why: String) -> Result<T, DriverError> {
    Err(DriverError::Unavailable(why))
}

pub async fn observe(access: &Access, question: Question) -> Result<Value, DriverError> {
    let access = access.clone();
    let query = json!(Query { access, question }).to_string();
    Nova::default().observe(&query).await
}

pub async fn call(access: &Access, change: Change) -> Result<(), DriverError> {
    let access = access.clone();
    let call = json!(Call { access, change }).to_string();
    Nova::default().call(&call).await
}
