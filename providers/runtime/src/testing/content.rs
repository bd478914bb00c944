//! The content of objects, as the API server writes and shows it.

use provider_composer_testing::stored;
use serde_json::{Map, Value, json};

/// An object as it is shown in a list or a watch.
pub(super) fn shown(object: &Value, metadata: bool) -> Value {
    match metadata {
        true => json!({ "metadata": object["metadata"] }),
        false => object.clone(),
    }
}

/// An object with managedFields, as a write of it by a field manager leaves them.
pub(super) fn managed(mut object: Value, query: &str) -> Value {
    let entry = entry(&object, manager(query), "Update");
    object["metadata"]["managedFields"] = json!([entry]);
    object
}

/// An object after a server-side apply by a field manager.
pub(super) fn applied(live: &Value, query: &str, wanted: &Value) -> Value {
    let manager = manager(query);
    let before = crate::apply::applied(live, manager).unwrap_or_default();
    let entries = live["metadata"]["managedFields"].as_array();
    let mut entries = entries.cloned().unwrap_or_default();
    entries.retain(|entry| entry["manager"] != manager || entry["operation"] != "Apply");
    entries.push(entry(wanted, manager, "Apply"));
    let mut object = stored::applied(live, &before, wanted);
    object["metadata"]["managedFields"] = json!(entries);
    object
}

/// The manager that a request names.
fn manager(query: &str) -> &str {
    let mut pairs = query.split('&');
    let manager = pairs.find_map(|pair| pair.strip_prefix("fieldManager="));
    manager.unwrap_or_default()
}

/// An entry of managedFields.
fn entry(object: &Value, manager: &str, operation: &str) -> Value {
    let mut own = object.clone();
    for field in ["apiVersion", "kind"] {
        own.as_object_mut().map(|own| own.shift_remove(field));
    }
    if let Some(metadata) = own["metadata"].as_object_mut() {
        metadata.retain(|field, _| !matches!(field.as_str(), "name" | "namespace" | "uid"));
    }
    json!({ "manager": manager, "operation": operation, "fieldsV1": fields(&own) })
}

fn fields(value: &Value) -> Value {
    let below = value.as_object().into_iter().flatten();
    let below = below.map(|(name, value)| (format!("f:{name}"), fields(value)));
    Value::Object(below.collect::<Map<String, Value>>())
}

/// Merges a change into a value (RFC 7396).
pub(super) fn merge(live: &mut Value, change: &Value) {
    let Value::Object(fields) = change else {
        *live = change.clone();
        return;
    };
    if !live.is_object() {
        *live = json!({});
    }
    for (field, value) in fields {
        match (value, live.as_object_mut()) {
            (Value::Null, Some(live)) => drop(live.remove(field)),
            _ => merge(&mut live[field], value),
        }
    }
}
