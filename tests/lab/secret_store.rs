//! A secret store that External Secrets of several clusters share, simulated: of OpenBao's API there is what its key-value engine of
//! version 2 answers (<https://openbao.org/api-docs/secret/kv/kv-v2/>). OpenBao itself can't be had here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::machine::Machine;
use crate::objects::{Kind, SECRET, kind};
use crate::serve::Server;

const STORE: Kind = kind("external-secrets.io/v1", "ClusterSecretStore");

/// The namespace of the token in every cluster.
const NAMESPACE: &str = "default";
const TOKEN: &str = "lab";

/// A secret store.
pub struct SecretStore {
    url: String,
    entries: Entries,
    _server: Server,
}

/// Its entries by path.
type Entries = Arc<Mutex<BTreeMap<String, Entry>>>;

#[derive(Default)]
struct Entry {
    data: Value,
    custom_metadata: Value,
    version: u32,
}

impl SecretStore {
    /// Starts it.
    pub async fn start(machine: &Machine) -> Result<Self> {
        let (port, entries) = (machine.port(), Entries::default());
        let served = Arc::clone(&entries);
        let answer = move |request: &Request<Value>| answer(&served, request);
        Ok(Self {
            url: format!("http://127.0.0.1:{port}"),
            entries,
            _server: Server::start_api(port, None, answer).await?,
        })
    }

    /// Makes it a ClusterSecretStore of this name. External Secrets must be installed.
    pub async fn connect(&self, cluster: &Cluster, name: &str) -> Result<()> {
        let token = json!({"stringData": {"token": TOKEN}});
        let reference = json!({"name": name, "namespace": NAMESPACE, "key": "token"});
        let store = json!({"spec": {"provider": {"vault": {
            "server": self.url,
            "path": "secret",
            "version": "v2",
            "auth": {"tokenSecretRef": reference},
        }}}});
        let secret = format!("{NAMESPACE}/{name}");
        cluster.put(SECRET, &secret, token).await?;
        cluster.put(STORE, name, store).await
    }

    /// The paths at which it has values.
    pub fn paths(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = entries.iter().filter(|(_, entry)| !entry.data.is_null());
        filled.map(|(path, _)| path.clone()).collect()
    }
}

fn answer(entries: &Entries, request: &Request<Value>) -> (StatusCode, String) {
    let known = request.headers().get("x-vault-token");
    let (status, answer) = match known.is_some_and(|token| token == TOKEN) {
        true => {
            let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
            let path = request.uri().path();
            of_path(&mut entries, request.method(), path, request.body())
        }
        false => (StatusCode::FORBIDDEN, Value::Null),
    };
    let text = match answer {
        Value::Null => json!({"errors": []}).to_string(),
        answer => json!({"data": answer}).to_string(),
    };
    let empty = status == StatusCode::NO_CONTENT;
    (status, if empty { String::new() } else { text })
}

fn of_path(
    entries: &mut BTreeMap<String, Entry>,
    method: &Method,
    path: &str,
    body: &Value,
) -> (StatusCode, Value) {
    const NONE: (StatusCode, Value) = (StatusCode::NOT_FOUND, Value::Null);
    const DONE: (StatusCode, Value) = (StatusCode::NO_CONTENT, Value::Null);
    if path == "/v1/auth/token/lookup-self" {
        return (
            StatusCode::OK,
            json!({"type": "service", "ttl": 3600, "expire_time": null}),
        );
    }
    let is_write = *method == Method::PUT || *method == Method::POST;
    if let Some(path) = path.strip_prefix("/v1/secret/data/") {
        if is_write {
            let entry = entries.entry(path.to_owned()).or_default();
            entry.data = body["data"].clone();
            entry.version += 1;
            return (StatusCode::OK, json!({"version": entry.version}));
        }
        let Some(entry) = entries.get_mut(path).filter(|entry| !entry.data.is_null()) else {
            return NONE;
        };
        if *method == Method::DELETE {
            entry.data = Value::Null;
            return DONE;
        }
        let metadata = json!({"version": entry.version, "custom_metadata": entry.custom_metadata});
        return (
            StatusCode::OK,
            json!({"data": entry.data, "metadata": metadata}),
        );
    }
    let Some(path) = path.strip_prefix("/v1/secret/metadata/") else {
        return NONE;
    };
    if is_write {
        let entry = entries.entry(path.to_owned()).or_default();
        entry.custom_metadata = body["custom_metadata"].clone();
        return DONE;
    }
    if *method == Method::DELETE {
        entries.remove(path);
        return DONE;
    }
    match entries.get(path) {
        Some(entry) => (
            StatusCode::OK,
            json!({"current_version": entry.version, "custom_metadata": entry.custom_metadata}),
        ),
        None => NONE,
    }
}
