//! Objects as an API server stores them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use provider_composer::{GeneratedValue, Key};
use serde_json::{Value, json};

pub use crate::owned::merged as applied;

/// What an API server puts in, and nobody else changes.
const SERVERS: [&str; 6] = [
    "uid",
    "generation",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// API groups of Kubernetes whose objects have no generation.
const UNCOUNTED: [&str; 5] = [
    "",
    "autoscaling",
    "coordination.k8s.io",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
];

/// An object that is created. Its status is written separately.
pub fn new(key: &Key, mut object: Value, number: usize, now: Timestamp) -> Value {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    name(key, &mut object);
    remove(&mut object, "status");
    let metadata = &mut object["metadata"];
    if metadata["uid"].is_null() {
        metadata["uid"] = json!(format!("uid-{number}"));
    }
    if !UNCOUNTED.contains(&key.kind.group) {
        metadata["generation"] = json!(1);
    }
    metadata["creationTimestamp"] = json!(now.to_string());
    object
}

/// An object that is changed: its status and what the server put in stay, and the generation counts changes of everything else but the
/// metadata.
pub fn changed(key: &Key, live: &Value, mut object: Value) -> Value {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    name(key, &mut object);
    for field in SERVERS {
        match live["metadata"].get(field) {
            Some(value) => object["metadata"][field] = value.clone(),
            None => remove(&mut object["metadata"], field),
        }
    }
    match live.get("status") {
        Some(status) => object["status"] = status.clone(),
        None => remove(&mut object, "status"),
    }
    if let Some(generation) = live["metadata"]["generation"].as_i64()
        && counted(live) != counted(&object)
    {
        object["metadata"]["generation"] = json!(generation + 1);
    }
    object
}

/// Adds apiVersion, kind, name and namespace to an object.
fn name(key: &Key, object: &mut Value) {
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.kind);
    object["metadata"]["name"] = json!(key.name);
    if let Some(namespace) = &key.namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
}

/// The fields whose changes the generation counts.
fn counted(object: &Value) -> BTreeMap<&str, &Value> {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(field, value)| (field.as_str(), value));
    fields
        .filter(|(field, _)| !["apiVersion", "kind", "metadata", "status"].contains(field))
        .collect()
}

fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove(field);
    }
}

/// Whether an object is being deleted.
pub fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// An object without what the server and the object's own operator put in.
pub fn composed(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| field != "finalizers" && !SERVERS.contains(&field.as_str()));
    }
    object
}

/// A value of a generated Secret: the next one that is drawn for it. No two are alike, whichever Secret is generated first.
pub fn drawn(secret: &Key, value: &GeneratedValue, number: usize) -> Vec<u8> {
    match value {
        GeneratedValue::Password(_) | GeneratedValue::Key(_) => {
            format!("s3cret {number} of {secret}").into_bytes()
        }
        GeneratedValue::PrivateKey => format!("private key {number} of {secret:?}").into_bytes(),
        GeneratedValue::Text(text) => text.clone().into_bytes(),
        GeneratedValue::Known(secret) => secret.clone(),
    }
}
