//! The definitions: what Crossplane and Kubernetes ask of them.

use std::collections::BTreeSet;

use c5c3_api::{Generation, custom_resources, definitions};
use serde_json::Value;

/// Calls `visit` with every schema below a schema, and its path.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), visit);
    }
    for within in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(within) {
            walk(schema, &format!("{path}[]"), visit);
        }
    }
}

/// The schemas of all kinds, by name: claims in both generations, and what operators reconcile.
pub fn schemas() -> Vec<(String, Value)> {
    let claims = Generation::ALL
        .into_iter()
        .flat_map(definitions)
        .map(|definition| {
            let [version] = definition.spec.versions;
            (definition.metadata.name, version.schema.open_api_v3_schema)
        });
    let custom = custom_resources().into_iter().map(|definition| {
        let name = definition["metadata"]["name"].as_str().unwrap().to_owned();
        let version = &definition["spec"]["versions"][0];
        (name, version["schema"]["openAPIV3Schema"].clone())
    });
    claims.chain(custom).collect()
}

fn each_schema(mut visit: impl FnMut(&str, &Value)) {
    for (name, root) in schemas() {
        walk(&root, &name, &mut visit);
    }
}

#[test]
fn every_field_is_described() {
    let mut fields = 0;
    each_schema(|path, schema| {
        if path.contains(".metadata") || path.ends_with("[]") {
            return;
        }
        fields += 1;
        let description = schema["description"].as_str().unwrap_or_default();
        assert!(description.trim().len() > 5, "{path} has no description");
        assert!(
            description.trim_end().ends_with('.'),
            "{path}: {description:?} is no sentence"
        );
    });
    assert!(fields > 1000, "only {fields} fields");
}

/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
#[test]
fn schemas_are_structural() {
    const KNOWN: [&str; 22] = [
        "additionalProperties",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-validations",
    ];
    each_schema(|path, schema| {
        let schema = schema.as_object().unwrap();
        let typed = schema.get("type").is_some_and(Value::is_string);
        let either = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
        assert!(typed != either, "{path} has no single type");
        for key in schema.keys() {
            assert!(KNOWN.contains(&key.as_str()), "{path}: {key}");
        }
        if let Some(format) = schema.get("format") {
            assert!(
                ["int32", "int64", "double", "date-time"].contains(&format.as_str().unwrap()),
                "{path}: {format}"
            );
        }
        assert!(
            !(schema.contains_key("properties") && schema.contains_key("additionalProperties")),
            "{path}"
        );
    });
}

/// The API server estimates what a rule costs from the largest value that a schema allows, and refuses a definition
/// whose rules cost too much.
#[test]
fn what_rules_see_is_bounded() {
    each_schema(|path, schema| {
        if !path.contains(".spec") && !has_rules(schema) {
            return;
        }
        let bounded = match schema["type"].as_str().unwrap_or("string") {
            "string" => schema.get("enum").is_some() || schema.get("maxLength").is_some(),
            "array" => schema.get("maxItems").is_some(),
            "integer" | "number" => {
                schema.get("minimum").is_some() && schema.get("maximum").is_some()
            }
            "object" => {
                schema.get("additionalProperties").is_none()
                    || schema.get("maxProperties").is_some()
            }
            _ => true,
        };
        assert!(bounded, "{path} has no bound: {schema}");
    });
}

/// Up to Kubernetes 1.33 the API server takes what is an integer or a string for 3 MB of text, whatever its `maxLength`
/// (<https://github.com/kubernetes/kubernetes/pull/132837>): `string` and `quantity` of the amounts of one map exceed the budget.
#[test]
fn rules_read_no_amounts() {
    each_schema(|path, schema| {
        let rules = schema["x-kubernetes-validations"].as_array();
        for rule in rules.into_iter().flatten() {
            let expression = rule["rule"].as_str().unwrap();
            for function in ["string(", "quantity("] {
                assert!(!expression.contains(function), "{path}: {expression}");
            }
        }
    });
}

/// A string may hold whatever its schema doesn't refuse. Fields of claims become names and labels of other APIs.
#[test]
fn every_string_of_a_spec_has_a_pattern() {
    const ANY_LINE: &str = r"^[^\x00-\x1f\x7f]*$";
    // The name of a network in Neutron, which is any text.
    const FREE: [&str; 1] = [".network.externalNetwork"];
    each_schema(|path, schema| {
        let Some((kind, field)) = path.split_once(".spec") else {
            return;
        };
        if schema["type"] != "string"
            || ["enum", "format"]
                .iter()
                .any(|key| schema.get(key).is_some())
        {
            return;
        }
        let pattern = schema["pattern"].as_str().unwrap_or_default();
        let is_claim = kind.contains("clusters.") && !kind.starts_with("ovn");
        let is_free = !is_claim || FREE.contains(&field);
        assert!(
            !pattern.is_empty() && (is_free || pattern != ANY_LINE),
            "{path} has no pattern of its own"
        );
    });
}

/// The API server shows nothing but a pattern of what doesn't match it. Patterns without a form are in the snapshot: of names, labels,
/// tags and the like, which read as their patterns do. A new one gets a title, which becomes the rule's message.
#[test]
fn texts_with_a_form_say_it_when_they_are_refused() {
    let (mut said, mut bare) = (0, BTreeSet::new());
    each_schema(|path, schema| {
        let Some(pattern) = schema["pattern"].as_str() else {
            return;
        };
        if !path.contains(".spec") || schema["type"] != "string" {
            return;
        }
        let Some(form) = schema["title"].as_str() else {
            bare.insert(pattern.to_owned());
            return;
        };
        let rules = schema["x-kubernetes-validations"].as_array();
        let mut messages = rules.into_iter().flatten().map(|rule| &rule["message"]);
        let message = format!("not valid: write {form}");
        assert!(messages.any(|found| *found == message), "{path}");
        said += 1;
    });
    assert!(said >= 70, "only {said} texts say their form");
    let bare = Vec::from_iter(bare);
    insta::assert_snapshot!(bare.join("\n"));
}

fn has_rules(schema: &Value) -> bool {
    let mut found = false;
    walk(schema, "", &mut |_, schema| {
        found |= schema.get("x-kubernetes-validations").is_some();
    });
    found
}

#[test]
fn what_is_observed_has_no_defaults() {
    each_schema(|path, schema| {
        assert!(
            !(path.contains(".status") && schema.get("default").is_some()),
            "{path}"
        );
    });
}

/// Crossplane 2 refuses claims in a v2 definition, and takes a definition's name for plural and group.
#[test]
fn names_are_as_crossplane_wants_them() {
    for generation in Generation::ALL {
        for definition in definitions(generation) {
            let spec = &definition.spec;
            assert_eq!(
                definition.metadata.name,
                format!("{}.{}", spec.names.plural, spec.group)
            );
            assert_eq!(
                spec.names.plural,
                format!("{}s", spec.names.kind.to_lowercase())
            );
            match generation {
                Generation::V1 => {
                    let claim = spec.claim_names.as_ref().unwrap();
                    assert_eq!(spec.names.kind, format!("X{}", claim.kind));
                    assert_ne!(spec.names.short_names, claim.short_names);
                    assert_eq!(spec.scope, None);
                }
                Generation::V2 => {
                    assert!(spec.claim_names.is_none());
                    assert_eq!(spec.scope, Some("Namespaced"));
                }
            }
        }
    }
}

#[test]
fn both_generations_have_the_same_fields() {
    let fields = |generation| {
        let of = |definition: c5c3_api::Definition| {
            let root = &definition.spec.versions[0].schema.open_api_v3_schema;
            [
                root["properties"]["spec"].clone(),
                root["properties"]["status"].clone(),
            ]
        };
        definitions(generation)
            .into_iter()
            .map(of)
            .collect::<Vec<_>>()
    };
    assert_eq!(fields(Generation::V1), fields(Generation::V2));
}

/// A column that points nowhere is shown empty for ever.
#[test]
fn columns_show_what_is_there() {
    for definition in definitions(Generation::V1) {
        let [version] = &definition.spec.versions;
        for column in version.additional_printer_columns {
            let mut schema = &version.schema.open_api_v3_schema;
            for name in column.json_path.trim_start_matches('.').split('.') {
                let name = name.trim_end_matches("[*]");
                schema = schema["properties"]
                    .get(name)
                    .or_else(|| schema.get("additionalProperties"))
                    .or_else(|| schema["items"]["properties"].get(name))
                    .unwrap_or_else(|| {
                        panic!(
                            "{}: {} points nowhere",
                            definition.metadata.name, column.json_path
                        )
                    });
            }
        }
    }
}
