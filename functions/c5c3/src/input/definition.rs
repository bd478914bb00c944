//! The kinds of the inputs as CustomResourceDefinitions, apiextensions.k8s.io/v1.
//!
//! The function's package has them, so that editors and `c5c3 plan` know the fields. Crossplane before 2.2 creates them, and uses none
//! (crossplane/crossplane#6976); from 2.2 on it doesn't create them. No resource of these kinds is needed.

use c5c3_api::schema;
use serde_json::{Map, Value, json};

use super::{API_VERSION, ClusterPresets, Input, OpenStackPresets};

/// The definition of each kind of input.
pub fn definitions() -> Vec<Value> {
    vec![
        definition::<OpenStackPresets>(),
        definition::<ClusterPresets>(),
    ]
}

fn definition<I: Input>() -> Value {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    let plural = I::KIND.to_lowercase();
    let mut schema = schema::structural::<I>();
    remove_rules(&mut schema);
    for (field, value) in [("apiVersion", API_VERSION), ("kind", I::KIND)] {
        schema["properties"][field] =
            json!({ "description": format!("`{value}`."), "type": "string", "enum": [value] });
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": I::KIND, "plural": plural, "singular": plural },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

/// Removes the rules in CEL. They are about whole resources, while an input has a part of their fields; and API servers refuse the
/// definition because of what the rules cost in a map of sizes.
fn remove_rules(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    schema.remove("x-kubernetes-validations");
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(remove_rules);
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            remove_rules(inner);
        }
    }
}
