//! Configuration of a provider's extension in Gardener. The function knows nothing of it but its placeholders.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A free-form object whose texts may have placeholders: `{nodes}` stands for the cluster's range of node addresses.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Template(Map<String, Value>);

/// What a placeholder stands for, if the cluster has it.
pub type Values<'a> = [(&'static str, Option<&'a str>)];

impl Template {
    /// Whether a text has the placeholder, for instance `{nodes}`.
    pub fn has(&self, placeholder: &str) -> bool {
        self.0.values().any(|value| has(value, placeholder))
    }

    /// The object with its placeholders replaced, its fields sorted. A field or item that has a placeholder without a value is
    /// left out.
    pub fn fill(&self, values: &Values<'_>) -> Value {
        let mut filled = object(&self.0, values);
        filled.sort_all_objects();
        filled
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

fn has(value: &Value, placeholder: &str) -> bool {
    match value {
        Value::String(text) => text.contains(placeholder),
        Value::Array(items) => items.iter().any(|item| has(item, placeholder)),
        Value::Object(fields) => fields.values().any(|field| has(field, placeholder)),
        _ => false,
    }
}

fn fill(value: &Value, values: &Values<'_>) -> Option<Value> {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (placeholder, value) in values {
                if text.contains(placeholder) {
                    text = text.replace(placeholder, (*value)?);
                }
            }
            Some(Value::String(text))
        }
        Value::Array(items) => Some(items.iter().filter_map(|item| fill(item, values)).collect()),
        Value::Object(fields) => Some(object(fields, values)),
        other => Some(other.clone()),
    }
}

fn object(fields: &Map<String, Value>, values: &Values<'_>) -> Value {
    let fields = fields.iter();
    fields
        .filter_map(|(name, field)| Some((name.clone(), fill(field, values)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn template_replaces_placeholders_and_leaves_out_those_without_a_value() {
        let template: Template = serde_json::from_value(json!({
            "labels": {"pool": "{machinePool}", "zone": "z-{zone}"}, "cidrs": ["{nodes}", "{zone}"], "replicas": 2,
        }))
        .unwrap();
        assert_eq!(
            template.fill(&[
                ("{machinePool}", Some("rack-1")),
                ("{nodes}", Some("10.0.0.0/16")),
                ("{zone}", None)
            ]),
            json!({"labels": {"pool": "rack-1"}, "cidrs": ["10.0.0.0/16"], "replicas": 2})
        );
        assert!(template.has("{zone}") && !template.has("{region}"));
    }
}
