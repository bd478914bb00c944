//! The Helm charts: one for each operator, alike but for name and role, whose templates are in a library, and one of the definitions.

#[cfg(test)]
mod alerts;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use provider_composer::{Access, Operator};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Files, custom_resources, read, yaml};

/// Where the charts are.
pub const FOLDER: &str = "package/charts";

/// What is written by hand in [`FOLDER`]: the templates that all charts share, and those of charts that no operator has.
const WRITTEN: [&str; 3] = [
    "package/charts/c5c3-library/templates",
    "package/charts/c5c3-crds/templates",
    "package/charts/labels-injector/templates",
];

/// What Helm writes into a chart's folder when it fetches the chart's dependencies.
pub const FETCHED: [&str; 2] = ["charts", "Chart.lock"];

/// The templates of an operator's chart: what they include is in the library.
const OPERATOR: [(&str, &str); 2] = [
    (
        "templates/operator.yaml",
        "{{- include \"c5c3.operator\" . }}\n",
    ),
    (
        "templates/NOTES.txt",
        "{{ include \"c5c3.operator.notes\" . }}\n",
    ),
];

/// The chart of templates.
const LIBRARY: &str = "c5c3-library";

/// The chart of definitions.
const DEFINITIONS: &str = "c5c3-crds";

/// The chart of all operators.
const UMBRELLA: &str = "c5c3-operators";

/// The labels injector's chart.
const INJECTOR: &str = "labels-injector";

/// A chart for each operator, that of all, that of their definitions, the labels injector's, and that of the templates.
pub fn charts(root: &Path) -> Result<Files> {
    let mut by_name: BTreeMap<&str, Vec<Box<dyn Operator>>> = BTreeMap::new();
    for operator in provider_operators::operators() {
        by_name.entry(operator.name()).or_default().push(operator);
    }
    let mut files = read(root, &WRITTEN)?;
    let mut add = |name: &str, chart: Files| {
        let folder = Path::new(FOLDER).join(name);
        files.extend(
            chart
                .into_iter()
                .map(|(path, text)| (folder.join(path), text)),
        );
    };
    let library = [dependency(LIBRARY)];
    let about_file = |about: String| Files::from([("Chart.yaml".into(), about)]);
    let description = "The templates that the charts of OpenStack control planes share.";
    add(LIBRARY, about_file(about(LIBRARY, description, &[])?));
    let description =
        "The definitions of what the operators of OpenStack control planes reconcile.";
    add(
        DEFINITIONS,
        about_file(about(DEFINITIONS, description, &library)?),
    );
    add(DEFINITIONS, values::files::<values::Definitions>()?);
    let definitions = c5c3_api::custom_resources();
    add(
        DEFINITIONS,
        custom_resources("definitions", &definitions, "providers/api")?,
    );
    let description = "Copies labels of nodes to the pods on them.";
    add(
        INJECTOR,
        about_file(about(INJECTOR, description, &library)?),
    );
    add(INJECTOR, values::files::<values::Injector>()?);
    let names: Vec<&str> = by_name.keys().copied().collect();
    add(UMBRELLA, umbrella(&names)?);
    for (name, operators) in by_name {
        add(name, chart(name, &operators)?);
    }
    Ok(files)
}

/// The chart of definitions and all operators, each of which can be left out.
fn umbrella(operators: &[&str]) -> Result<Files> {
    let mut dependencies = vec![dependency(LIBRARY), dependency(DEFINITIONS)];
    dependencies[1]["condition"] = json!("crds");
    for name in operators {
        let mut operator = dependency(name);
        operator["condition"] = json!(format!("operators.{}", values::short(name)));
        dependencies.push(operator);
    }
    let description =
        "The operators of OpenStack control planes, and the definitions of what they reconcile.";
    let notes = "The operators run in {{ .Release.Namespace }}:\n\n  kubectl get openstack --all-namespaces\n";
    let mut files = values::of_all(operators, DEFINITIONS)?;
    files.insert(
        "Chart.yaml".into(),
        about(UMBRELLA, description, &dependencies)?,
    );
    files.insert("templates/NOTES.txt".into(), notes.to_owned());
    Ok(files)
}

/// Another chart, as a chart's dependency. It is in the folder beside: Flux and Argo CD find it in the same repository, too.
fn dependency(name: &str) -> Value {
    json!({
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "repository": format!("file://../{name}"),
    })
}

/// A chart's Chart.yaml.
fn about(name: &str, description: &str, dependencies: &[Value]) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let kind = if name == LIBRARY {
        "library"
    } else {
        "application"
    };
    let mut about = json!({
        "apiVersion": "v2",
        "name": name,
        "description": description,
        "type": kind,
        "version": version,
        "appVersion": version,
        "kubeVersion": kubernetes(name),
    });
    if !dependencies.is_empty() {
        about["dependencies"] = json!(dependencies);
    }
    yaml(&about, "xtask/src/generate/charts.rs")
}

/// The versions of Kubernetes that a chart takes. Rules of OVNChassis call `isIP`, which API servers before 1.31 don't have: they would refuse
/// this definition when others are applied already.
fn kubernetes(chart: &str) -> &'static str {
    match chart {
        DEFINITIONS | UMBRELLA => ">=1.31.0-0",
        _ => ">=1.29.0-0",
    }
}

fn chart(name: &str, operators: &[Box<dyn Operator>]) -> Result<Files> {
    let description = format!("The {name} of OpenStack control planes.");
    let mut files: Files = OPERATOR
        .iter()
        .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
        .collect();
    let library = [dependency(LIBRARY)];
    files.insert("Chart.yaml".into(), about(name, &description, &library)?);
    files.extend(values::files::<values::Operator>()?);
    let source = "what the operator uses";
    for (path, namespaced) in [
        ("files/rules.yaml", true),
        ("files/cluster-rules.yaml", false),
    ] {
        let rules = rules(operators, namespaced);
        if !rules.is_empty() {
            files.insert(path.into(), yaml(&rules, source)?);
        }
    }
    let resources = yaml(&resources(operators), "what the operator reconciles")?;
    files.insert("files/resources.yaml".into(), resources);
    Ok(files)
}

/// A rule of a role (rbac.authorization.k8s.io/v1).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<&'static str>,
}

/// What an operator may do with kinds in namespaces, which a Role can grant, or with those of the cluster: what its composers use,
/// its own resources, and events. Events about cluster-scoped resources are in the namespace `default`.
fn rules(operators: &[Box<dyn Operator>], namespaced: bool) -> Vec<Rule> {
    let mut verbs: BTreeMap<(&str, String), BTreeSet<&'static str>> = BTreeMap::new();
    let mut allow = |group: &'static str, resource: String, allowed: &[&'static str]| {
        verbs.entry((group, resource)).or_default().extend(allowed);
    };
    let uses = operators.iter().flat_map(|operator| operator.uses());
    for used in uses.filter(|used| used.kind.namespaced == namespaced) {
        let resource = used.kind.plural.to_owned();
        allow(used.kind.group, resource.clone(), &["get", "list", "watch"]);
        match used.access {
            Access::Reads => {}
            Access::Labels => allow(used.kind.group, resource, &["patch"]),
            Access::Keeps => allow(used.kind.group, resource, &["create", "patch"]),
            Access::Composes => allow(used.kind.group, resource, &["create", "patch", "delete"]),
        }
    }
    let subjects = operators
        .iter()
        .map(|operator| (operator, operator.subject()));
    for (operator, kind) in subjects.filter(|(_, kind)| kind.namespaced == namespaced) {
        allow(
            kind.group,
            kind.plural.to_owned(),
            &["get", "list", "watch"],
        );
        allow(kind.group, format!("{}/status", kind.plural), &["patch"]);
        // What ownerReferences that block deletion need where the API server asks for it.
        allow(
            kind.group,
            format!("{}/finalizers", kind.plural),
            &["update"],
        );
        if operator.deletion().needs_finalizer() {
            // For the finalizer.
            allow(kind.group, kind.plural.to_owned(), &["patch"]);
        }
        allow("events.k8s.io", "events".to_owned(), &["create", "patch"]);
    }

    let mut grouped: BTreeMap<(&str, BTreeSet<&'static str>), Vec<String>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        grouped.entry((group, verbs)).or_default().push(resource);
    }
    grouped
        .into_iter()
        .map(|((group, verbs), resources)| Rule {
            api_groups: vec![group.to_owned()],
            resources,
            verbs: verbs.into_iter().collect(),
        })
        .collect()
}

/// What an operator reconciles: resources by group.
fn resources(operators: &[Box<dyn Operator>]) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut by_group: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for operator in operators {
        let kind = operator.subject();
        by_group.entry(kind.group).or_default().insert(kind.plural);
    }
    by_group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_of_definitions_takes_no_kubernetes_that_refuses_one() {
        for (name, version) in [
            (DEFINITIONS, ">=1.31.0-0"),
            (UMBRELLA, ">=1.31.0-0"),
            ("keystone-operator", ">=1.29.0-0"),
        ] {
            let about = about(name, "A chart.", &[]).unwrap();
            let about: Value = serde_saphyr::from_str(&about).unwrap();
            assert_eq!(about["kubeVersion"], json!(version), "{name}");
        }
    }

    #[test]
    fn charts_of_one_release_have_names_of_their_own_however_long_its_name_is() {
        let template = include_str!("../../../package/charts/c5c3-library/templates/_names.tpl");
        assert!(template.contains("{{- else if gt (len .Release.Name) 47 -}}"));
        assert!(template.contains("{{ printf \"%s-%s\" .Release.Name .Chart.Name | trunc 50 "));
        let operators = provider_operators::operators();
        let names: BTreeSet<&str> = operators.iter().map(|operator| operator.name()).collect();
        let room = 50 - 47 - "-".len();
        let beginnings: BTreeSet<&str> = names.iter().filter_map(|name| name.get(..room)).collect();
        assert_eq!(beginnings.len(), names.len(), "{beginnings:?}");
    }

    #[test]
    fn chart_of_all_operators_depends_on_every_other_and_knows_its_values() {
        let names = [
            "keystone-operator",
            "hypervisor-pool-operator",
            "kubeconfig-operator",
        ];
        let files = umbrella(&names).unwrap();
        let read =
            |path: &str| -> Value { serde_saphyr::from_str(&files[Path::new(path)]).unwrap() };
        let about = read("Chart.yaml");
        let dependencies = about["dependencies"].as_array().unwrap();
        let conditions: Vec<_> = dependencies
            .iter()
            .map(|dependency| {
                (
                    dependency["name"].as_str(),
                    dependency["condition"].as_str(),
                )
            })
            .collect();
        assert_eq!(
            conditions,
            [
                (Some("c5c3-library"), None),
                (Some("c5c3-crds"), Some("crds")),
                (Some("keystone-operator"), Some("operators.keystone")),
                (
                    Some("hypervisor-pool-operator"),
                    Some("operators.hypervisor-pool")
                ),
                (Some("kubeconfig-operator"), Some("operators.kubeconfig")),
            ]
        );
        assert_eq!(
            read("values.yaml"),
            json!({
                "crds": true,
                "operators": {"keystone": true, "hypervisor-pool": false, "kubeconfig": false},
            })
        );
        let schema = read("values.schema.json");
        assert_eq!(schema["additionalProperties"], json!(false));
        assert_eq!(
            schema["properties"]["operators"]["additionalProperties"],
            json!(false)
        );
        assert!(schema["properties"]["keystone-operator"].is_object());
    }
}
