//! The schema itself, with messages as the API server has them.

use regex::Regex;
use serde_json::Value;

/// Checks a value against a schema. `path` is that of the value, for instance `spec.size`.
pub fn check(schema: &Value, value: &Value, path: &str, refusals: &mut Vec<String>) {
    let kind = match schema["x-kubernetes-int-or-string"] == true {
        true => "integer,string",
        false => schema["type"].as_str().unwrap(),
    };
    if !is_of(kind, value) {
        refusals.push(format!("{path} in body must be of type {kind}"));
        return;
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|names| !names.contains(value))
    {
        refusals.push(format!("{path}: Unsupported value: {value}"));
    }
    match value {
        Value::String(text) => check_text(schema, text, path, refusals),
        Value::Number(number) => check_number(schema, number.as_f64().unwrap(), path, refusals),
        Value::Array(items) => check_items(schema, items, path, refusals),
        Value::Object(_) => check_fields(schema, value, path, refusals),
        _ => {}
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "integer,string" => value.is_i64() || value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no schema of ours has the type {other}"),
    }
}

fn check_text(schema: &Value, text: &str, path: &str, refusals: &mut Vec<String>) {
    let length = text.chars().count() as u64;
    if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
        refusals.push(format!(
            "{path} in body should be at least {least} chars long"
        ));
    }
    if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
        refusals.push(format!(
            "{path}: Too long: may not be more than {most} bytes"
        ));
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && !Regex::new(pattern).unwrap().is_match(text)
    {
        refusals.push(format!("{path} in body should match '{pattern}'"));
    }
}

fn check_number(schema: &Value, number: f64, path: &str, refusals: &mut Vec<String>) {
    if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
        refusals.push(format!(
            "{path} in body should be greater than or equal to {least}"
        ));
    }
    if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
        refusals.push(format!(
            "{path} in body should be less than or equal to {most}"
        ));
    }
}

fn check_items(schema: &Value, items: &[Value], path: &str, refusals: &mut Vec<String>) {
    let count = items.len() as u64;
    if let Some(least) = schema["minItems"].as_u64().filter(|least| count < *least) {
        refusals.push(format!("{path} in body should have at least {least} items"));
    }
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| count > *most) {
        refusals.push(format!(
            "{path}: Too many: {count}: must have at most {most} items"
        ));
    }
    check_keys(schema, items, path, refusals);
    for (index, item) in items.iter().enumerate() {
        check(
            &schema["items"],
            item,
            &format!("{path}[{index}]"),
            refusals,
        );
    }
}

/// A list may have keys, its items' own or the items themselves, that must not stand twice.
fn check_keys(schema: &Value, items: &[Value], path: &str, refusals: &mut Vec<String>) {
    let key = |item: &Value| match schema["x-kubernetes-list-map-keys"].as_array() {
        Some(keys) => {
            let field = |key: &Value| {
                let name = key.as_str().unwrap();
                (name.to_owned(), item[name].clone())
            };
            Value::Object(keys.iter().map(field).collect())
        }
        None => item.clone(),
    };
    if schema.get("x-kubernetes-list-type").is_none() {
        return;
    }
    for (index, item) in items.iter().enumerate() {
        let before = &items[..index];
        if before.iter().any(|other| key(other) == key(item)) {
            refusals.push(format!("{path}[{index}]: Duplicate value: {}", key(item)));
        }
    }
}

fn check_fields(schema: &Value, object: &Value, path: &str, refusals: &mut Vec<String>) {
    let within = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if object.get(name).is_none() {
            refusals.push(format!("{}: Required value", within(name)));
        }
    }
    for (name, field) in object.as_object().unwrap() {
        let property = schema["properties"]
            .get(name)
            .or_else(|| schema.get("additionalProperties"));
        match property {
            Some(property) => check(property, field, &within(name), refusals),
            // The API server knows these of every resource, and Crossplane adds the rest to the spec.
            None if path == "metadata"
                || path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&&**name) => {}
            None => refusals.push(format!("unknown field \"{}\"", within(name))),
        }
    }
}
