//! Keystones, simulated: as many as there are control planes, where the real one would take minutes each. Of their API there is
//! what our operator asks and calls; the real one is for the scenarios of a single control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::pki::Identity;
use crate::serve::Server;

/// Keystones at one address, distinguished by the first part of the path.
pub(crate) struct Keystones {
    url: String,
    _server: Server,
}

/// What one of them knows.
#[derive(Default)]
struct Known {
    /// Users and their roles.
    roles: BTreeSet<(String, String)>,
    /// Endpoints and their regions.
    regions: BTreeMap<String, String>,
}

type All = Mutex<BTreeMap<String, Known>>;

impl Keystones {
    pub(crate) async fn start(machine: &Machine) -> Result<Self> {
        let port = machine.port();
        Ok(Self {
            url: format!("http://127.0.0.1:{port}"),
            _server: serve(port, None).await?,
        })
    }

    /// Where the Keystone of that name is.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }
}

/// Serves Keystones, by HTTPS with a certificate, distinguished by the host that a request is for. Their path is only `/v3`.
pub(crate) async fn serve(port: u16, identity: Option<&Identity>) -> Result<Server> {
    let all = Arc::<All>::default();
    Server::start_api(port, identity, move |request| answer(&all, request)).await
}

fn answer(all: &All, request: &Request<Value>) -> (StatusCode, String) {
    let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
    let host = request.headers().get(hyper::header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let asked = match path.as_slice() {
        ["v3", rest @ ..] => Some((host, rest)),
        [name, "v3", rest @ ..] => Some((*name, rest)),
        _ => None,
    };
    let (status, said) = match asked {
        Some((name, rest)) => {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let known = all.entry(name.to_owned()).or_default();
            let query = request.uri().query().unwrap_or_default();
            known.answer(request.method(), rest, query, request.body())
        }
        None => (StatusCode::NOT_FOUND, Value::Null),
    };
    (status, said.to_string())
}

impl Known {
    fn answer(
        &mut self,
        method: &Method,
        path: &[&str],
        query: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let asked = query.rsplit_once("name=").map_or("", |(_, name)| name);
        let named = || json!([{ "id": asked, "name": asked }]);
        match (method, path) {
            (&Method::POST, ["auth", "tokens"]) => {
                let token = json!({ "token": { "expires_at": "2999-01-01T00:00:00Z" } });
                (StatusCode::CREATED, token)
            }
            (&Method::GET, ["projects"]) => (StatusCode::OK, json!({ "projects": named() })),
            (&Method::GET, ["roles"]) => (StatusCode::OK, json!({ "roles": named() })),
            (&Method::GET, ["role_assignments"]) => {
                let assignments = self.roles.iter().map(|(user, role)| {
                    json!({ "user": { "id": user, "name": user }, "role": { "id": role, "name": role } })
                });
                let assignments: Vec<Value> = assignments.collect();
                (StatusCode::OK, json!({ "role_assignments": assignments }))
            }
            (&Method::GET, ["endpoints"]) => {
                let endpoints = self.regions.iter();
                let endpoints =
                    endpoints.map(|(id, region)| json!({ "id": id, "region_id": region }));
                (
                    StatusCode::OK,
                    json!({ "endpoints": endpoints.collect::<Vec<_>>() }),
                )
            }
            (&Method::GET, ["users", _, "application_credentials", id]) => {
                let found = json!({ "application_credential": { "id": id } });
                (StatusCode::OK, found)
            }
            (&Method::PUT, ["projects", _, "users", user, "roles", role]) => {
                self.roles.insert(((*user).to_owned(), (*role).to_owned()));
                (StatusCode::NO_CONTENT, Value::Null)
            }
            (&Method::PATCH, ["endpoints", id]) => {
                let region = body["endpoint"]["region_id"].as_str().unwrap_or_default();
                self.regions.insert((*id).to_owned(), region.to_owned());
                (
                    StatusCode::OK,
                    json!({ "endpoint": { "id": id, "region_id": region } }),
                )
            }
            _ => (StatusCode::NOT_FOUND, Value::Null),
        }
    }
}
