//! The part of a live object that is to be compared with a planned one. Pure.

use c5c3_plan::{Applied, Manifest, defaulted};
use provider_runtime::applied;
use serde_json::{Map, Value, json};

/// Instead of a secret value that stays.
const HIDDEN: &str = "(hidden)";
/// Instead of a secret value that would be another one.
const CHANGED: &str = "(hidden, another value)";

/// What is planned and what is there, as far as it is comparable. Values of Secrets are hidden: only whether they differ is
/// seen.
///
/// Of the live object, what its operator applied counts, so a field that isn't planned any more is seen. Where nobody of
/// ours applied it, the fields that are planned count; but the spec of a resource that our operators work on is its user's
/// as a whole.
pub fn comparable(planned: &Applied, live: &Manifest) -> (Value, Value) {
    let operator = planned.operator;
    let applied = operator.and_then(|operator| applied(live.value(), operator));
    let users = || defaulted(&planned.manifest).zip(defaulted(live));
    let (mut wanted, mut there) = match applied {
        Some(applied) => (body(planned.manifest.value()), body(&applied)),
        None => match users() {
            Some((planned, live)) => with_spec(&planned, &live),
            None => with_fields(&planned.manifest, live),
        },
    };
    if planned.manifest.kind() == "Secret" && planned.manifest.api_version() == "v1" {
        hide(&mut wanted, &mut there);
    }
    (sorted(wanted), sorted(there))
}

/// The fields that are planned.
fn with_fields(planned: &Manifest, live: &Manifest) -> (Value, Value) {
    let wanted = body(planned.value());
    let there = like(&wanted, &body(live.value()));
    (wanted, there)
}

/// The fields that are planned, and of the spec all.
fn with_spec(planned: &Manifest, live: &Manifest) -> (Value, Value) {
    let (wanted, mut there) = with_fields(planned, live);
    if let Value::Object(there) = &mut there {
        there.insert("spec".to_owned(), live.spec().clone());
    }
    (wanted, there)
}

/// A planned object as it is shown.
pub fn shown(manifest: &Manifest) -> Value {
    let mut value = body(manifest.value());
    if manifest.kind() == "Secret" && manifest.api_version() == "v1" {
        let mut same = value.clone();
        hide(&mut value, &mut same);
    }
    sorted(value)
}

/// An object without what it is called, and without what a plan can't know.
fn body(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    let mut body: Map<String, Value> = fields
        .filter(|(field, _)| !["apiVersion", "kind", "status"].contains(&field.as_str()))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    if let Some(Value::Object(metadata)) = body.remove("metadata") {
        let kept: Map<String, Value> = metadata
            .into_iter()
            .filter(|(field, _)| ["labels", "annotations"].contains(&field.as_str()))
            .collect();
        if !kept.is_empty() {
            body.insert("metadata".to_owned(), Value::Object(kept));
        }
    }
    Value::Object(body)
}

/// The part of a value that has the same fields as another.
fn like(shape: &Value, value: &Value) -> Value {
    match (shape, value) {
        (Value::Object(shape), Value::Object(value)) => {
            let common = shape.iter().filter_map(|(field, shape)| {
                let value = value.get(field)?;
                Some((field.clone(), like(shape, value)))
            });
            Value::Object(common.collect())
        }
        (Value::Array(shape), Value::Array(value)) if shape.len() == value.len() => {
            let items = shape.iter().zip(value);
            items.map(|(shape, value)| like(shape, value)).collect()
        }
        _ => value.clone(),
    }
}

/// Hides the values of a Secret on both sides, so that it is still seen which differ.
fn hide(wanted: &mut Value, there: &mut Value) {
    for field in ["data", "stringData"] {
        let before = there.get(field).cloned().unwrap_or_default();
        let values = wanted.get_mut(field).and_then(Value::as_object_mut);
        for (key, value) in values.into_iter().flatten() {
            let differs = before.get(key).is_some_and(|before| before != value);
            *value = json!(if differs { CHANGED } else { HIDDEN });
        }
        let values = there.get_mut(field).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(Map::values_mut) {
            *value = json!(HIDDEN);
        }
    }
}

/// Fields in the order of their names.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}
