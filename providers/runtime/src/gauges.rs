//! The gauges of subjects, which composers add to the desired state, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use provider_composer::{Gauge, Metric};

use crate::cache::{Id, Place};
use crate::lease_guard::LeaseGuard;

/// The label with namespace and name of the subject. Prometheus adds the operator's own as `namespace`.
const RESOURCE: &str = "resource";

/// The gauges of all subjects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges(Arc<Mutex<BTreeMap<Id, Observed>>>);

/// The gauges of one subject, and what says whether this replica still reconciles it.
#[derive(Debug)]
struct Observed {
    guard: LeaseGuard,
    gauges: Vec<Gauge>,
}

impl Gauges {
    /// Replaces the gauges of a subject.
    pub(crate) fn set(&self, id: &Id, guard: &LeaseGuard, gauges: Vec<Gauge>) {
        let mut subjects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if gauges.is_empty() {
            subjects.remove(id);
            return;
        }
        let guard = guard.clone();
        subjects.insert(id.clone(), Observed { guard, gauges });
    }
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let subjects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut families: BTreeMap<Metric, Vec<(&Place, &Gauge)>> = BTreeMap::new();
        for (id, observed) in subjects.iter() {
            if observed.guard.is_valid() {
                for gauge in &observed.gauges {
                    let family = families.entry(gauge.metric).or_default();
                    family.push((&id.place, gauge));
                }
            }
        }
        for (Metric { name, help }, gauges) in families {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (place, gauge) in gauges {
                let mut labels = vec![(RESOURCE, place.to_string())];
                labels.extend_from_slice(&gauge.labels);
                family.encode_family(&labels)?.encode_gauge(&gauge.value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    const LAG: Metric = Metric {
        name: "ovn_northd_lag",
        help: "Changes that are late.",
    };
    const LEADER: Metric = Metric {
        name: "ovn_database_member_leader",
        help: "Whether it leads.",
    };

    fn id(name: &str) -> Id {
        Id {
            operator: 0,
            place: Place::new("openstack", name),
        }
    }

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }

    #[test]
    fn gauges_of_all_subjects_are_exported_by_name() {
        let mut registry = Registry::default();
        let gauges = Gauges::default();
        registry.register_collector(Box::new(gauges.clone()));
        assert_eq!(text(&registry), "# EOF\n");
        let guard = LeaseGuard::forever();
        let member = [("database", "OVN_Southbound"), ("member", "sb-0")];
        let first = vec![Gauge::new(LAG, &[], 2), Gauge::new(LEADER, &member, 1)];
        gauges.set(&id("first"), &guard, first);
        gauges.set(&id("second"), &guard, vec![Gauge::new(LAG, &[], 0)]);
        assert_eq!(
            text(&registry),
            "# HELP ovn_database_member_leader Whether it leads.\n\
             # TYPE ovn_database_member_leader gauge\n\
             ovn_database_member_leader{resource=\"openstack/first\",database=\"OVN_Southbound\",member=\"sb-0\"} 1\n\
             # HELP ovn_northd_lag Changes that are late.\n\
             # TYPE ovn_northd_lag gauge\n\
             ovn_northd_lag{resource=\"openstack/first\"} 2\n\
             ovn_northd_lag{resource=\"openstack/second\"} 0\n\
             # EOF\n"
        );
        gauges.set(&id("first"), &guard, Vec::new());
        assert_eq!(
            text(&registry),
            "# HELP ovn_northd_lag Changes that are late.\n\
             # TYPE ovn_northd_lag gauge\n\
             ovn_northd_lag{resource=\"openstack/second\"} 0\n\
             # EOF\n"
        );
    }

    #[test]
    fn gauges_of_a_subject_that_another_replica_reconciles_are_not_exported() {
        let mut registry = Registry::default();
        let gauges = Gauges::default();
        registry.register_collector(Box::new(gauges.clone()));
        let others = LeaseGuard::default();
        gauges.set(&id("first"), &others, vec![Gauge::new(LAG, &[], 2)]);
        assert_eq!(text(&registry), "# EOF\n");
    }
}
