//! A small API server, which knows lists and their parts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use c5c3_live::Cluster;
use kube::Client;
use kube::client::Body as Sent;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tower::{ServiceExt, service_fn};

use crate::server::{Dashboard, Viewers, router};

/// Who may list what: by the header `Authorization`, the paths.
type Rights = BTreeMap<&'static str, Vec<&'static str>>;

/// What an API server has, and what it was asked.
#[derive(Clone, Default)]
pub struct Api {
    /// The objects, by the path of their list in all namespaces.
    pub objects: BTreeMap<&'static str, Vec<Value>>,
    /// The rights; none: everybody may list everything.
    pub rights: Option<Rights>,
    /// What it was asked, and by whom.
    pub log: Arc<Mutex<Vec<String>>>,
}

impl Api {
    /// What was asked, and by whom.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.log.lock().unwrap().clone();
        asked.sort();
        asked
    }

    /// A dashboard before it.
    pub fn dashboard(&self, viewers: Viewers) -> Router {
        let api = self.clone();
        let answer = move |request: Request<Sent>| {
            let api = api.clone();
            async move {
                let (code, body) = api.answer(&request);
                let response = axum::http::Response::builder().status(code);
                response.body(Sent::from(body.to_string().into_bytes()))
            }
        };
        let client = Client::new(service_fn(answer), "default");
        let cluster = Cluster::of(client, "https://api.example.com:6443/".to_owned());
        let dashboard = Dashboard::new(cluster, viewers, &mut Registry::default());
        router(Arc::new(dashboard))
    }

    fn answer(&self, request: &Request<Sent>) -> (u16, Value) {
        assert_eq!(request.method(), "GET");
        let authorization = request.headers().get("authorization");
        let viewer = authorization.map_or("", |value| value.to_str().unwrap());
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or(""));
        let asked = format!("{viewer} {path}?{query}");
        self.log.lock().unwrap().push(asked.trim().to_owned());
        let refused = |code: u16| {
            (
                code,
                json!({"kind": "Status", "code": code, "message": "no"}),
            )
        };
        if let Some(rights) = &self.rights {
            match rights.get(viewer) {
                None => return refused(401),
                Some(paths) if !paths.contains(&path) => return refused(403),
                Some(_) => {}
            }
        }
        let (namespace, all) = everywhere(path);
        let Some(objects) = self.objects.get(all.as_str()) else {
            return refused(404);
        };
        let parameters: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        let is_there = |object: &&Value| {
            let metadata = &object["metadata"];
            let name = parameters.get("fieldSelector");
            namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
                && name.is_none_or(|name| {
                    *name == format!("metadata.name={}", metadata["name"].as_str().unwrap())
                })
        };
        let number = |name: &str| parameters.get(name).and_then(|text| text.parse().ok());
        let (start, limit) = (number("continue").unwrap_or(0), number("limit").unwrap());
        let all: Vec<&Value> = objects.iter().filter(is_there).collect();
        let end = all.len().min(start + limit);
        let is_selected = parameters
            .get("labelSelector")
            .is_some_and(|labels| !labels.is_empty());
        let metadata = match all.len() - end {
            0 => json!({}),
            _ if is_selected => json!({"continue": end.to_string()}),
            more => json!({"continue": end.to_string(), "remainingItemCount": more}),
        };
        (200, json!({"metadata": metadata, "items": all[start..end]}))
    }
}

/// The namespace of a list's path, and the same list in all namespaces.
fn everywhere(path: &str) -> (Option<&str>, String) {
    match path.split_once("/namespaces/") {
        Some((group, rest)) => {
            let (namespace, plural) = rest.split_once('/').unwrap();
            (Some(namespace), format!("{group}/{plural}"))
        }
        None => (None, path.to_owned()),
    }
}

/// A page, by its URL.
pub async fn page(dashboard: &Router, url: &str) -> String {
    let (status, _, text) = answer(dashboard, get(url)).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    text
}

/// A request of a page on this machine.
pub fn get(url: &str) -> Request<Body> {
    let request = Request::get(url).header("host", "localhost:8090");
    request.body(Body::empty()).unwrap()
}

pub async fn answer(dashboard: &Router, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response = dashboard.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (parts.status, parts.headers, text)
}

/// An object with a condition Ready.
pub fn object(namespace: &str, name: &str, ready: &str, message: &str, status: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {},
        "status": {"conditions": [{
            "type": "Ready", "status": ready, "reason": "Reason", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    if namespace.is_empty() {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("namespace");
    }
    for (field, value) in status.as_object().unwrap() {
        object["status"][field] = value.clone();
    }
    object
}

pub const CLAIMS: &str = "/apis/c5c3.io/v1alpha1/openstackclusters";
pub const HYPERVISOR_CLUSTERS: &str = "/apis/crossplane.c5c3.io/v1alpha1/hypervisorclusters";
pub const STORAGE_CLUSTERS: &str = "/apis/crossplane.c5c3.io/v1alpha1/storageclusters";
pub const POOLS: &str = "/apis/hypervisor.c5c3.io/v1alpha1/hypervisorpools";
pub const SHARES: &str = "/apis/hypervisor.c5c3.io/v1alpha1/hypervisorshares";
pub const NODES: &str = "/api/v1/nodes";
