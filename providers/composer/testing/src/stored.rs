//! Objects as an API server stores them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use provider_composer::{Generated, GeneratedValue, Key, Owner};
use serde_json::{Value, json};

/// What an API server puts in, and nobody else changes.
const SERVERS: [&str; 4] = [
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
];

/// An object that was just made.
pub fn new(key: &Key, wanted: &Value, number: usize, now: Timestamp) -> Value {
    let mut object = wanted.clone();
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
    metadata["uid"] = json!(format!("uid-{number}"));
    metadata["generation"] = json!(1);
    metadata["creationTimestamp"] = json!(now.to_string());
    object
}

/// An object that was changed: what the server put in stays, and the generation counts changes of the spec.
pub fn changed(live: &Value, wanted: &Value) -> Value {
    let mut object = wanted.clone();
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

/// A generated Secret. No two values are alike.
pub fn secret(generated: &Generated, owner: &Owner, number: usize) -> Value {
    let mut labels = generated.labels.clone();
    for (label, value) in owner.labels() {
        labels.insert(label.to_owned(), value.to_owned());
    }
    let values = generated.values.iter().map(|(key, value)| {
        let text = match value {
            GeneratedValue::Password(_) | GeneratedValue::Key(_) => format!("{key}-{number}"),
            GeneratedValue::Text(text) => text.clone(),
        };
        (key.clone(), json!(ByteString(text.into_bytes())))
    });
    let data: serde_json::Map<String, Value> = values.collect();
    json!({ "metadata": { "labels": labels }, "data": data })
}

/// An object's labels.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    labels
        .filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// Sets the labels of a wanted object on one that exists, and removes those without a value.
pub fn label(live: &mut Value, wanted: &Value) {
    let labels = &mut live["metadata"]["labels"];
    let wanted = wanted["metadata"]["labels"].as_object();
    for (label, value) in wanted.into_iter().flatten() {
        match (value.is_null(), labels.as_object_mut()) {
            (true, Some(labels)) => drop(labels.remove(label)),
            (true, None) => {}
            (false, _) => labels[label] = value.clone(),
        }
    }
}
