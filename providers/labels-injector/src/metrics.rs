//! What is counted.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// What found a pod to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Source {
    /// The webhook, while the pod was bound.
    Webhook,
    /// The controller, later.
    Controller,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Patch {
    source: Source,
    succeeded: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// The counters.
#[derive(Clone, Default)]
pub struct Metrics {
    patches: Family<Patch, Counter>,
    watch_failures: Family<Kind, Counter>,
}

impl Metrics {
    /// Registers the counters.
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Changes of pods' labels";
        registry.register("labels_injector_patches", help, metrics.patches.clone());
        let (name, help) = ("labels_injector_watch_failures", "Failed lists and watches");
        registry.register(name, help, metrics.watch_failures.clone());
        metrics
    }

    /// Counts a change.
    pub fn count(&self, source: Source, succeeded: bool) {
        let succeeded = succeeded.to_string();
        let patch = Patch { source, succeeded };
        self.patches.get_or_create(&patch).inc();
    }

    /// Counts a list or a watch that failed.
    pub fn watch_failed(&self, kind: &'static str) {
        self.watch_failures.get_or_create(&Kind { kind }).inc();
    }

    /// How many lists and watches of a kind have failed.
    #[cfg(test)]
    pub fn watch_failures(&self, kind: &'static str) -> u64 {
        self.watch_failures.get_or_create(&Kind { kind }).get()
    }

    /// How many changes of a source have failed.
    #[cfg(test)]
    pub fn failures(&self, source: Source) -> u64 {
        let succeeded = false.to_string();
        let patch = Patch { source, succeeded };
        self.patches.get_or_create(&patch).get()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prometheus_client::encoding::text::encode;

    use super::*;

    const ALERTS: &str =
        include_str!("../../../package/charts/labels-injector/templates/_task.tpl");
    const DASHBOARD: &str = include_str!("../../../package/grafana/c5c3.json");

    #[test]
    fn metrics_that_alerts_and_the_dashboard_name_exist() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        metrics.count(Source::Webhook, false);
        metrics.watch_failed("nodes");
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let exported: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let named: BTreeSet<&str> = [ALERTS, DASHBOARD]
            .into_iter()
            .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
            .filter(|word| word.starts_with("labels_injector_"))
            .collect();
        assert!(!named.is_empty());
        for metric in named {
            assert!(exported.contains(metric), "{metric} isn't in {exported:?}");
        }
    }
}
