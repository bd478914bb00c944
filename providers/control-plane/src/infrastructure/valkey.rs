//! Valkey, by SAP's valkey-operator.

use std::collections::BTreeMap;

use c5c3_kinds::valkey::{Enabled, Metrics, Valkey, ValkeySpec};
use k8s_openapi::api::core::v1::Affinity;
use provider_composer::DesiredState;

use super::{VALKEY, bounds, placement, requirements};
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants the Valkey.
    pub(crate) fn valkey(&self, desired: &mut DesiredState) {
        let wanted = &self.spec().infrastructure.valkey;
        let global = &self.spec().global;
        let labels = BTreeMap::from([("c5c3.io/component".to_owned(), VALKEY.to_owned())]);
        let monitoring = Enabled {
            enabled: global.monitoring.enabled,
        };
        let spec = ValkeySpec {
            replicas: wanted.replicas,
            sentinel: Enabled {
                enabled: wanted.sentinel.enabled,
            },
            tls: Enabled {
                enabled: global.tls.enabled || wanted.tls.is_some_and(|tls| tls.enabled),
            },
            metrics: Metrics {
                enabled: monitoring.enabled,
                monitor: monitoring,
            },
            resources: requirements(&wanted.resources)
                .unwrap_or_else(|| bounds("100m", "1", "256Mi", "1Gi")),
            node_selector: global.topology.node_selector.clone(),
            affinity: Some(Affinity {
                pod_anti_affinity: Some(placement::apart(&global.topology, &labels)),
                ..Affinity::default()
            }),
            tolerations: placement::tolerations(&global.topology),
            priority_class_name: global.topology.priority_class_name.clone(),
            topology_spread_constraints: placement::spread(&global.topology, &labels),
            pod_labels: labels,
        };
        desired.apply(self.namespace(), VALKEY, &Valkey::of(spec));
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use provider_composer::{ObservedState, Unobserved};
    use serde_json::json;

    use super::*;
    use crate::recipe::ControlPlane;

    #[rstest::rstest]
    #[case(true, None, true)]
    #[case(true, Some(false), true)]
    #[case(false, None, false)]
    #[case(false, Some(true), true)]
    fn valkey_is_encrypted_whenever_the_control_plane_is(
        #[case] global: bool,
        #[case] own: Option<bool>,
        #[case] encrypted: bool,
    ) {
        let tls = own.map(|enabled| json!({ "enabled": enabled }));
        let subject: ControlPlane = serde_json::from_value(json!({
            "metadata": { "name": "production", "namespace": "openstack" },
            "spec": {
                "openStackRelease": "2025.2",
                "global": { "tls": { "enabled": global } },
                "infrastructure": { "valkey": { "tls": tls } },
            },
        }))
        .unwrap();
        let observed = ObservedState::new(&Unobserved, Timestamp::UNIX_EPOCH);
        let mut desired = DesiredState::default();
        Recipe::of(&subject, &observed).valkey(&mut desired);
        let valkey = desired.objects.values().next().unwrap();
        assert_eq!(valkey["spec"]["tls"]["enabled"], encrypted, "{valkey}");
    }
}
