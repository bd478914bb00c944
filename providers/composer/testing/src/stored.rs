//! Objects as an API server stores them.

use jiff::Timestamp;
use provider_composer::{GeneratedValue, Key};
use serde_json::{Value, json};

/// What an API server puts in, and nobody else changes.
const SERVERS: [&str; 4] = [
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
];

/// An object that is created.
pub fn new(key: &Key, mut object: Value, number: usize, now: Timestamp) -> Value {
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.kind);
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    metadata["name"] = json!(key.name);
    if let Some(namespace) = &key.namespace {
        metadata["namespace"] = json!(namespace);
    }
    if metadata["uid"].is_null() {
        metadata["uid"] = json!(format!("uid-{number}"));
    }
    metadata["generation"] = json!(1);
    metadata["creationTimestamp"] = json!(now.to_string());
    object
}

/// An object that is changed: what the server put in stays, and the generation counts changes of the spec.
///
/// # Panics
/// It can't be changed.
pub fn changed(key: &Key, live: &Value, mut object: Value) -> Value {
    let is_changed = |field: &str| live.get(field) != object.get(field);
    let is_immutable =
        live["immutable"] == true && (is_changed("data") || is_changed("stringData"));
    let is_immutable = is_immutable || key.kind.kind == "Job" && is_changed("spec");
    assert!(!is_immutable, "{key} can't be changed");
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.kind);
    object["metadata"]["name"] = json!(key.name);
    if let Some(namespace) = &key.namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    for field in SERVERS {
        if let Some(value) = live["metadata"].get(field) {
            object["metadata"][field] = value.clone();
        }
    }
    if object["metadata"].get("finalizers").is_none()
        && let Some(finalizers) = live["metadata"].get("finalizers")
    {
        object["metadata"]["finalizers"] = finalizers.clone();
    }
    if let Some(status) = live.get("status") {
        object["status"] = status.clone();
    }
    if object.get("spec") != live.get("spec") {
        let generation = live["metadata"]["generation"].as_i64().unwrap_or(0);
        object["metadata"]["generation"] = json!(generation + 1);
    }
    object
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

/// Applies fields to an object as server-side apply does: fields that were applied before and aren't any more are removed, and
/// those of others stay. Lists are replaced as a whole.
pub fn applied(live: &Value, before: &Value, wanted: &Value) -> Value {
    let Value::Object(wanted) = wanted else {
        return wanted.clone();
    };
    let mut merged = live.as_object().cloned().unwrap_or_default();
    for (field, before) in before.as_object().into_iter().flatten() {
        let is_wanted = wanted.get(field).is_some_and(|value| !value.is_null());
        if !is_wanted && let Some(live) = merged.shift_remove(field) {
            let left = without(live, before);
            if !left.is_null() {
                merged.insert(field.clone(), left);
            }
        }
    }
    for (field, wanted) in wanted.iter().filter(|(_, wanted)| !wanted.is_null()) {
        let live = merged.get(field).unwrap_or(&Value::Null);
        let value = applied(live, &before[field], wanted);
        merged.insert(field.clone(), value);
    }
    Value::Object(merged)
}

/// What is left of a value without the fields that were applied; null if nothing is.
fn without(live: Value, applied: &Value) -> Value {
    let (Value::Object(mut live), Value::Object(applied)) = (live, applied) else {
        return Value::Null;
    };
    for (field, applied) in applied {
        if let Some(value) = live.shift_remove(field) {
            let left = without(value, applied);
            if !left.is_null() {
                live.insert(field.clone(), left);
            }
        }
    }
    match live.is_empty() {
        true => Value::Null,
        false => Value::Object(live),
    }
}

/// A value of a generated Secret: the next one that is drawn for it. No two are alike, whichever Secret is generated first.
pub fn drawn(secret: &Key, value: &GeneratedValue, number: usize) -> Vec<u8> {
    match value {
        GeneratedValue::Password(_) | GeneratedValue::Key(_) => {
            format!("s3cret {number} of {secret}").into_bytes()
        }
        GeneratedValue::PrivateKey => format!("private key {number} of {secret:?}").into_bytes(),
        GeneratedValue::Text(text) => text.clone().into_bytes(),
    }
}
