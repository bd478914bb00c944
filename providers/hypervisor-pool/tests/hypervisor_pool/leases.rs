//! Which share leases which node.

use k8s_openapi::api::core::v1::{Namespace, Node};
use provider_composer::{Dependency, Key, Resource, Selection};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};
use serde_json::json;

use crate::drain::{cordon, node_key};
use crate::fixture::*;

const LEASE: &str = "c5c3.node-restriction.kubernetes.io/control-plane";
const SINCE: &str = "c5c3.node-restriction.kubernetes.io/lease-since";

#[test]
fn second_share_gets_its_part_of_further_nodes_and_the_elder_keeps_its_nodes() {
    let mut cluster = settled();
    put_share(&mut cluster, "staging", json!({}));
    settle(&mut cluster, "staging");
    assert_eq!(
        condition(&cluster, "staging", "Ready").join(": "),
        "False: WaitingForNodes: 0 of 1 nodes are leased, 0 are free: give more nodes the label node-role.kubernetes.io/hypervisor=\"\""
    );
    let elsewhere = Key::of::<Namespace>("", "agents-staging");
    assert_eq!(cluster.get(&elsewhere), None);

    put_node(&mut cluster, "node-d", "10.0.0.4");
    put_node(&mut cluster, "node-e", "10.0.0.5");
    settle(&mut cluster, "staging");
    assert_eq!(
        leases(&cluster),
        planes(["prod", "prod", "staging", "staging"])
    );
    assert!(cluster.get(&elsewhere).is_some());
    settle(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "FurtherNodesLeased")[0], "True");
    let pool = cluster.get(&pool_key()).unwrap();
    insta::assert_yaml_snapshot!(pool["status"]);
}

#[test]
fn share_without_free_nodes_says_what_it_is_due() {
    let mut cluster = settled();
    put_share(&mut cluster, "staging", json!({}));
    let answer = settle(&mut cluster, "staging");
    assert_eq!(answer.status["pending"], json!(1));
    assert_eq!(
        condition(&cluster, "staging", "FurtherNodesLeased").join(": "),
        "False: WaitingForNodes: 1 of 1 nodes that this share is due aren't free: other shares keep theirs, or nodes aren't ready; see `kubectl get \
         hypervisorpools -o yaml`"
    );
}

/// A pool with a free node-a and node-e, node-b that isn't Ready, node-d that is cordoned, and node-f that an earlier version leased.
fn pool_with_unusable_nodes() -> Cluster {
    let mut cluster = cluster();
    let not_ready = json!({ "conditions": [{ "type": "Ready", "status": "False" }] });
    cluster.set_status(&Key::of::<Node>("", "node-b"), not_ready);
    for (name, address) in [
        ("node-d", "10.0.0.4"),
        ("node-e", "10.0.0.5"),
        ("node-f", "10.0.0.6"),
    ] {
        put_node(&mut cluster, name, address);
    }
    cordon(&mut cluster, "node-d", true);
    set_label(&mut cluster, "node-f", "c5c3.io/control-plane", "staging");
    cluster
}

#[test]
fn nodes_that_are_cordoned_not_ready_or_formerly_leased_are_not_leased() {
    let mut cluster = pool_with_unusable_nodes();
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "", "prod"]));
    assert_eq!(lease(&cluster, "node-f"), None);
}

#[test]
fn pool_counts_the_nodes_of_each_group_of_machines_and_those_with_servers() {
    let mut cluster = pool_with_unusable_nodes();
    for (node, group) in [
        ("node-a", "zone-1"),
        ("node-b", "zone-1"),
        ("node-d", "zone-1"),
        ("node-e", "zone-2"),
        ("node-f", "zone-2"),
    ] {
        set_label(&mut cluster, node, "worker.gardener.cloud/pool", group);
    }
    // Nodes that are leased now count, too.
    cluster.reconcile(&HypervisorPool, &pool_key()).unwrap();
    let groups = json!([
        { "name": "zone-1", "nodes": 3, "inUse": 1 },
        { "name": "zone-2", "nodes": 2, "inUse": 2 },
    ]);
    let status = |cluster: &Cluster| cluster.get(&pool_key()).unwrap()["status"].clone();
    assert_eq!(status(&cluster)["groups"], groups);
    settle(&mut cluster, "prod");
    assert_eq!(status(&cluster)["groups"], groups);
}

/// Unusable nodes come first, then free ones beyond the reserve, of one zone after the other and first of the one with the most.
/// Leased nodes, and the one that an earlier version leased, are never removable.
#[test]
fn pool_names_the_nodes_that_it_can_lose() {
    let mut cluster = pool_with_unusable_nodes();
    set(&mut cluster, "prod", "maxHosts", json!(1));
    for (node, zone) in [("node-g", "a"), ("node-h", "a"), ("node-i", "b")] {
        put_node(&mut cluster, node, "10.0.0.7");
        set_label(&mut cluster, node, "topology.kubernetes.io/zone", zone);
    }
    let removable = |cluster: &mut Cluster, reserve: u32| {
        put_pool(cluster, json!({ "mode": "Shared", "reserve": reserve }));
        settle(cluster, "prod");
        let pool = cluster.get(&pool_key()).unwrap();
        pool["status"]["removable"].clone()
    };
    let unusable = ["node-b", "node-d"];
    assert_eq!(
        removable(&mut cluster, 0),
        json!([&unusable[..], &["node-g", "node-e", "node-i", "node-h"]].concat())
    );
    assert_eq!(lease(&cluster, "node-a").as_deref(), Some("prod"));
    assert_eq!(
        removable(&mut cluster, 2),
        json!([&unusable[..], &["node-g", "node-e"]].concat())
    );
    assert_eq!(removable(&mut cluster, 9), json!(unusable));

    for number in 0..60 {
        put_node(&mut cluster, &format!("node-{number:02}"), "10.0.0.8");
    }
    let many = removable(&mut cluster, 0);
    assert_eq!(many.as_array().unwrap().len(), 50);
    assert_eq!(many[1], "node-d");
}

#[test]
fn node_that_lost_the_label_of_its_lease_is_neither_leased_anew_nor_removable() {
    let mut cluster = settled();
    cluster.edit(&node_key("node-b"), |node| {
        let labels = node["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove(LEASE).unwrap();
        assert!(labels.contains_key(SINCE));
    });
    put_share(&mut cluster, "staging", json!({}));
    settle(&mut cluster, "staging");
    assert_eq!(leases(&cluster), planes(["prod", "", "", ""]));
    let status = &cluster.get(&pool_key()).unwrap()["status"];
    assert_eq!(status["removable"], json!(null));
    assert_eq!(
        condition_of(&cluster, &pool_key(), "LeasesHaveShares").join(": "),
        "False: LeaseWithoutShare: these nodes have no label c5c3.node-restriction.kubernetes.io/control-plane, but the one of a lease in brackets: node-b \
         (c5c3.node-restriction.kubernetes.io/lease-since). Set c5c3.node-restriction.kubernetes.io/control-plane to the control \
         plane that leased them or, where no server is left on a node, remove the label in brackets"
    );

    cluster.edit(&node_key("node-b"), |node| {
        let labels = node["metadata"]["labels"].as_object_mut().unwrap();
        labels.insert(LEASE.to_owned(), json!("prod"));
    });
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "", ""]));
}

#[test]
fn pool_reports_minima_that_exceed_it_and_leases_without_share() {
    let mut cluster = cluster();
    put_share(&mut cluster, "staging", json!({}));
    let mut share = cluster.get(&share_key("staging")).unwrap().clone();
    share["spec"]["minHosts"] = json!(5);
    cluster.put(&share_key("staging"), &share);
    put_node(&mut cluster, "node-d", "10.0.0.4");
    let labels = json!({ "node-role.kubernetes.io/hypervisor": "", "c5c3.node-restriction.kubernetes.io/control-plane": "gone" });
    put::<Node>(
        &mut cluster,
        "",
        "node-d",
        &json!({ "metadata": { "name": "node-d", "labels": labels } }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["staging", "staging", "gone", ""]));
    assert_eq!(
        condition_of(&cluster, &pool_key(), "MinHostsLeased").join(": "),
        "False: Overcommitted: no free node is left for minHosts of the HypervisorShares staging (2 of 5): give 3 more nodes the label \
         node-role.kubernetes.io/hypervisor=\"\", or lower minHosts"
    );
    assert_eq!(
        condition_of(&cluster, &pool_key(), "LeasesHaveShares").join(": "),
        "False: LeaseWithoutShare: no HypervisorShare is for the control plane of the nodes node-d (gone): create it again or, where no server is \
         left on a node, remove the node's labels c5c3.node-restriction.kubernetes.io/control-plane and \
         c5c3.node-restriction.kubernetes.io/lease-since"
    );
}

#[test]
fn dedicated_pool_serves_the_eldest_share_alone() {
    let mut cluster = cluster();
    put_pool(&mut cluster, json!({ "mode": "Dedicated" }));
    settle(&mut cluster, "prod");
    put_share(&mut cluster, "staging", json!({}));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    reconcile(&mut cluster, "staging");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "prod", ""]));
    assert_eq!(
        condition(&cluster, "staging", "Ready").join(": "),
        "False: PoolDedicated: the HypervisorPool pool is dedicated to prod: create the share in the cluster of another pool"
    );
}

#[test]
fn second_share_of_a_control_plane_is_refused() {
    let mut cluster = settled();
    let spec = json!({ "controlPlane": "prod", "weight": 1, "cell": "cell2" });
    cluster.put(
        &share_key("second"),
        &json!({ "metadata": { "name": "second" }, "spec": spec }),
    );
    reconcile(&mut cluster, "second");
    assert_eq!(
        condition(&cluster, "second", "Ready").join(": "),
        "False: AnotherShare: the HypervisorShare prod leases nodes for prod already: delete one of the two"
    );
}

#[test]
fn share_waits_for_a_pool_and_changes_nothing_without_it() {
    let mut cluster = settled();
    let before: Vec<Key> = cluster.objects().keys().cloned().collect();
    cluster.delete(&pool_key());
    cluster.settle(&HypervisorShare, &share_key("prod"));
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NoPool");
    let after: Vec<Key> = cluster.objects().keys().cloned().collect();
    assert_eq!(after.len() + 1, before.len());
}

#[test]
fn unreadable_nodes_change_nothing() {
    let mut cluster = settled();
    let before: Vec<Key> = cluster.objects().keys().cloned().collect();
    cluster.set_readable(&Key::of::<Node>("", "node-a"), false);
    cluster.settle(&HypervisorShare, &share_key("prod"));
    assert_eq!(
        cluster.objects().keys().cloned().collect::<Vec<_>>(),
        before
    );
    assert_eq!(
        condition(&cluster, "prod", "Ready").join(": "),
        "False: LookupFailed: the cluster's nodes can't be read, so nothing changes: nodes can't be listed"
    );
}

#[test]
fn deleted_node_is_not_created_again() {
    let mut cluster = settled();
    cluster.delete(&Key::of::<Node>("", "node-b"));
    let answer = settle(&mut cluster, "prod");
    assert_eq!(answer.status["hosts"][0]["name"], json!("node-a"));
    assert_eq!(answer.status["hostCount"], json!(1));
    assert_eq!(cluster.get(&Key::of::<Node>("", "node-b")), None);
}

#[test]
fn share_looks_at_the_nodes_that_it_leases_alone() {
    let cluster = settled();
    let nodes = cluster.dependencies().iter();
    let nodes: Vec<&Dependency> = nodes
        .filter(|looked| matches!(looked, Dependency::Objects(list) if list.kind == Node::KIND))
        .collect();
    let own = Selection::new(Node::KIND, "", &[(LEASE, "prod")]);
    assert_eq!(nodes, [&Dependency::Objects(own)]);
}

/// etcd stores at most 1.5 MB of an object.
#[test]
fn status_of_a_share_with_many_nodes_has_those_that_are_drained_first() {
    let mut cluster = cluster();
    let name = |number: usize| format!("{number:05}-{}", "x".repeat(200));
    let labels = |phase: Option<&str>| {
        let mut labels = json!({
            "node-role.kubernetes.io/hypervisor": "",
            "c5c3.node-restriction.kubernetes.io/control-plane": "prod",
            "c5c3.node-restriction.kubernetes.io/lease-since": "20260201T000000Z",
        });
        if let Some(phase) = phase {
            labels["c5c3.node-restriction.kubernetes.io/lease-phase"] = json!(phase);
        }
        labels
    };
    for number in 0..1200 {
        let phase = (number >= 1100).then_some("Draining");
        let node = json!({ "metadata": { "labels": labels(phase) }, "spec": { "unschedulable": phase.is_some() } });
        put::<Node>(&mut cluster, "", &name(number), &node);
    }
    let status = settle(&mut cluster, "prod").status;
    let hosts = status["hosts"].as_array().unwrap();
    let draining = hosts.iter().filter(|host| host["phase"] == "Draining");
    assert_eq!((hosts.len(), draining.count()), (1000, 100));
    assert_eq!(hosts[0]["name"], json!(name(0)));
    assert_eq!(hosts[999]["name"], json!(name(1199)));
    assert_eq!(status["hostCount"], json!(1202));
    assert_eq!(status["draining"], json!(100));
    assert!(status.to_string().len() < 500_000);
}
