//! A Keystone and a Nova that know compute services and how many servers are on each host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use lab::{Machine, Result, Server};
use serde_json::{Value, json};

/// What a Nova knows.
#[derive(Default)]
pub struct State {
    /// By host, why its compute service is disabled.
    pub services: BTreeMap<String, Option<String>>,
    /// By host, the number of servers.
    pub servers: BTreeMap<String, usize>,
}

/// A Keystone and a Nova. Dropped, they are gone.
pub struct Nova {
    port: u16,
    state: Arc<Mutex<State>>,
    _server: Server,
}

impl Nova {
    /// Starts them.
    pub async fn start(machine: &Machine) -> Result<Self> {
        let (port, state) = (machine.port(), Arc::<Mutex<State>>::default());
        let known = Arc::clone(&state);
        let server = Server::start(port, move |request| respond(Arc::clone(&known), request));
        Ok(Self {
            port,
            state,
            _server: server.await?,
        })
    }

    /// What it knows.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clouds.yaml that says where they are, under a name.
    pub fn clouds(&self, host: &str) -> Value {
        let url = format!("http://{host}:{}", self.port);
        json!({ "clouds": { "nova": {
            "auth": { "auth_url": url, "application_credential_id": "1", "application_credential_secret": "2" },
            "compute_endpoint_override": format!("{url}/v2.1"),
            "network_endpoint_override": url,
        } } })
    }
}

async fn respond(
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let line = format!("{} {}", request.method(), request.uri());
    let body = request.into_body().collect().await?.to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let (status, answer) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        answer(&mut state, &line, &body)
    };
    let mut response = Response::new(Full::from(answer.to_string()));
    *response.status_mut() = status.try_into().unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(
        "x-subject-token",
        hyper::header::HeaderValue::from_static("token"),
    );
    Ok(response)
}

/// Answers a request, the method and the path. The ID of a compute service is its host.
fn answer(state: &mut State, line: &str, body: &Value) -> (u16, Value) {
    if let Some(host) = line.strip_prefix("PUT /v2.1/os-services/") {
        let is_disabled = body["status"] == "disabled";
        let reason = body["disabled_reason"].as_str().unwrap_or_default();
        let reason = is_disabled.then(|| reason.to_owned());
        return match state.services.get_mut(host) {
            Some(service) => {
                *service = reason;
                (200, json!({ "service": {} }))
            }
            None => (404, json!({})),
        };
    }
    if let Some(host) = line.strip_prefix("DELETE /v2.1/os-services/") {
        return match state.servers.get(host) {
            Some(1..) => (409, json!({})),
            _ if state.services.remove(host).is_some() => (204, Value::Null),
            _ => (404, json!({})),
        };
    }
    if let Some(host) = line.strip_prefix("GET /v2.1/servers?all_tenants=1&host=") {
        let count = state.servers.get(host).copied().unwrap_or_default();
        let servers: Vec<Value> = (0..count)
            .map(|id| json!({ "id": id.to_string() }))
            .collect();
        return (200, json!({ "servers": servers }));
    }
    let services = state.services.iter().map(|(host, reason)| {
        let status = if reason.is_some() { "disabled" } else { "enabled" };
        json!({ "id": host, "host": host, "status": status, "state": "up", "disabled_reason": reason })
    });
    match line {
        "POST /v3/auth/tokens" => (
            201,
            json!({ "token": { "expires_at": "2999-01-01T00:00:00.000000Z" } }),
        ),
        "GET /v2.1/os-services?binary=nova-compute" => {
            (200, json!({ "services": services.collect::<Vec<_>>() }))
        }
        "GET /v2.1/os-aggregates" => (200, json!({ "aggregates": [] })),
        _ if line.starts_with("GET /v2.1/os-migrations") => (200, json!({ "migrations": [] })),
        _ => (404, json!({})),
    }
}
