//! Values of releases, as the charts' schemas have them.

use std::path::Path;

use c5c3_admission::Validator;
use serde_json::{Value, json};

use super::repository::{Id, OVERLAYS, read, site, text};
use crate::given::root;

/// The schema of a chart's values, with those of the charts that it depends on.
fn schema(chart: &Path) -> Value {
    let mut schema: Value = serde_json::from_str(&read(&chart.join("values.schema.json"))).unwrap();
    if let Some(properties) = schema["properties"].as_object_mut() {
        for (name, property) in properties {
            let other = chart.with_file_name(name);
            if other.join("values.schema.json").is_file() {
                *property = self::schema(&other);
            }
        }
    }
    closed(&mut schema);
    schema
}

/// A validator of resources refuses unknown fields anyway, and takes `additionalProperties` for the schema of others.
fn closed(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("additionalProperties") == Some(&Value::Bool(false)) {
                fields.remove("additionalProperties");
            }
            fields.values_mut().for_each(closed);
        }
        Value::Array(items) => items.iter_mut().for_each(closed),
        _ => {}
    }
}

fn problems(chart: &str, values: &Value) -> Vec<String> {
    let schema = schema(&root(chart));
    let problems = Validator::default().problems(&schema, values, None);
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn gitops_values_fit_the_charts() {
    let mut charts = 0;
    for overlay in OVERLAYS {
        for applied in site(overlay) {
            for release in &applied.objects {
                let spec = &release["spec"];
                let chart = text(&spec["chart"]["spec"]["chart"]);
                let Some(chart) = chart.strip_prefix("./") else {
                    continue;
                };
                let values = match &spec["values"] {
                    Value::Null => json!({}),
                    values => values.clone(),
                };
                assert_eq!(
                    problems(chart, &values),
                    [""; 0],
                    "{} of {chart}",
                    Id::of(release)
                );
                charts += 1;
            }
        }
    }
    assert!(charts > 0);
}

#[test]
fn gitops_values_that_a_chart_refuses_are_found() {
    let unknown = problems(
        "package/charts/c5c3-operator",
        &json!({ "replicaCount": 2 }),
    );
    assert!(unknown[0].starts_with("replicaCount: "), "{unknown:?}");
    let below = problems(
        "package/charts/c5c3-operators",
        &json!({ "crds": false, "keystone-operator": { "replicas": "two" } }),
    );
    assert!(
        below[0].starts_with("keystone-operator.replicas: "),
        "{below:?}"
    );
}
