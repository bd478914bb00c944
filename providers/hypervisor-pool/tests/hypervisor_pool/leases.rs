//! Which share leases which node.

use k8s_openapi::api::core::v1::{Namespace, Node};
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::HypervisorShare;
use serde_json::{Value, json};

use crate::fixture::*;

#[test]
fn second_share_gets_its_part_of_further_nodes_and_the_elder_keeps_its_nodes() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    put_share(&mut cluster, "staging", json!({}));
    settle(&mut cluster, "staging");
    assert_eq!(
        condition(&cluster, "staging", "Ready"),
        [
            "False",
            "WaitingForNodes",
            "0 of 1 nodes are leased, 0 are free: give more nodes the label node-role.kubernetes.io/hypervisor=\"\""
        ]
        .map(str::to_owned)
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
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    put_share(&mut cluster, "staging", json!({}));
    let answer = settle(&mut cluster, "staging");
    assert_eq!(answer.status["pending"], json!(1));
    assert_eq!(
        condition(&cluster, "staging", "FurtherNodesLeased"),
        [
            "False",
            "WaitingForNodes",
            "1 of 1 nodes that this share is due aren't free: other shares keep theirs, or nodes aren't ready; see `kubectl get \
             hypervisorpools -o yaml`"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn nodes_that_are_cordoned_not_ready_or_formerly_leased_are_not_leased() {
    let mut cluster = cluster();
    let node =
        |cluster: &mut Cluster, name: &str, node: &Value| put::<Node>(cluster, "", name, node);
    let role = json!({ "node-role.kubernetes.io/hypervisor": "" });
    node(
        &mut cluster,
        "node-b",
        &json!({ "metadata": { "labels": role } }),
    );
    put_node(&mut cluster, "node-d", "10.0.0.4");
    let mut cordoned = cluster.get(&Key::of::<Node>("", "node-d")).unwrap().clone();
    cordoned["spec"] = json!({ "unschedulable": true });
    node(&mut cluster, "node-d", &cordoned);
    put_node(&mut cluster, "node-e", "10.0.0.5");
    put_node(&mut cluster, "node-f", "10.0.0.6");
    let mut formerly = cluster.get(&Key::of::<Node>("", "node-f")).unwrap().clone();
    formerly["metadata"]["labels"]["c5c3.io/control-plane"] = json!("staging");
    node(&mut cluster, "node-f", &formerly);
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "", "prod"]));
    assert_eq!(lease(&cluster, "node-f"), None);
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
        condition_of(&cluster, &pool_key(), "MinHostsLeased"),
        [
            "False",
            "Overcommitted",
            "no free node is left for minHosts of the HypervisorShares staging (2 of 5): give 3 more nodes the label \
             node-role.kubernetes.io/hypervisor=\"\", or lower minHosts"
        ]
        .map(str::to_owned)
    );
    assert_eq!(
        condition_of(&cluster, &pool_key(), "LeasesHaveShares"),
        [
            "False",
            "LeaseWithoutShare",
            "no HypervisorShare is for the control plane of the nodes node-d (gone): create it again or, where no server is \
             left on a node, remove the node's label c5c3.node-restriction.kubernetes.io/control-plane"
        ]
        .map(str::to_owned)
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
        condition(&cluster, "staging", "Ready"),
        [
            "False",
            "PoolDedicated",
            "the HypervisorPool pool is dedicated to prod: create the share in the cluster of another pool"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn second_share_of_a_control_plane_is_refused() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let spec = json!({ "controlPlane": "prod", "weight": 1, "cell": "cell2" });
    cluster.put(
        &share_key("second"),
        &json!({ "metadata": { "name": "second" }, "spec": spec }),
    );
    reconcile(&mut cluster, "second");
    assert_eq!(
        condition(&cluster, "second", "Ready"),
        [
            "False",
            "AnotherShare",
            "the HypervisorShare prod leases nodes for prod already: delete one of the two"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn share_waits_for_a_pool_and_changes_nothing_without_it() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let before: Vec<Key> = cluster.objects().keys().cloned().collect();
    cluster.delete(&pool_key());
    cluster.settle(&HypervisorShare, &share_key("prod"));
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NoPool");
    let after: Vec<Key> = cluster.objects().keys().cloned().collect();
    assert_eq!(after.len() + 1, before.len());
}

#[test]
fn unreadable_nodes_change_nothing() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let before: Vec<Key> = cluster.objects().keys().cloned().collect();
    cluster.set_readable(&Key::of::<Node>("", "node-a"), false);
    cluster.settle(&HypervisorShare, &share_key("prod"));
    assert_eq!(
        cluster.objects().keys().cloned().collect::<Vec<_>>(),
        before
    );
    assert_eq!(
        condition(&cluster, "prod", "Ready"),
        [
            "False",
            "LookupFailed",
            "the cluster's nodes can't be read, so nothing changes: nodes can't be listed"
        ]
        .map(str::to_owned)
    );
}

#[test]
fn deleted_node_is_not_created_again() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    cluster.delete(&Key::of::<Node>("", "node-b"));
    let answer = settle(&mut cluster, "prod");
    assert_eq!(answer.status["hosts"][0]["name"], json!("node-a"));
    assert_eq!(answer.status["hostCount"], json!(1));
    assert_eq!(cluster.get(&Key::of::<Node>("", "node-b")), None);
}
