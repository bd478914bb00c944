//! What the API server knows of every resource.

use serde_json::{Value, json};

/// Adds apiVersion, kind and metadata to the schema of a resource, as
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/> and
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/> have them.
pub fn object(mut schema: Value) -> Value {
    let mut metadata = json!({
        "type": "object",
        // What is missing is the name, not the rules about names.
        "default": {},
        "required": ["name"],
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "name": {
                "description": "Lower-case letters, digits, dashes and dots.",
                "type": "string",
                "maxLength": 253,
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            },
            "namespace": {
                "description": "Lower-case letters, digits and dashes.",
                "type": "string",
                "maxLength": 63,
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            },
            "labels": { "type": "object", "additionalProperties": {
                "type": "string",
                "maxLength": 63,
                "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
            } },
            "annotations": { "type": "object", "additionalProperties": { "type": "string" } },
        },
    });
    let narrower = schema["properties"]["metadata"]["properties"]["name"].take();
    if let (Value::Object(name), Value::Object(narrower)) =
        (&mut metadata["properties"]["name"], narrower)
    {
        name.extend(narrower);
    }
    if let Value::Object(schema) = &mut schema {
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        for (name, property) in [
            ("apiVersion", json!({ "type": "string" })),
            ("kind", json!({ "type": "string" })),
            ("metadata", metadata),
        ] {
            properties[name] = property;
        }
    }
    schema
}
