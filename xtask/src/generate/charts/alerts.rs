//! What the charts' alerts and the dashboard must have. That their metrics exist is tested where these are registered.

use std::collections::BTreeSet;

use c5c3_api::shoot_kubeconfig::ShootKubeconfigSpec;
use provider_composer::ResourceKind;
use provider_openstack::graph::MARIADB;
use serde_json::Value;

/// The templates with alerts.
const TEMPLATES: [&str; 2] = [
    include_str!("../../../../package/charts/c5c3-library/templates/_alerts.tpl"),
    include_str!("../../../../package/charts/labels-injector/templates/_task.tpl"),
];

/// The page of runbooks.
const RUNBOOKS: &str = include_str!("../../../../docs/alerts.md");

/// The dashboard.
const DASHBOARD: &str = include_str!("../../../../package/grafana/c5c3.json");

/// What the names of the project's metrics begin with. The crates that register metrics of these test that all others exist.
const PREFIXES: [&str; 5] = [
    "operator_",
    "function_",
    "labels_injector_",
    "ovn_",
    "shoot_",
];

/// Each alert's name, and the lines of its rule.
fn alerts() -> Vec<(&'static str, Vec<&'static str>)> {
    let rules = TEMPLATES
        .into_iter()
        .flat_map(|template| template.split("\n- alert: ").skip(1));
    rules
        .map(|rule| {
            let rule = rule.split("\n{{- end }}").next().unwrap();
            let mut lines = rule.lines().map(str::trim);
            (lines.next().unwrap(), lines.collect())
        })
        .collect()
}

/// The value of a field in the lines of a rule.
fn field<'a>(lines: &[&'a str], name: &str) -> Option<&'a str> {
    let prefix = format!("{name}: ");
    lines
        .iter()
        .copied()
        .find_map(|line| line.strip_prefix(&prefix))
}

/// The names before the selectors of an expression.
fn metrics<'a>(expression: &'a str, selector: &str) -> Vec<&'a str> {
    let parts: Vec<&str> = expression.split(selector).collect();
    let before_selectors = parts.iter().copied().take(parts.len() - 1);
    before_selectors
        .map(|part| {
            let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            part.rsplit(is_other).next().unwrap()
        })
        .collect()
}

#[test]
fn alerts_have_a_runbook_and_runbooks_an_alert() {
    let mut named = BTreeSet::new();
    for (name, lines) in alerts() {
        named.insert(name);
        let anchor = format!("{{{{ $runbooks }}}}#{}", name.to_lowercase());
        assert_eq!(
            field(&lines, "runbook_url"),
            Some(anchor.as_str()),
            "{name}"
        );
        for wanted in ["for", "severity", "summary"] {
            assert!(field(&lines, wanted).is_some(), "{name} has no {wanted}");
        }
    }
    assert_eq!(named.len(), alerts().len(), "two alerts have one name");
    let mut described = BTreeSet::new();
    for section in RUNBOOKS.split("\n## ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        described.insert(name);
        for part in ["Meaning", "Impact", "Diagnosis", "Mitigation"] {
            assert!(
                text.contains(&format!("\n**{part}.** ")),
                "{name} has no {part}"
            );
        }
    }
    assert_eq!(named, described);
}

#[test]
fn alerts_are_of_the_projects_metrics_and_of_the_releases_pods() {
    for (name, lines) in alerts() {
        let expression = field(&lines, "expr").unwrap();
        let metrics = metrics(expression, "{{ $");
        assert!(!metrics.is_empty(), "{name}");
        for metric in metrics {
            let is_known = PREFIXES.iter().any(|prefix| metric.starts_with(prefix));
            let is_kubelets = metric.starts_with("kubelet_volume_stats_");
            assert!(
                metric == "up" || is_kubelets || is_known,
                "{name} is of {metric}"
            );
        }
    }
}

#[test]
fn alert_of_kubeconfigs_is_in_their_operators_chart() {
    let kind = ResourceKind::of::<ShootKubeconfigSpec>();
    let operators = provider_operators::operators();
    let mut names = operators
        .iter()
        .filter(|operator| operator.subject() == kind)
        .map(|operator| operator.name());
    let condition = format!(
        "\n{{{{- if eq .Chart.Name \"{}\" }}}}\n- alert: C5C3KubeconfigNotRenewed\n",
        names.next().unwrap()
    );
    assert_eq!(TEMPLATES[0].matches(&condition).count(), 1, "{condition}");
}

/// mariadb-operator doesn't report a volume that is full (its api/v1alpha1/condition_types.go).
#[test]
fn alert_of_databases_is_in_the_chart_of_their_operator_and_of_the_volumes_of_mariadb() {
    let condition =
        "\n{{- if eq .Chart.Name \"c5c3-operator\" }}\n- alert: C5C3DatabaseNearlyFull\n";
    assert_eq!(TEMPLATES[0].matches(condition).count(), 1);
    let volumes = format!(
        "{{{{- $volumes := \"{{persistentvolumeclaim=~\\\"storage-{MARIADB}-[0-9]+\\\"}}\" }}}}\n"
    );
    assert_eq!(TEMPLATES[0].matches(&volumes).count(), 1, "{volumes}");
}

#[test]
fn dashboard_is_of_the_projects_metrics() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let identifiers: BTreeSet<u64> = panels
        .iter()
        .filter_map(|panel| panel["id"].as_u64())
        .collect();
    assert_eq!(identifiers.len(), panels.len(), "two panels have one id");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let mut expressions = 0;
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        let metrics = metrics(expression, "{");
        assert!(!metrics.is_empty(), "{expression}");
        for metric in metrics {
            let is_known = PREFIXES.iter().any(|prefix| metric.starts_with(prefix));
            assert!(is_known, "{expression}");
        }
        expressions += 1;
    }
    assert!(expressions > 10, "{expressions}");
}
