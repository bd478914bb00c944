//! Nodes that come back without the labels of their lease, though they may have servers.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorPool, LEASE, SINCE};
use serde_json::{Value, json};

use crate::drain::{cordon, node_key, phase, pod};
use crate::fixture::*;
use crate::lost::{lose, lost, node_lost, removed, said, with_dead_node};
use crate::nova::{Placement, later, service, started};

/// The nodes that the pool can lose.
fn removable(cluster: &Cluster) -> Value {
    cluster.get(&pool_key()).unwrap()["status"]["removable"].clone()
}

/// Node-b is deleted and comes back without its labels. It stays free, because the share is due no other node.
fn comes_back(cluster: &mut Cluster) {
    cluster.delete(&node_key("node-b"));
    set(cluster, "prod", "maxHosts", json!(1));
    put_node(cluster, "node-b", "10.0.0.2");
    set_label(cluster, "node-b", "worker.gardener.cloud/pool", "zone-a");
}

/// How a message says to take nodes out of the status of a share.
fn removed_by_hand(share: &str) -> String {
    format!(
        "Where no server is left there, remove the label {SINCE} or c5c3.io/control-plane of a node that has it without {LEASE}, and delete \
         the StatefulSet hold-* in agents-{share} of one that another control plane leases; once no hold-* of these nodes is left, remove the \
         names from status.lost by `kubectl edit hypervisorshare {share} --subresource=status`"
    )
}

/// The pool's condition, which is only there while a node that came back may have servers.
fn returned(cluster: &Cluster) -> Option<[String; 3]> {
    cluster.condition(&pool_key(), "ReturnedNodesEmpty")
}

/// How many nodes of its group of machines may have servers.
fn in_use(cluster: &Cluster) -> Value {
    cluster.get(&pool_key()).unwrap()["status"]["groups"][0]["inUse"].clone()
}

#[test]
fn node_that_comes_back_without_its_labels_is_not_removable_until_it_is_empty() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    comes_back(&mut cluster);
    // The share hasn't been reconciled since.
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(lease(&cluster, "node-b"), None);
    assert_eq!(
        [removable(&cluster), in_use(&cluster)],
        [Value::Null, json!(1)]
    );
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(
        [removable(&cluster), in_use(&cluster)],
        [Value::Null, json!(1)]
    );
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    assert_eq!(
        returned(&cluster).unwrap().join(": "),
        format!(
            "False: NodeLost: these nodes came back without a lease, and the pool gives up no machine of them while the HypervisorShare in brackets has \
             lost them: node-b (prod). See its condition LostNodesRemoved. Whoever administrates Nova there, as a tenant may, decides how \
             long that lasts. {}, with the name of that share as NAME",
            removed_by_hand("NAME")
        )
    );

    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(returned(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
    assert_eq!(
        [removable(&cluster), in_use(&cluster)],
        [json!(["node-b"]), json!(0)]
    );
}

/// The pool reads no StatefulSets. The status names 1,000 lost nodes at most.
#[test]
fn node_that_comes_back_has_the_last_room_in_the_status() {
    let (mut cluster, nova) = with_dead_node();
    let mut earlier = lose(&mut cluster, &nova, 999, "earlier");
    for node in ["node-a", "node-b"] {
        nova.occupy(node, 1, 0);
        cluster.delete(&node_key(node));
    }
    put_node(&mut cluster, "node-b", "10.0.0.2");
    cordon(&mut cluster, "node-b", true);
    later(&mut cluster);
    earlier.push("node-b".to_owned());
    assert_eq!(lost(&cluster), json!(earlier));
    assert_eq!(removable(&cluster), Value::Null);
    let is_held = |node: &str| {
        let hold = Key::of::<StatefulSet>("agents-prod", &format!("hold-{node}"));
        cluster.get(&hold).is_some()
    };
    assert_eq!(["node-a", "node-b"].map(is_held), [true, false]);
}

/// It may be one that the status has no room for.
#[test]
fn node_without_a_lease_is_not_removable_while_a_status_is_full() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    let earlier = lose(&mut cluster, &nova, 1_000, "earlier");
    comes_back(&mut cluster);
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(earlier));
    assert_eq!(lease(&cluster, "node-b"), None);
    assert_eq!(
        [removable(&cluster), in_use(&cluster)],
        [Value::Null, json!(1)]
    );
    assert_eq!(
        returned(&cluster).unwrap().join(": "),
        "False: NodeLost: status.lost has no room for more nodes in the HypervisorShares prod, so that any node without a lease may be one that they lost, \
         and the pool gives up no machine: see their condition LostNodesRemoved"
    );
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    let names = lost(&cluster);
    assert!(names.as_array().unwrap().contains(&json!("node-b")));
    assert_eq!(removable(&cluster), Value::Null);
}

#[test]
fn node_that_comes_back_is_not_removable_while_nova_does_not_answer() {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        state.services.remove("node-b");
        state.aggregates[0].hosts.remove("node-b");
        state.is_unreachable = true;
    });
    comes_back(&mut cluster);
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(removable(&cluster), Value::Null);
    nova.change(|state| state.is_unreachable = false);
    later(&mut cluster);
    assert_eq!(lost(&cluster), Value::Null);
    assert_eq!(removable(&cluster), json!(["node-b"]));
}

#[rstest::rstest]
#[case::nova(true, "nova doesn't answer")]
#[case::aggregates(false, "Nova's aggregates can't be read: nova doesn't answer")]
fn lost_nodes_are_named_while_nova_does_not_answer(#[case] is_nova: bool, #[case] why: &str) {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    let silence = |is_silent: bool| {
        nova.change(|state| {
            state.is_unreachable = is_silent && is_nova;
            state.hides_aggregates = is_silent && !is_nova;
        });
    };
    silence(true);
    later(&mut cluster);
    let message =
        format!("Nova can't be asked what is on node-b, which this share leases no longer: {why}");
    assert_eq!(removed(&cluster), said("Unknown", "LookupFailed", &message));
    assert_eq!(lost(&cluster), json!(["node-b"]));
    silence(false);
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
}

/// As one whose database was just created anew, and isn't restored yet.
#[test]
fn nodes_stay_lost_while_nova_lists_no_compute_service() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    comes_back(&mut cluster);
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    let (services, aggregates) = nova.change(|state| {
        let services = std::mem::take(&mut state.services);
        (services, std::mem::take(&mut state.aggregates))
    });
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(removable(&cluster), Value::Null);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        format!(
            "Unknown: LookupFailed: Nova lists no compute service at all, as before its database is restored, so it isn't known what is on node-b, which this \
             share leases no longer. {}",
            removed_by_hand("prod")
        )
    );
    nova.change(|state| (state.services, state.aggregates) = (services, aggregates));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
}

/// The copy of Nova's configuration goes with the last node, and the Secret may be missing for a moment.
#[test]
fn nodes_stay_lost_while_nova_has_no_configuration() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    for node in ["node-a", "node-b"] {
        cluster.delete(&node_key(node));
    }
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-a", "node-b"]));
    cluster.delete(&Key::of::<Secret>("openstack-prod", "nova-cell1-compute"));
    later(&mut cluster);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        format!(
            "Unknown: LookupFailed: Nova has no configuration, so it can't be asked what is on node-a, node-b, which this share leases no longer. {}",
            removed_by_hand("prod")
        )
    );
    put_clouds(&mut cluster);
    put_node(&mut cluster, "node-b", "10.0.0.2");
    cordon(&mut cluster, "node-b", true);
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-a", "node-b"]));
    assert_eq!(removable(&cluster), Value::Null);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
}

/// The StatefulSet that protects it tells of it too.
#[test]
fn node_that_is_taken_out_of_the_status_is_added_again_while_a_pod_protects_it() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    let unlabel = |cluster: &mut Cluster, label: &str| {
        cluster.edit(&node_key("node-b"), |node| {
            let labels = node["metadata"]["labels"].as_object_mut().unwrap();
            labels.remove(label).unwrap();
        });
        later(cluster);
    };
    let forget = |cluster: &mut Cluster| {
        let mut status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
        status.as_object_mut().unwrap().remove("lost").unwrap();
        cluster.set_status(&share_key("prod"), status);
        later(cluster);
    };
    cordon(&mut cluster, "node-b", true);
    unlabel(&mut cluster, LEASE);
    forget(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    unlabel(&mut cluster, SINCE);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    forget(&mut cluster);
    assert_eq!(lost(&cluster), Value::Null);
}

/// Another control plane could say that it has nodes of which it never had one.
#[test]
fn host_that_only_nova_reports_is_not_lost() {
    let (mut cluster, nova) = with_dead_node();
    set(&mut cluster, "prod", "maxHosts", json!(2));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    nova.change(|state| {
        let service = service("node-d", false);
        state.services.insert("node-d".to_owned(), service);
        state.aggregates[0].hosts.insert("node-d".to_owned());
    });
    nova.occupy("node-d", 1, 0);
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-d (1)"));
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
    let [status, reason, _] = condition(&cluster, "prod", "AggregateMembersKnown");
    assert_eq!([status, reason], ["False", "NameTaken"]);
    assert_eq!(lost(&cluster), Value::Null);
    assert_eq!(removable(&cluster), json!(["node-d"]));
}

/// As dead machines whose nodes were deleted before a status named lost nodes.
#[test]
fn many_hosts_that_only_nova_reports_are_not_asked_about() {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        for number in 10..19 {
            let host = format!("node-{number}");
            state.services.insert(host.clone(), service(&host, false));
            state.aggregates[0].hosts.insert(host);
        }
    });
    later(&mut cluster);
    nova.change(|state| state.asked.clear());
    later(&mut cluster);
    assert!(nova.change(|state| state.asked.is_empty()));
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "False: WaitingForNova: Nova isn't asked what is on these 9 hosts, which are down and which this share doesn't know to have leased, because there are so \
         many: node-10, node-11, node-12, and 6 more. Nothing of them is deleted: see the condition AggregateMembersKnown"
    );
    let ready = condition(&cluster, "prod", "Ready");
    assert_ne!(ready[1], "NodeLost");
    assert_ne!(ready[1], "WaitingForNova", "no server waits for them");

    nova.occupy("node-b", 1, 0);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
}

#[test]
fn node_that_was_wiped_is_removable_before_its_share_is_reconciled() {
    let (mut cluster, _) = started();
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    later(&mut cluster);
    pod(&mut cluster, "drain", "node-b", None);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
    pod(&mut cluster, "wipe", "node-b", Some(true));
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(lease(&cluster, "node-b"), None);
    assert_eq!(removable(&cluster), json!(["node-b"]));
    later(&mut cluster);
    assert_eq!(lost(&cluster), Value::Null);
}
