//! What the API server does to a spec before anybody sees it: unknown fields are refused, defaults are filled in.

use serde_json::Value;

/// What Crossplane adds to the spec of claims and composite resources.
const CROSSPLANE: [&str; 11] = [
    "claimRef",
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "crossplane",
    "publishConnectionDetailsTo",
    "resourceRef",
    "writeConnectionSecretToRef",
];

/// The path of the first field of a spec that its schema doesn't know, for instance `spec.hypervisors`.
pub fn unknown_field(schema: &Value, spec: &Value) -> Option<String> {
    let Value::Object(fields) = spec else {
        return None;
    };
    fields
        .iter()
        .filter(|(name, _)| !CROSSPLANE.contains(&name.as_str()))
        .find_map(|(name, value)| unknown(schema, "spec", name, value))
}

fn unknown(schema: &Value, parent: &str, name: &str, value: &Value) -> Option<String> {
    let path = format!("{parent}.{name}");
    let property = match (&schema["properties"], &schema["additionalProperties"]) {
        (Value::Object(properties), _) => match properties.get(name) {
            Some(property) => property,
            None => return Some(path),
        },
        (_, values) => values,
    };
    unknown_within(property, &path, value)
}

fn unknown_within(schema: &Value, path: &str, value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, value)| unknown(schema, path, name, value)),
        Value::Array(items) => items.iter().enumerate().find_map(|(position, item)| {
            unknown_within(&schema["items"], &format!("{path}[{position}]"), item)
        }),
        _ => None,
    }
}

/// The spec with the defaults of its schema, outer ones first, so that an object that is there by default gets its own.
pub fn with_defaults(schema: &Value, spec: Value) -> Value {
    match spec {
        Value::Object(mut fields) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(value) = fields.get_mut(name) {
                    *value = with_defaults(property, value.take());
                } else if let Some(default) = property.get("default") {
                    fields.insert(name.clone(), with_defaults(property, default.clone()));
                }
            }
            Value::Object(fields)
        }
        Value::Array(items) => {
            let items = items
                .into_iter()
                .map(|item| with_defaults(&schema["items"], item));
            Value::Array(items.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kind::ClaimKind;

    #[test]
    fn a_field_that_is_not_known_is_found_wherever_it_is() {
        let schema = ClaimKind::OpenStackCluster.schema();
        let unknown = |spec| unknown_field(&schema, &spec);
        assert_eq!(
            unknown(json!({ "region": "r", "compositionRef": { "name": "c" } })),
            None
        );
        assert_eq!(
            unknown(json!({ "regoin": "r" })),
            Some("spec.regoin".to_owned())
        );
        assert_eq!(
            unknown(json!({ "storage": { "ceph": { "volumePool": { "copies": 3 } } } })),
            Some("spec.storage.ceph.volumePool.copies".to_owned())
        );
        let schema = ClaimKind::HypervisorCluster.schema();
        let labels = json!({ "labels": { "anything": "goes" } });
        assert_eq!(unknown_field(&schema, &labels), None);
        let networks = json!({ "network": { "physicalNetworks": [{ "name": "a", "vlan": 1 }] } });
        assert_eq!(
            unknown_field(&schema, &networks),
            Some("spec.network.physicalNetworks[0].vlan".to_owned())
        );
    }

    #[test]
    fn defaults_are_filled_in_and_what_is_given_stays() {
        let schema = ClaimKind::OpenStackCluster.schema();
        let spec = with_defaults(
            &schema,
            json!({ "region": "r", "services": { "nova": false } }),
        );
        assert_eq!(spec["region"], "r");
        assert_eq!(spec["services"]["nova"], false);
        assert_eq!(spec["services"]["glance"], true);
        assert_eq!(spec["storage"]["ceph"]["volumePool"]["replication"], 3);
        assert_eq!(spec.get("cortex"), None);
    }
}
