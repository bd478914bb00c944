//! What is counted.

use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::gauges::Gauges;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operator {
    operator: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    operator: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// Buckets for the seconds that a reconcile works: finer around its limit.
const WORK: [f64; 12] = [
    0.001, 0.002, 0.004, 0.008, 0.016, 0.024, 0.032, 0.04, 0.05, 0.1, 0.25, 1.0,
];

/// Counts reconciles and calls of the API server.
#[derive(Clone)]
pub(crate) struct Metrics {
    reconciles: Family<Operator, Counter>,
    errors: Family<Reason, Counter>,
    duration: Histogram,
    processor: Histogram,
    calls: Family<Verb, Counter>,
    queued: Gauge<i64, AtomicI64>,
    leading: Family<Operator, Gauge<i64, AtomicI64>>,
    unknown: Family<Kind, Gauge<i64, AtomicI64>>,
    pub(crate) gauges: Gauges,
}

impl Metrics {
    /// Registers everything that is counted.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            duration: Histogram::new(exponential_buckets(0.000_5, 2.0, 16)),
            processor: Histogram::new(WORK),
            calls: Family::default(),
            queued: Gauge::default(),
            leading: Family::default(),
            unknown: Family::default(),
            gauges: Gauges::default(),
        };
        let Self {
            reconciles,
            errors,
            duration,
            processor,
            calls,
            queued,
            leading,
            unknown,
            gauges,
        } = metrics.clone();
        registry.register_collector(Box::new(gauges));
        let registry = registry.sub_registry_with_prefix("operator");
        registry.register("reconciles", "Reconciles, by operator", reconciles);
        registry.register("errors", "Reconciles that failed, by reason", errors);
        let help = "Duration of a reconcile";
        registry.register_with_unit("reconcile_duration", help, Unit::Seconds, duration);
        let help = "Processor time of a reconcile, without connections and watches";
        registry.register_with_unit("reconcile_processor", help, Unit::Seconds, processor);
        registry.register("api_calls", "Calls of the API server, by verb", calls);
        registry.register("queued", "Resources that wait to be reconciled", queued);
        let help = "Whether this replica leads, by operator";
        registry.register("leading", help, leading);
        let help = "1 while a kind can't be read, by kind";
        registry.register("unknown", help, unknown);
        metrics
    }

    /// Records a reconcile: its duration, and the processor time that it took.
    pub(crate) fn reconciled(&self, operator: &'static str, took: Duration, worked: Duration) {
        self.reconciles.get_or_create(&Operator { operator }).inc();
        self.duration.observe(took.as_secs_f64());
        self.processor.observe(worked.as_secs_f64());
    }

    pub(crate) fn failed(&self, operator: &'static str, reason: &'static str) {
        self.errors
            .get_or_create(&Reason { operator, reason })
            .inc();
    }

    pub(crate) fn called(&self, verb: &'static str) {
        self.calls.get_or_create(&Verb { verb }).inc();
    }

    /// Sets how many resources are due now.
    pub(crate) fn queued(&self, depth: usize) {
        self.queued.set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// Sets whether this replica leads each operator now.
    pub(crate) fn leading(&self, operators: impl Iterator<Item = (&'static str, bool)>) {
        for (operator, leads) in operators {
            let leading = self.leading.get_or_create(&Operator { operator });
            leading.set(leads.into());
        }
    }

    /// Sets the kinds that can't be read now.
    pub(crate) fn unknown(&self, kinds: impl Iterator<Item = &'static str>) {
        self.unknown.clear();
        for kind in kinds {
            self.unknown.get_or_create(&Kind { kind }).set(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prometheus_client::encoding::text::encode;

    use super::*;

    const ALERTS: &str = include_str!("../../../package/charts/c5c3-library/templates/_alerts.tpl");
    const DASHBOARD: &str = include_str!("../../../package/grafana/c5c3.json");

    /// Everything that there is, once each was counted.
    fn exported() -> String {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        metrics.reconciled(
            "keystone-operator",
            Duration::from_secs(1),
            Duration::from_millis(1),
        );
        metrics.failed("keystone-operator", "NotApplied");
        metrics.called("apply");
        metrics.leading([("keystone-operator", true)].into_iter());
        metrics.unknown(["Secret"].into_iter());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn metrics_that_alerts_and_the_dashboard_name_exist() {
        let text = exported();
        let exported: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let named: BTreeSet<&str> = [ALERTS, DASHBOARD]
            .into_iter()
            .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
            .filter(|word| word.starts_with("operator_"))
            .collect();
        assert!(!named.is_empty());
        for metric in named {
            assert!(exported.contains(metric), "{metric} isn't in {exported:?}");
        }
    }

    /// Within a bucket, Prometheus guesses: an alert on eight seconds fired at 4.1.
    #[test]
    fn alert_on_slow_reconciles_has_the_limit_of_a_bucket() {
        let metric = "operator_reconcile_duration_seconds_bucket{";
        let mut expressions = ALERTS.lines().filter(|line| line.contains(metric));
        let expression = expressions.next().unwrap();
        let (_, limit) = expression.rsplit_once("> ").unwrap();
        let bucket = format!("{metric}le=\"{limit}\"}}");
        assert!(exported().contains(&bucket), "{bucket}");
    }
}
