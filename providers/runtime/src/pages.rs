//! The pages of health and metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use c5c3_process::Answer;
use prometheus_client::registry::Registry;

use crate::cache::Cache;
use crate::lease_guard::LeaseGuard;
use crate::metrics::Metrics;

/// What the pages are of.
pub(crate) struct Pages {
    pub cache: Arc<Cache>,
    /// The guard of each operator.
    pub guards: BTreeMap<&'static str, LeaseGuard>,
    pub metrics: Metrics,
    pub registry: Registry,
}

impl Pages {
    /// Returns a page. A replica is ready whether it leads or not. One that can't read a kind is alive, since a restart would change
    /// nothing, but not ready.
    pub(crate) fn page(&self, path: &str) -> Answer {
        match path {
            "/healthz" => Answer::Text("ok\n".to_owned()),
            "/readyz" => match self.cache.unknown() {
                kinds if kinds.is_empty() => Answer::Text("ok\n".to_owned()),
                kinds => {
                    let lines = kinds
                        .iter()
                        .map(|(kind, state)| format!("{kind}: {}\n", state.why()));
                    Answer::Unavailable(lines.collect())
                }
            },
            "/metrics" => {
                let unknown = self.cache.unknown();
                self.metrics
                    .unknown(unknown.iter().map(|(kind, _)| kind.kind));
                self.metrics.queued(self.cache.queue().depth());
                let guards = self.guards.iter();
                self.metrics
                    .leading(guards.map(|(operator, guard)| (*operator, guard.is_valid())));
                c5c3_process::metrics(&self.registry)
            }
            _ => Answer::NotFound,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cache::{Id, Place};
    use crate::lease_guard::Until;
    use crate::testing::things;

    fn pages(guard: LeaseGuard) -> Pages {
        let mut registry = Registry::default();
        Pages {
            cache: Arc::new(Cache::new(&things(), &[])),
            guards: BTreeMap::from([("things", guard)]),
            metrics: Metrics::new(&mut registry),
            registry,
        }
    }

    impl Pages {
        fn has_metric(&self, metric: &str) -> bool {
            let Answer::Metrics(text) = self.page("/metrics") else {
                return false;
            };
            text.contains(&format!("\n{metric}\n"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn resources_that_wait_are_counted_when_metrics_are_read() {
        let pages = pages(LeaseGuard::forever());
        assert!(pages.has_metric("operator_queued 0"));
        pages.cache.queue().wake(&Id {
            operator: 0,
            place: Place::new("default", "thing"),
        });
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(pages.has_metric("operator_queued 1"), "no worker took it");
        assert!(pages.cache.queue().next().await.is_some());
        assert!(pages.has_metric("operator_queued 0"));
    }

    /// C5C3OperatorWithoutLeader needs a value of replicas that don't lead, too.
    #[test]
    fn leadership_of_each_operator_is_exported_as_it_is_when_metrics_are_read() {
        let guard = LeaseGuard::default();
        let pages = pages(guard.clone());
        assert!(pages.has_metric("operator_leading{operator=\"things\"} 0"));
        guard.set(Until::Ever);
        assert!(pages.has_metric("operator_leading{operator=\"things\"} 1"));
        guard.set(Until::Nobody);
        assert!(pages.has_metric("operator_leading{operator=\"things\"} 0"));
    }
}
