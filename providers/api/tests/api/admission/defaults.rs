//! Defaults, as the API server fills them in.

use serde_json::Value;

/// A value with the defaults of its schema, outer ones first, so that an object that is there by default gets its own.
pub fn defaulted(schema: &Value, mut value: Value) -> Value {
    if let (Value::Object(fields), Some(properties)) =
        (&mut value, schema["properties"].as_object())
    {
        for (name, property) in properties {
            if let Some(default) = property.get("default") {
                fields.entry(name).or_insert_with(|| default.clone());
            }
            if let Some(field) = fields.get_mut(name) {
                *field = defaulted(property, field.take());
            }
        }
    }
    if let Value::Array(items) = &mut value {
        items
            .iter_mut()
            .for_each(|item| *item = defaulted(&schema["items"], item.take()));
    }
    value
}
