//! A HypervisorShare of 50 nodes, a two-hundredth of a large pool, with a pod of every agent on each.

use std::hint::black_box;
use std::sync::Arc;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use k8s_openapi::api::core::v1::{Node, Pod};
use provider_composer::{Key, ObservedState, Operator, Subject};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare, LEASE, ROLE, SINCE};
use serde_json::json;

use crate::case::Again;

const NODES: usize = 50;
const CONTROL_PLANE: &str = "prod";
const AGENTS: [&str; 7] = [
    "openvswitch",
    "ovn-controller",
    "neutron-ovn-agent",
    "libvirt",
    "nova-compute",
    "nova-migration",
    "hold",
];

/// Returns a reconcile of a running HypervisorShare, which each change of one of its nodes or pods reconciles.
pub fn again() -> Again {
    let mut cluster = Cluster::default();
    let pool = Key::of::<Subject<HypervisorPoolSpec>>("", "pool");
    let spec = json!({ "mode": "Shared" });
    cluster.put(
        &pool,
        &json!({ "metadata": { "name": "pool" }, "spec": spec }),
    );
    let share = Key::of::<Subject<HypervisorShareSpec>>("", CONTROL_PLANE);
    let spec = json!({ "controlPlane": CONTROL_PLANE, "weight": 1, "minHosts": 3 });
    cluster.put(
        &share,
        &json!({ "metadata": { "name": CONTROL_PLANE }, "spec": spec }),
    );
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    for index in 0..NODES {
        let name = format!("node-{index:06}");
        let node = Key::of::<Node>("", &name);
        let labels = json!({ ROLE: "", LEASE: CONTROL_PLANE, SINCE: "20260101T000000Z" });
        cluster.put(&node, &json!({ "metadata": { "labels": labels } }));
        let addresses = json!([{ "type": "InternalIP", "address": "10.0.0.1" }]);
        let status = json!({ "addresses": addresses, "conditions": ready });
        cluster.set_status(&node, status);
        for agent in AGENTS {
            let pod = Key::of::<Pod>("agents-prod", &format!("{agent}-{index:06}"));
            let labels = json!({ "app.kubernetes.io/component": agent });
            cluster.put(
                &pod,
                &json!({ "metadata": { "labels": labels }, "spec": { "nodeName": name, "containers": [] } }),
            );
            cluster.set_status(&pod, json!({ "phase": "Running", "conditions": ready }));
        }
    }
    cluster.settle(&HypervisorPool, &pool);
    cluster.settle(&HypervisorShare, &share);
    let share = Arc::clone(&cluster.objects()[&share]);
    Box::new(move || {
        let observed = ObservedState::new(black_box(&cluster), cluster.now());
        HypervisorShare.composed(&share, &observed)
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::StatefulSet;
    use provider_composer::Resource;

    use super::*;

    #[test]
    fn every_node_is_leased_and_protected() {
        let composed = again()().unwrap();
        assert_eq!(composed.status["hostCount"], NODES);
        let keys = composed.desired.objects.keys();
        let sets = keys.filter(|key| key.kind == StatefulSet::KIND);
        assert_eq!(sets.count(), NODES);
    }
}
