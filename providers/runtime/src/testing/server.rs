//! An API server in memory, as far as operators call one.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::channel::mpsc::unbounded;
use futures::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use hyper::{Request, Response};
use kube::Client;
use prometheus_client::registry::Registry;
use provider_composer::ResourceKind;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::KINDS;
use super::content::{applied, managed, merge, shown};
use super::watch::{Change, Watch};
use crate::api::Api;
use crate::metrics::Metrics;
pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

type Place = (String, String, String);

/// An API server. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    /// By plural, namespace and name.
    pub objects: BTreeMap<Place, Value>,
    /// Every request: method and path with query.
    pub requests: Vec<String>,
    /// How long each answer to a request takes whose text contains this.
    pub delay: Option<(&'static str, Duration)>,
    /// How many writes of a status are still refused, as if the object had changed since it was read.
    pub conflicts: u32,
    /// Plurals that aren't served.
    pub absent: BTreeSet<&'static str>,
    /// Plurals that may not be read, and `openapi` for what is published.
    pub forbidden: BTreeSet<&'static str>,
    /// What is published as OpenAPI of every group and version; none: nothing is.
    pub published: Option<Value>,
    /// What was created of other kinds: Events.
    pub events: Vec<Value>,
    version: u64,
    watches: Vec<Watch>,
    /// Every change, by its version.
    changes: Vec<(u64, Change)>,
}

/// What a request is about.
struct Target {
    kind: ResourceKind,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
}

impl Server {
    /// A client that needs no network.
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    pub(crate) fn api(&self) -> Api {
        Api::new(self.client(), Metrics::new(&mut Registry::default()))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Creates or replaces an object as another client does.
    pub(crate) fn put(&self, kind: ResourceKind, namespace: &str, name: &str, object: Value) {
        let key = place(kind, namespace, name);
        self.state().store(kind, key, object);
    }

    pub(crate) fn get(&self, kind: ResourceKind, namespace: &str, name: &str) -> Option<Value> {
        let key = place(kind, namespace, name);
        self.state().objects.get(&key).cloned()
    }

    /// Deletes an object as another client does.
    pub(crate) fn delete(&self, kind: ResourceKind, namespace: &str, name: &str) {
        let key = place(kind, namespace, name);
        self.state().remove(kind, &key);
    }

    /// The requests that contain a text.
    pub(crate) fn requests(&self, text: &str) -> Vec<String> {
        let state = self.state();
        let requests = state.requests.iter();
        requests
            .filter(|line| line.contains(text))
            .cloned()
            .collect()
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: Body,
        B::Error: std::fmt::Debug,
    {
        let (head, body) = request.into_parts();
        let line = format!("{} {}", head.method, head.uri.path_and_query().unwrap());
        let body = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let accept = head.headers.get("accept");
        let metadata = accept.is_some_and(|accept| accept.to_str().unwrap().contains("Partial"));
        let delay = self.state().delay;
        if let Some((_, delay)) = delay.filter(|(text, _)| line.contains(text)) {
            sleep(delay).await;
        }
        let mut state = self.state();
        state.requests.push(line.clone());
        if head.uri.path().starts_with("/openapi/v3/") {
            return match &state.published {
                _ if state.forbidden.contains("openapi") => refused(403),
                Some(published) => plain(200, published),
                None => refused(404),
            };
        }
        let query = head.uri.query().unwrap_or_default();
        match target(head.uri.path()) {
            Some(target) => state.serve(head.method.as_str(), &target, query, metadata, &body),
            None => {
                state.events.push(body.clone());
                plain(201, &body)
            }
        }
    }
}

fn version(object: &Value) -> &Value {
    &object["metadata"]["resourceVersion"]
}

impl State {
    fn serve(
        &mut self,
        method: &str,
        target: &Target,
        query: &str,
        metadata: bool,
        body: &Value,
    ) -> Answer {
        let plural = target.kind.plural;
        let refusal = match () {
            () if self.absent.contains(plural) => Some(404),
            () if self.forbidden.contains(plural) && method == "GET" => Some(403),
            () => None,
        };
        if let Some(code) = refusal {
            return refused(code);
        }
        let body_name = body.pointer("/metadata/name").and_then(Value::as_str);
        let name = target.name.as_deref().or(body_name);
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let key = name.map(|name| place(target.kind, namespace, name));
        match (method, &key) {
            ("GET", None) if query.contains("watch=true") => self.watch(target, query, metadata),
            ("GET", None) => self.list(target, query, metadata),
            (_, None) => refused(405),
            ("GET", Some(key)) => match self.objects.get(key) {
                Some(object) => plain(200, object),
                None => refused(404),
            },
            ("POST", Some(key)) if self.objects.contains_key(key) => refused(409),
            ("PUT", Some(key)) if !self.objects.contains_key(key) => refused(404),
            ("PUT", Some(key)) if version(&self.objects[key]) != version(body) => refused(409),
            ("POST" | "PUT", Some(key)) => {
                let object = managed(body.clone(), query);
                plain(201, &self.store(target.kind, key.clone(), object))
            }
            ("DELETE", Some(key)) => {
                let Some(object) = self.objects.get(key) else {
                    return refused(404);
                };
                let uid = body.pointer("/preconditions/uid");
                if uid.is_some_and(|uid| *uid != object["metadata"]["uid"]) {
                    return refused(409);
                }
                self.remove(target.kind, key);
                plain(200, &json!({}))
            }
            (_, Some(key)) => {
                let live = self.objects.get(key).cloned();
                let object = match (live, target.subresource.as_deref(), body) {
                    (Some(_), Some("status"), _) if self.conflicts > 0 => {
                        self.conflicts -= 1;
                        return refused(409);
                    }
                    (Some(mut live), Some("status"), body) => {
                        live["status"] = body[1]["value"].clone();
                        live
                    }
                    (Some(mut live), None, body) if !query.contains("force=") => {
                        let change = &body["metadata"];
                        if live["metadata"]["resourceVersion"] != change["resourceVersion"] {
                            return refused(409);
                        }
                        merge(&mut live["metadata"], change);
                        live
                    }
                    (live, None, body) => applied(&live.unwrap_or_default(), query, body),
                    (None, ..) | (_, Some(_), _) => return refused(404),
                };
                let goes = object["metadata"]["deletionTimestamp"].is_string()
                    && object["metadata"]["finalizers"]
                        .as_array()
                        .is_none_or(Vec::is_empty);
                let object = self.store(target.kind, key.clone(), object);
                if goes {
                    self.remove(target.kind, key);
                }
                plain(200, &object)
            }
        }
    }

    /// A page of a list, as long as `limit` says.
    fn list(&self, target: &Target, query: &str, metadata: bool) -> Answer {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: BTreeMap<&str, &str> = pairs.collect();
        let from: usize = query
            .get("continue")
            .map_or(0, |from| from.parse().unwrap());
        let limit: usize = query
            .get("limit")
            .map_or(usize::MAX, |limit| limit.parse().unwrap());
        let all = self.objects.iter().filter(|((plural, namespace, _), _)| {
            plural == target.kind.plural
                && target
                    .namespace
                    .as_ref()
                    .is_none_or(|wanted| wanted == namespace)
        });
        let all: Vec<&Value> = all.map(|(_, object)| object).collect();
        let page = all.iter().skip(from).take(limit);
        let items: Vec<Value> = page.map(|object| shown(object, metadata)).collect();
        let next = match from + items.len() {
            next if next < all.len() => next.to_string(),
            _ => String::new(),
        };
        let metadata = json!({ "resourceVersion": self.version.to_string(), "continue": next });
        plain(200, &json!({ "metadata": metadata, "items": items }))
    }

    /// Changes after `resourceVersion`, and all that come.
    fn watch(&mut self, target: &Target, query: &str, metadata: bool) -> Answer {
        let (events, sent) = unbounded();
        let watch = Watch {
            plural: target.kind.plural.to_owned(),
            namespace: target.namespace.clone(),
            metadata,
            events,
        };
        let from = query.rsplit('=').next().and_then(|from| from.parse().ok());
        let from: u64 = from.unwrap_or_default();
        for (_, change) in self.changes.iter().filter(|(version, _)| *version > from) {
            watch.tell(change);
        }
        self.watches.push(watch);
        let frames = sent.map(|bytes| Ok(Frame::data(bytes)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn store(&mut self, kind: ResourceKind, key: Place, mut object: Value) -> Value {
        self.version += 1;
        let before = self.objects.get(&key);
        let uid = before.map_or_else(
            || json!(format!("uid-{}", self.version)),
            |before| before["metadata"]["uid"].clone(),
        );
        let generation = before.map_or(1, |before| {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(1);
            generation + i64::from(before.get("spec") != object.get("spec"))
        });
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.kind);
        object["metadata"]["namespace"] = json!(key.1);
        object["metadata"]["name"] = json!(key.2);
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let type_ = if before.is_some() {
            "MODIFIED"
        } else {
            "ADDED"
        };
        self.tell(type_, &key, &object);
        self.objects.insert(key, object.clone());
        object
    }

    fn remove(&mut self, kind: ResourceKind, key: &Place) {
        let Some(mut object) = self.objects.get(key).cloned() else {
            return;
        };
        let finalizers = object["metadata"]["finalizers"].as_array();
        if finalizers.is_some_and(|finalizers| !finalizers.is_empty()) {
            object["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
            self.store(kind, key.clone(), object);
            return;
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.tell("DELETED", key, &object);
        self.objects.remove(key);
    }

    fn tell(&mut self, type_: &'static str, key: &Place, object: &Value) {
        let change = Change {
            type_,
            plural: key.0.clone(),
            namespace: key.1.clone(),
            object: object.clone(),
        };
        self.watches.retain(|watch| watch.tell(&change));
        self.changes.push((self.version, change));
    }
}

/// By which an object is found: plural, namespace and name.
fn place(kind: ResourceKind, namespace: &str, name: &str) -> Place {
    [kind.plural, namespace, name].map(str::to_owned).into()
}

fn target(path: &str) -> Option<Target> {
    let mut found = KINDS.into_iter().filter_map(|(root, kind)| {
        let rest = path.strip_prefix(root)?;
        let rest: Vec<&str> = rest.split('/').skip(1).collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let text = |place: usize| rest.get(place).map(|text| (*text).to_owned());
        (rest.first() == Some(&kind.plural)).then(|| Target {
            kind,
            namespace,
            name: text(1),
            subresource: text(2),
        })
    });
    found.next()
}

fn refused(code: u16) -> Answer {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "code": code, "reason": format!("Code{code}"), "message": format!("the answer is {code}"),
    });
    plain(code, &status)
}

fn plain(code: u16, body: &Value) -> Answer {
    let body = Bytes::from(body.to_string());
    let frames = stream::once(async { Ok(Frame::data(body)) });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    *response.status_mut() = code.try_into().unwrap();
    response
}
