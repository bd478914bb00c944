//! Nodes that are taken back: what the operator asks of Nova and of the node, and what it waits for.

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::HypervisorPool;
use serde_json::{Value, json};

use crate::fixture::*;

pub fn node_key(name: &str) -> Key {
    Key::of::<Node>("", name)
}

pub fn label(cluster: &Cluster, node: &str, label: &str) -> Option<String> {
    let node = cluster.get(&node_key(node))?;
    Some(node["metadata"]["labels"].get(label)?.as_str()?.to_owned())
}

pub fn phase(cluster: &Cluster, node: &str) -> Option<String> {
    label(
        cluster,
        node,
        "c5c3.node-restriction.kubernetes.io/lease-phase",
    )
}

pub fn cordon(cluster: &mut Cluster, node: &str, is_cordoned: bool) {
    cluster.edit(&node_key(node), |node| {
        node["spec"] = json!({ "unschedulable": is_cordoned });
    });
}

/// What a person reports of the present drain of a node.
pub fn report(cluster: &mut Cluster, node: &str, state: &str, instances: u32) {
    let since = label(
        cluster,
        node,
        "c5c3.node-restriction.kubernetes.io/lease-since",
    );
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["computeServices"] =
            json!([{ "name": node, "since": since, "state": state, "instances": instances }]);
    });
}

/// What a DaemonSet's pod of prod on a node reports by being Ready; none without a pod.
pub fn pod(cluster: &mut Cluster, component: &str, node: &str, is_ready: Option<bool>) {
    pod_of(cluster, "prod", component, node, is_ready);
}

pub fn drained(cluster: &mut Cluster) -> [String; 3] {
    settle(cluster, "prod");
    condition(cluster, "prod", "NodesDrained")
}

pub fn has(cluster: &Cluster, set: &str) -> bool {
    cluster
        .get(&Key::of::<DaemonSet>("agents-prod", set))
        .is_some()
}

/// A share with a cordoned node that Nova and libvirt report to be empty and whose agents have stopped.
pub fn released() -> Cluster {
    let mut cluster = settled();
    cordon(&mut cluster, "node-b", true);
    settle(&mut cluster, "prod");
    report(&mut cluster, "node-b", "Disabled", 0);
    pod(&mut cluster, "drain", "node-b", Some(true));
    settle(&mut cluster, "prod");
    pod(&mut cluster, "drain", "node-b", None);
    report(&mut cluster, "node-b", "Removed", 0);
    cluster
}

#[test]
fn node_is_drained_step_by_step_and_freed_at_the_end() {
    let mut cluster = settled();
    assert_eq!(drained(&mut cluster)[0], "True");
    cordon(&mut cluster, "node-b", true);
    let message = |condition: [String; 3]| {
        assert_eq!(condition[0], "False");
        assert_eq!(condition[1], "Draining");
        condition[2].clone()
    };
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 0: node-b waits for its compute service to be disabled and Nova to say what is on it: see the condition \
         ComputeServicesUp"
    );
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert!(has(&cluster, "drain") && has(&cluster, "nova-compute"));

    report(&mut cluster, "node-b", "Disabled", 2);
    pod(&mut cluster, "drain", "node-b", Some(true));
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 2: node-b waits for 2 servers to be deleted or moved"
    );
    let hosts = answer(&cluster, "prod").status["hosts"].clone();
    assert_eq!(
        hosts,
        json!([
            { "name": "node-a", "phase": "Leased", "since": "20260201T000000Z" },
            { "name": "node-b", "phase": "Draining", "instances": 2, "computeService": "Disabled", "since": "20260201T000001Z" },
        ])
    );

    // Nova says that the node is empty, and libvirt has a domain.
    pod(&mut cluster, "drain", "node-b", Some(false));
    report(&mut cluster, "node-b", "Disabled", 0);
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 0: node-b waits for the DaemonSet drain to report that libvirt has no domain"
    );

    pod(&mut cluster, "drain", "node-b", Some(true));
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 0: node-b waits for its agents to stop"
    );
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    assert!(!has(&cluster, "drain"));

    pod(&mut cluster, "drain", "node-b", None);
    pod(&mut cluster, "nova-compute", "node-b", None);
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 0: node-b waits for its compute service, resource provider and chassis to be \
         deleted: see the conditions ComputeServicesUp and ResourceProvidersChecked"
    );

    report(&mut cluster, "node-b", "Removed", 0);
    assert_eq!(
        message(drained(&mut cluster)),
        "1 of 2 nodes are drained; servers left: 0: node-b waits for the DaemonSet wipe to report that it is wiped"
    );
    let wipe = Key::of::<DaemonSet>("agents-prod", "wipe");
    insta::assert_yaml_snapshot!(cluster.get(&wipe).unwrap()["spec"]["template"]["spec"]);

    pod(&mut cluster, "wipe", "node-b", Some(true));
    assert_eq!(drained(&mut cluster)[0], "True");
    assert_eq!(lease(&cluster, "node-b"), None);
    let labels = &cluster.get(&node_key("node-b")).unwrap()["metadata"]["labels"];
    assert_eq!(*labels, json!({ "node-role.kubernetes.io/hypervisor": "" }));
    assert!(!has(&cluster, "wipe"));
}

#[test]
fn agents_leave_nodes_that_are_released() {
    let cluster = settled();
    let key = Key::of::<DaemonSet>("agents-prod", "openvswitch");
    let affinity = &cluster.get(&key).unwrap()["spec"]["template"]["spec"]["affinity"];
    let terms = affinity.pointer("/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution");
    assert_eq!(
        terms,
        Some(&json!({ "nodeSelectorTerms": [{ "matchExpressions": [
            { "key": "c5c3.node-restriction.kubernetes.io/lease-phase", "operator": "NotIn", "values": ["Releasing", "Wiping"] },
        ] }] }))
    );
}

#[test]
fn node_that_is_uncordoned_in_time_keeps_its_lease_and_an_old_report_counts_no_more() {
    let mut cluster = settled();
    cordon(&mut cluster, "node-b", true);
    settle(&mut cluster, "prod");
    report(&mut cluster, "node-b", "Disabled", 0);
    cordon(&mut cluster, "node-b", false);
    cluster.wait(jiff::SignedDuration::from_secs(60));
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b"), None);
    assert_eq!(lease(&cluster, "node-b").as_deref(), Some("prod"));

    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    cluster.wait(jiff::SignedDuration::from_secs(60));
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
}

#[rstest::rstest]
#[case::maintenance(|node: &mut Value| {
    node["metadata"]["labels"]["c5c3.node-restriction.kubernetes.io/maintenance"] = json!("");
})]
#[case::maintenance_by_the_former_label(|node: &mut Value| node["metadata"]["labels"]["c5c3.io/maintenance"] = json!(""))]
#[case::no_hypervisor_any_more(|node: &mut Value| {
    let labels = node["metadata"]["labels"].as_object_mut().unwrap();
    labels.remove("node-role.kubernetes.io/hypervisor");
})]
#[case::deleted_by_gardener(|node: &mut Value| {
    node["metadata"]["finalizers"] = json!(["node.machine.sapcloud.io/machine-controller"]);
    node["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
})]
fn node_that_leaves_the_pool_is_drained(#[case] change: fn(&mut Value)) {
    let mut cluster = settled();
    cluster.edit(&node_key("node-b"), change);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert_eq!(phase(&cluster, "node-a"), None);
}

#[test]
fn new_share_gets_a_node_once_it_is_drained() {
    let mut cluster = released();
    cordon(&mut cluster, "node-b", false);
    put_share(&mut cluster, "staging", json!({}));
    settle(&mut cluster, "prod");
    settle(&mut cluster, "staging");
    assert_eq!(lease(&cluster, "node-b").as_deref(), Some("prod"));
    let pool = cluster.get(&pool_key()).unwrap()["status"].clone();
    assert_eq!(
        pool["nodes"],
        json!({ "free": 0, "leased": 1, "draining": 1, "unavailable": 0 })
    );
    pod(&mut cluster, "wipe", "node-b", Some(true));
    settle(&mut cluster, "staging");
    assert_eq!(lease(&cluster, "node-b").as_deref(), Some("staging"));
    assert_eq!(phase(&cluster, "node-b"), None);
    let hold = Key::of::<StatefulSet>("agents-prod", "hold-node-b");
    assert!(cluster.get(&hold).is_some());
    settle(&mut cluster, "prod");
    assert_eq!(cluster.get(&hold), None, "the lease has ended");
}

#[test]
fn deleted_share_stays_until_its_nodes_are_empty() {
    let mut cluster = settled();
    cluster.delete(&share_key("prod"));
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "Ready").join(": "),
        "False: Draining: 2 of 2 nodes are drained; servers left: 0: node-a waits for its compute service to be disabled and Nova to say what is on it: see the \
         condition ComputeServicesUp; node-b waits for its compute service to be disabled and Nova to say what is on it: see the condition ComputeServicesUp"
    );
    assert!(has(&cluster, "libvirt"), "servers keep their agents");
    for node in ["node-a", "node-b"] {
        report(&mut cluster, node, "Disabled", 0);
        pod(&mut cluster, "drain", node, Some(true));
        settle(&mut cluster, "prod");
        pod(&mut cluster, "drain", node, None);
        report(&mut cluster, node, "Removed", 0);
        settle(&mut cluster, "prod");
        pod(&mut cluster, "wipe", node, Some(true));
        reconcile(&mut cluster, "prod");
    }
    assert_eq!(cluster.get(&share_key("prod")), None);
    let namespace = Key::of::<Namespace>("", "agents-prod");
    assert_eq!(cluster.get(&namespace), None);
}

/// Its Nova is in this cluster, and gone with the control plane.
#[test]
fn deleted_share_of_a_deleted_control_plane_needs_no_report_of_nova() {
    let mut cluster = settled();
    cluster.delete(&share_key("prod"));
    pod(&mut cluster, "drain", "node-b", Some(true));
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    for (name, kind) in OWNERS {
        cluster.delete(&Key::new(kind, "openstack-prod", name));
    }
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    assert_eq!(
        phase(&cluster, "node-a").as_deref(),
        Some("Draining"),
        "libvirt of this node reports nothing"
    );
}

#[test]
fn share_without_nodes_is_deleted_even_without_a_pool() {
    let mut cluster = Cluster::default();
    put_share(&mut cluster, "prod", json!({}));
    reconcile(&mut cluster, "prod");
    cluster.delete(&share_key("prod"));
    reconcile(&mut cluster, "prod");
    assert_eq!(cluster.get(&share_key("prod")), None);
}

#[test]
fn nothing_is_freed_while_something_can_not_be_read() {
    let mut cluster = released();
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    let pods = Key::of::<Pod>("agents-prod", "nova-compute-node-b");
    for (key, to) in [
        (pods, "Releasing"),
        (node_key("node-a"), "Releasing"),
        (share_key("prod"), "Releasing"),
    ] {
        cluster.set_readable(&key, false);
        cluster.settle(&HypervisorPool, &pool_key());
        assert_eq!(phase(&cluster, "node-b").as_deref(), Some(to));
        cluster.set_readable(&key, true);
    }
    cluster.edit(&node_key("node-b"), |_| ());
    let dead = json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] });
    pod(&mut cluster, "nova-compute", "node-b", None);
    cluster.set_status(&node_key("node-b"), dead);
    settle(&mut cluster, "prod");
    assert_eq!(
        phase(&cluster, "node-b").as_deref(),
        Some("Releasing"),
        "it is dead"
    );
}

/// The operator is killed after each number of writes, at each step.
#[test]
fn drain_goes_on_where_it_was_after_a_kill() {
    for writes in 1..4 {
        let mut cluster = settled();
        cordon(&mut cluster, "node-a", true);
        cordon(&mut cluster, "node-b", true);
        let mut seen = Vec::new();
        for _ in 0..40 {
            let _ = cluster.reconcile_until(&HypervisorPool, &pool_key(), writes);
            for node in ["node-a", "node-b"] {
                let phase = phase(&cluster, node);
                let (drain, wipe) = match phase.as_deref() {
                    Some("Draining") => (Some(true), None),
                    Some("Wiping") => (None, Some(true)),
                    _ => (None, None),
                };
                pod(&mut cluster, "drain", node, drain);
                pod(&mut cluster, "wipe", node, wipe);
                seen.push((node, phase));
            }
            let since = |node: &str| {
                label(
                    &cluster,
                    node,
                    "c5c3.node-restriction.kubernetes.io/lease-since",
                )
            };
            let service = |node: &str| json!({ "name": node, "since": since(node).unwrap_or("-".to_owned()), "state": "Removed", "instances": 0 });
            let services = json!([service("node-a"), service("node-b")]);
            cluster.edit(&share_key("prod"), |share| {
                share["spec"]["computeServices"] = services
            });
            cluster.wait(jiff::SignedDuration::from_secs(1));
        }
        for node in ["node-a", "node-b"] {
            let mut phases: Vec<_> = seen.iter().filter(|(of, _)| *of == node).collect();
            phases.dedup();
            let phases: Vec<_> = phases
                .iter()
                .filter_map(|(_, phase)| phase.as_deref())
                .collect();
            assert_eq!(
                phases,
                ["Draining", "Releasing", "Wiping"],
                "{node} after {writes}"
            );
            assert_eq!(lease(&cluster, node), None);
        }
    }
}
