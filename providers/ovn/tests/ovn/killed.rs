//! The operator of an OVNCluster, killed in the middle of a reconcile.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Secret;
use provider_composer_testing::Cluster;
use provider_composer_testing::killed::{Scene, assert_recovers};
use provider_ovn::OvnCluster;
use serde_json::json;

use crate::stage::{Stage, hypervisor, key, subject};

impl Scene for Stage {
    fn cluster(&mut self) -> &mut Cluster {
        &mut self.cluster
    }

    /// cert-manager issues certificates, and the pods of what changed become ready.
    fn simulate(&mut self) {
        self.issue_certificates();
        for database in ["nb", "sb"] {
            let set = key::<StatefulSet>(&format!("ovn-{database}"));
            if self.is_outdated(&set) {
                self.ready(database, &[0, 1, 2]);
            }
        }
        if self.is_outdated(&key::<Deployment>("ovn-northd")) {
            self.northd_is_available();
        }
    }
}

impl Stage {
    /// Whether an object exists, and its status is of an earlier generation.
    fn is_outdated(&self, key: &provider_composer::Key) -> bool {
        let generation = self.field(key, "/metadata/generation");
        !generation.is_null() && generation != self.field(key, "/status/observedGeneration")
    }

    fn issue_certificates(&mut self) {
        let objects = self.cluster.objects().iter();
        let certificates = objects.filter(|(key, _)| key.kind.kind == "Certificate");
        let names = certificates.map(|(_, object)| object["spec"]["secretName"].clone());
        for name in names.collect::<Vec<_>>() {
            let secret = key::<Secret>(name.as_str().unwrap());
            if self.cluster.get(&secret).is_none() {
                let data = json!({ "ca.crt": "Y2E=", "tls.crt": "Y3J0", "tls.key": "a2V5" });
                self.cluster.put(&secret, &json!({ "data": data }));
            }
        }
    }
}

#[test]
fn ovn_recovers_from_kills_of_its_operator() {
    assert_recovers(&OvnCluster, &subject(), || {
        let mut stage = Stage::new(json!({
            "relay": { "replicas": 2 },
            "backup": {},
            "tls": { "issuerRef": { "name": "ca" } },
        }));
        for name in ["ovn-tls", "ovn-chassis-tls"] {
            stage.cluster.delete(&key::<Secret>(name));
        }
        stage.node("node-1", hypervisor());
        stage
    });
}
