//! The rules themselves.

use std::collections::BTreeSet;

use c5c3_admission::{Program, Validator};
use c5c3_api::openstack_cluster::RESERVED_NAMES;
use serde_json::{Value, json};

use crate::schemas::schemas;

fn rules(schema: &Value, found: &mut BTreeSet<(String, String)>) {
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = |key: &str| rule[key].as_str().unwrap().to_owned();
        found.insert((text("rule"), text("message")));
    }
    for (_, property) in schema["properties"].as_object().into_iter().flatten() {
        rules(property, found);
    }
    for within in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(within) {
            rules(schema, found);
        }
    }
}

fn all_rules() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (_, schema) in schemas() {
        rules(&schema, &mut found);
    }
    found
}

#[test]
fn rules_compile_and_say_what_to_do() {
    let rules = all_rules();
    assert!(rules.len() >= 50, "only {} rules", rules.len());
    for (expression, message) in rules {
        assert!(Program::new(&expression).is_some(), "{expression}");
        assert!(message.contains(": "), "{message:?} doesn't say what to do");
        assert!(
            !message.ends_with('.') && !message.contains('\n'),
            "{message:?}"
        );
        assert!(message.len() < 200, "{message:?} is long");
    }
}

#[test]
fn reserved_names_are_those_of_the_rule() {
    let names = format!("{RESERVED_NAMES:?}").replace('"', "'");
    let mut rules = all_rules().into_iter();
    assert!(
        rules.any(|(expression, _)| expression.contains(&names)),
        "{names}"
    );
}

/// A rule that nothing was ever refused by may as well not be there.
#[test]
fn every_rule_has_a_refused_document() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/refused");
    let texts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .filter_map(|text| Some(text.lines().next()?.strip_prefix("# refused: ")?.to_owned()))
        .collect();
    for (_, message) in all_rules() {
        assert!(
            texts.iter().any(|text| message.contains(text.as_str())),
            "nothing is refused by {message:?}"
        );
    }
}

/// The API server checks rules again whenever a resource is written, its status included.
#[test]
fn clusters_that_break_the_rules_of_ranges_can_be_written_but_not_grow() {
    let cluster = |workers: u32, version: &str| {
        json!({
            "region": "eu-de-1",
            "name": "pool-a",
            "workers": workers,
            "maxWorkers": workers,
            "kubernetesVersion": version,
            "network": {"nodes": "10.0.0.0/28", "pods": "10.0.0.0/26", "services": "240.0.0.0/20"},
        })
    };
    let stored = cluster(100, "1.34");
    let mut checked = 0;
    for (name, schema) in schemas() {
        let spec = &schema["properties"]["spec"];
        if spec["properties"]["network"]["properties"]["nodes"].is_null() {
            continue;
        }
        let problems = |new: &Value, old: Option<&Value>| {
            let of_kind = |value: &Value| -> Value {
                let fields = value.as_object().unwrap().iter();
                let fields = fields.filter(|(name, _)| spec["properties"].get(name).is_some());
                fields
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect()
            };
            let old = old.map(of_kind);
            let problems = Validator::default().problems(spec, &of_kind(new), old.as_ref());
            problems
                .into_iter()
                .map(|problem| problem.message)
                .filter(|message| message.contains("range"))
                .collect::<Vec<_>>()
        };
        assert_eq!(problems(&stored, None).len(), 3, "{name}");
        assert_eq!(problems(&stored, Some(&stored)), [""; 0], "{name}");
        let upgraded = cluster(100, "1.35");
        assert_eq!(problems(&upgraded, Some(&stored)), [""; 0], "{name}");
        let smaller = cluster(90, "1.34");
        assert_eq!(problems(&smaller, Some(&stored)), [""; 0], "{name}");
        let larger = cluster(101, "1.34");
        assert_eq!(problems(&larger, Some(&stored)).len(), 2, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 6, "three kinds in two generations");
}

/// The rule is younger than such pools may be.
#[test]
fn labels_that_count_for_leases_stay_where_a_pool_has_them() {
    let mut checked = 0;
    for (name, schema) in schemas() {
        let labels = &schema["properties"]["spec"]["properties"]["labels"];
        let is_refused = |new: &Value, old: Option<&Value>| {
            let problems = Validator::default().problems(labels, new, old);
            let mut messages = problems.into_iter().map(|problem| problem.message);
            messages.any(|message| message.contains("count as leased"))
        };
        let of = |label: &str| json!({ label: "a" });
        let maintenance = of("maintenance");
        if !is_refused(&maintenance, None) {
            continue;
        }
        assert!(is_refused(&maintenance, Some(&of("tier"))), "{name}");
        assert!(!is_refused(&maintenance, Some(&maintenance)), "{name}");
        assert!(!is_refused(&of("tier"), None), "{name}");
        checked += 1;
    }
    assert_eq!(checked, 2, "one kind in two generations");
}

/// The API server checks a schema's default against its rules as it stands, before the fields within get theirs, and
/// refuses the whole definition where one fails.
#[test]
fn defaults_keep_the_rules() {
    fn check(schema: &Value, defaults: &mut usize) {
        if let Some(default) = schema.get("default") {
            let problems = Validator::default().problems(schema, default, None);
            assert_eq!(problems, Vec::new(), "{default}");
            *defaults += 1;
        }
        schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(_, property)| check(property, defaults));
    }
    let mut defaults = 0;
    for (_, schema) in schemas() {
        check(&schema, &mut defaults);
    }
    assert!(defaults > 200, "only {defaults} defaults");
}
