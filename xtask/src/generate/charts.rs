//! The Helm charts: one for each operator, alike but for name, role and definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use provider_composer::{Access, Operator, ResourceKind};
use serde::Serialize;
use serde_json::json;

use super::{Files, yaml};

/// Where the charts are.
pub const FOLDER: &str = "package/charts";

/// What all charts have, by its path in them.
const COMMON: [(&str, &str); 5] = [
    (
        "templates/_names.tpl",
        include_str!("chart/templates/_names.tpl"),
    ),
    (
        "templates/availability.yaml",
        include_str!("chart/templates/availability.yaml"),
    ),
    (
        "templates/deployment.yaml",
        include_str!("chart/templates/deployment.yaml"),
    ),
    (
        "templates/monitoring.yaml",
        include_str!("chart/templates/monitoring.yaml"),
    ),
    (
        "templates/network.yaml",
        include_str!("chart/templates/network.yaml"),
    ),
];

/// What the operators' charts have besides.
const OPERATOR: [(&str, &str); 5] = [
    ("values.yaml", include_str!("chart/operator/values.yaml")),
    (
        "templates/_task.tpl",
        include_str!("chart/operator/_task.tpl"),
    ),
    (
        "templates/NOTES.txt",
        include_str!("chart/operator/NOTES.txt"),
    ),
    (
        "templates/access.yaml",
        include_str!("chart/operator/access.yaml"),
    ),
    (
        "templates/definitions.yaml",
        include_str!("chart/operator/definitions.yaml"),
    ),
];

/// What the labels injector's chart has besides.
const INJECTOR: [(&str, &str); 5] = [
    ("values.yaml", include_str!("chart/injector/values.yaml")),
    (
        "templates/_task.tpl",
        include_str!("chart/injector/_task.tpl"),
    ),
    (
        "templates/NOTES.txt",
        include_str!("chart/injector/NOTES.txt"),
    ),
    (
        "templates/access.yaml",
        include_str!("chart/injector/access.yaml"),
    ),
    (
        "templates/webhook.yaml",
        include_str!("chart/injector/webhook.yaml"),
    ),
];

/// A chart for each operator, and the labels injector's.
pub fn charts(_: &Path) -> Result<Files> {
    let mut by_name: BTreeMap<&str, Vec<Box<dyn Operator>>> = BTreeMap::new();
    for operator in provider_operators::operators() {
        by_name.entry(operator.name()).or_default().push(operator);
    }
    let mut files = Files::new();
    for (name, operators) in by_name {
        let folder = Path::new(FOLDER).join(name);
        for (path, text) in chart(name, &operators)? {
            files.insert(folder.join(path), text);
        }
    }
    let folder = Path::new(FOLDER).join("labels-injector");
    let description = "Copies labels of nodes to the pods on them.";
    for (path, text) in frame("labels-injector", description, &INJECTOR)? {
        files.insert(folder.join(path), text);
    }
    Ok(files)
}

/// A chart as far as it is text.
fn frame(name: &str, description: &str, own: &[(&str, &str)]) -> Result<Files> {
    let mut files: Files = COMMON
        .iter()
        .chain(own)
        .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
        .collect();
    let about = json!({
        "apiVersion": "v2",
        "name": name,
        "description": description,
        "type": "application",
        "version": env!("CARGO_PKG_VERSION"),
        "appVersion": env!("CARGO_PKG_VERSION"),
        "kubeVersion": ">=1.29.0-0",
    });
    let source = "xtask/src/generate/charts.rs";
    files.insert("Chart.yaml".into(), yaml(&about, source)?);
    Ok(files)
}

fn chart(name: &str, operators: &[Box<dyn Operator>]) -> Result<Files> {
    let subjects: BTreeSet<ResourceKind> = operators
        .iter()
        .map(|operator| operator.subject())
        .collect();
    let description = format!("The {name} of OpenStack control planes.");
    let mut files = frame(name, &description, &OPERATOR)?;
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
    files.insert(
        "files/view.yaml".into(),
        yaml(&users(&subjects, &["get", "list", "watch"]), source)?,
    );
    files.insert(
        "files/edit.yaml".into(),
        yaml(
            &users(
                &subjects,
                &["create", "delete", "deletecollection", "patch", "update"],
            ),
            source,
        )?,
    );
    for definition in c5c3_api::custom_resources() {
        let names = (
            &definition["spec"]["group"],
            &definition["spec"]["names"]["kind"],
        );
        if subjects
            .iter()
            .any(|kind| names.0 == kind.group && names.1 == kind.kind)
        {
            let path = format!(
                "crds/{}.yaml",
                definition["metadata"]["name"].as_str().unwrap_or_default()
            );
            files.insert(path.into(), yaml(&definition, "providers/api")?);
        }
    }
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
        if operator.ordered_deletion() {
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

/// What users of the operator's resources may do.
fn users(subjects: &BTreeSet<ResourceKind>, verbs: &[&'static str]) -> Vec<Rule> {
    let mut by_group: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for kind in subjects {
        by_group
            .entry(kind.group)
            .or_default()
            .push(kind.plural.to_owned());
    }
    by_group
        .into_iter()
        .map(|(group, resources)| Rule {
            api_groups: vec![group.to_owned()],
            resources,
            verbs: verbs.to_vec(),
        })
        .collect()
}
