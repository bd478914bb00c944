//! A HypervisorPool of 10,000 nodes and 200 shares.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use k8s_openapi::api::core::v1::Node;
use provider_composer::{
    ExternalRequest, Key, Lookup, ObservedState, Operator, Resource, ResourceKind, Selection,
    Source, Subject,
};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::assignment::{self, Share};
use provider_hypervisor_pool::{HypervisorPool, LEASE, ROLE, SINCE};
use serde_json::{Value, json};

use crate::case::{Again, Case};
use crate::division::Pool;

const NODES: usize = 10_000;

/// The objects of a cluster, by kind.
struct Objects(BTreeMap<ResourceKind, Vec<Arc<Value>>>);

impl Source for Objects {
    fn object(&self, _: &Key) -> Lookup<Arc<Value>> {
        Lookup::Missing
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        let objects = self.0.get(&selection.kind).cloned();
        objects.map_or(Lookup::Missing, Lookup::Found)
    }

    fn external(&self, _: &ExternalRequest) -> Lookup<Arc<Value>> {
        Lookup::Missing
    }
}

/// Returns a reconcile of a HypervisorPool. All nodes of a new one are free, and those of a running one are leased.
pub fn again(case: Case) -> Again {
    let pool = match case {
        Case::New => Pool::Free,
        Case::Running => Pool::Leased,
    };
    let (nodes, shares) = pool.of(NODES);
    let pool = Arc::new(json!({
        "apiVersion": "hypervisor.c5c3.io/v1alpha1", "kind": "HypervisorPool",
        "metadata": { "name": "pool", "uid": "1" }, "spec": { "mode": "Shared", "reserve": 1 },
    }));
    let objects = Objects(BTreeMap::from([
        (Subject::<HypervisorPoolSpec>::KIND, vec![Arc::clone(&pool)]),
        (
            Subject::<HypervisorShareSpec>::KIND,
            shares.iter().map(share).map(Arc::new).collect(),
        ),
        (Node::KIND, nodes.iter().map(node).map(Arc::new).collect()),
    ]));
    let now = Cluster::default().now();
    Box::new(move || {
        let observed = ObservedState::new(black_box(&objects), now);
        HypervisorPool.composed(&pool, &observed)
    })
}

fn share(share: &Share) -> Value {
    json!({
        "apiVersion": "hypervisor.c5c3.io/v1alpha1", "kind": "HypervisorShare",
        "metadata": { "name": share.name, "creationTimestamp": share.created },
        "spec": { "controlPlane": share.control_plane, "weight": share.weight, "minHosts": share.min_hosts },
    })
}

/// A Node as the operator keeps it.
fn node(node: &assignment::Node) -> Value {
    let mut labels = json!({
        ROLE: "",
        "kubernetes.io/hostname": node.name,
        "topology.kubernetes.io/zone": node.domain.zone,
        "topology.c5c3.io/rack": node.domain.rack,
        "worker.gardener.cloud/pool": node.domain.zone,
    });
    if let Some(lease) = &node.lease {
        labels[LEASE] = json!(lease.control_plane);
        labels[SINCE] = json!("20260101T000000Z");
    }
    let conditions = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map(|type_| {
        let status = if type_ == "Ready" { "True" } else { "False" };
        json!({ "type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z" })
    });
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": node.name, "labels": labels, "resourceVersion": "73502914", "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
            "capacity": { "cpu": "128", "memory": "1056289392Ki" },
            "conditions": conditions,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_nodes_are_leased_and_leased_nodes_stay() {
        for (case, labelled) in [(Case::New, NODES - 1), (Case::Running, 0)] {
            let composed = again(case)().unwrap();
            let nodes = &composed.status["nodes"];
            assert_eq!(
                (&nodes["leased"], &nodes["free"]),
                (&json!(9_999), &json!(1))
            );
            let keys = composed.desired.labelled.keys();
            let nodes = keys.filter(|key| key.kind == Node::KIND);
            assert_eq!(nodes.count(), labelled, "{case:?}");
        }
    }
}
