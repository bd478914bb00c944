//! Defaults, as the API server fills them in.

use serde_json::Value;

/// Returns a value with the defaults of its schema, outer ones first, so that an object that is there by default gets its
/// own. A null counts as absent.
pub fn defaulted(schema: &Value, mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, field| !field.is_null() || schema["properties"][name].is_null());
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default") {
                    fields.entry(name).or_insert_with(|| default.clone());
                }
                if let Some(field) = fields.get_mut(name) {
                    *field = defaulted(property, field.take());
                }
            }
            if let Some(values) = schema.get("additionalProperties") {
                for field in fields.values_mut() {
                    *field = defaulted(values, field.take());
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = defaulted(&schema["items"], item.take());
            }
        }
        _ => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_fill_absent_and_null_fields_from_the_outside_in() {
        let inner = json!({ "default": {}, "properties": { "a": { "default": 1 }, "b": { "default": 2 } } });
        let schema = json!({ "properties": {
            "one": inner, "two": { "type": "string" },
            "list": { "items": inner }, "map": { "additionalProperties": inner },
        } });
        let given = json!({ "one": null, "two": null, "list": [{ "a": 3 }], "map": { "x": { "b": 4 } }, "other": null });
        let filled = json!({
            "list": [{ "a": 3, "b": 2 }], "map": { "x": { "a": 1, "b": 4 } }, "other": null, "one": { "a": 1, "b": 2 },
        });
        assert_eq!(defaulted(&schema, given), filled);
    }
}
