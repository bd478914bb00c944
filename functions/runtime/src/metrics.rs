//! What is counted.

use std::sync::atomic::AtomicI64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Fatal,
    Panic,
}

impl Outcome {
    fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fatal => "fatal",
            Self::Panic => "panic",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    version: &'static str,
    outcome: &'static str,
}

/// Counts calls.
#[derive(Clone)]
pub(crate) struct Metrics {
    calls: Family<CallLabels, Counter>,
    duration: Histogram,
    request: Histogram,
    response: Histogram,
    in_flight: Gauge<i64, AtomicI64>,
}

/// One call being answered, until it is dropped.
pub(crate) struct InFlight(Gauge<i64, AtomicI64>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Registers everything that is counted.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let sizes = || Histogram::new(exponential_buckets(1024.0, 4.0, 9));
        let metrics = Self {
            calls: Family::default(),
            duration: Histogram::new(exponential_buckets(0.000_1, 2.0, 16)),
            request: sizes(),
            response: sizes(),
            in_flight: Gauge::default(),
        };
        let registry = registry.sub_registry_with_prefix("function");
        registry.register(
            "calls",
            "Calls answered, by protocol version and outcome",
            metrics.calls.clone(),
        );
        let duration = metrics.duration.clone();
        registry.register_with_unit(
            "call_duration",
            "Time from request to response",
            Unit::Seconds,
            duration,
        );
        registry.register_with_unit(
            "request_size",
            "Size of requests",
            Unit::Bytes,
            metrics.request.clone(),
        );
        registry.register_with_unit(
            "response_size",
            "Size of responses",
            Unit::Bytes,
            metrics.response.clone(),
        );
        registry.register(
            "calls_in_flight",
            "Calls being answered now",
            metrics.in_flight.clone(),
        );
        metrics
    }

    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(crate) fn record(
        &self,
        version: &'static str,
        outcome: Outcome,
        took: Duration,
        request_bytes: usize,
        response_bytes: usize,
    ) {
        self.calls
            .get_or_create(&CallLabels {
                version,
                outcome: outcome.label(),
            })
            .inc();
        self.duration.observe(took.as_secs_f64());
        self.request.observe(request_bytes as f64);
        self.response.observe(response_bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prometheus_client::encoding::text::encode;

    use super::*;

    const DASHBOARD: &str = include_str!("../../../package/grafana/c5c3.json");

    #[test]
    fn metrics_that_the_dashboard_names_exist() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        metrics.record("v1", Outcome::Ok, Duration::from_millis(1), 1, 1);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let exported: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let named: BTreeSet<&str> = DASHBOARD
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.starts_with("function_"))
            .collect();
        assert!(!named.is_empty());
        for metric in named {
            assert!(exported.contains(metric), "{metric} isn't in {exported:?}");
        }
    }
}
