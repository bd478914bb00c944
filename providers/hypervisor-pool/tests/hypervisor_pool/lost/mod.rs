//! Nodes whose Node or label a person deleted: what is left of them in Nova.

mod leftovers;
mod others;

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Node;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::LEASE;
use serde_json::{Value, json};

use crate::drain::{node_key, pod};
use crate::fixture::*;
use crate::nova::{Nova, Placement, in_zone_a, later, service, started};

/// Both nodes are in the share's aggregate, and node-b is dead.
pub fn with_dead_node() -> (Cluster, Nova) {
    let (cluster, nova) = in_zone_a();
    assert_eq!(members(&nova), ["node-a", "node-b"]);
    nova.change(|state| state.services.get_mut("node-b").unwrap().is_up = false);
    (cluster, nova)
}

fn members(nova: &Nova) -> Vec<String> {
    nova.change(|state| state.aggregates[0].hosts.iter().cloned().collect())
}

fn services(nova: &Nova) -> Vec<String> {
    nova.change(|state| state.services.keys().cloned().collect())
}

/// The condition, which is only there while something is left.
pub fn removed(cluster: &Cluster) -> Option<[String; 3]> {
    cluster.condition(&share_key("prod"), "LostNodesRemoved")
}

/// The nodes that the share has lost.
pub fn lost(cluster: &Cluster) -> Value {
    cluster.get(&share_key("prod")).unwrap()["status"]["lost"].clone()
}

/// What the condition is to say.
pub fn said(status: &str, reason: &str, message: &str) -> Option<[String; 3]> {
    Some([status, reason, message].map(str::to_owned))
}

pub fn node_lost(servers: &str) -> Option<[String; 3]> {
    let message = format!(
        "this share leases these nodes no longer, and Nova has servers or migrations there: {servers}. Where a node has come back as it was, \
         set its label {LEASE} to the control plane of this share. Otherwise make sure that its machine is off, then evacuate or delete \
         what `openstack server list --all-projects --host NODE` lists"
    );
    said("False", "NodeLost", &message)
}

#[test]
fn compute_service_of_a_deleted_node_is_deleted_with_it() {
    let (mut cluster, nova) = with_dead_node();
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a", "node-b"], "it may come back");
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a"]);
    assert_eq!(members(&nova), ["node-a"]);
    assert_eq!(removed(&cluster), None);
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

#[test]
fn servers_of_a_deleted_node_are_reported_until_they_are_evacuated() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 2, 1);
    cluster.delete(&node_key("node-b"));
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (3)"));
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NodeLost");
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
    assert_eq!(
        members(&nova),
        ["node-a", "node-b"],
        "its servers keep their zone"
    );
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");

    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a"]);
    assert_eq!(removed(&cluster), None);
}

/// It names neither an aggregate nor a zone.
#[test]
fn share_without_an_aggregate_deletes_the_compute_service_of_a_deleted_node() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.services.get_mut("node-b").unwrap().is_up = false);
    nova.occupy("node-b", 1, 0);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a"]);
    assert_eq!(removed(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
}

/// A status has 1,000 of the leased nodes at most.
#[test]
fn node_that_the_status_did_not_name_is_lost_by_the_pod_that_protected_it() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    let mut status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
    status["hosts"].as_array_mut().unwrap().truncate(1);
    cluster.set_status(&share_key("prod"), status);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
}

/// Lets a share have lost so many nodes before, whose names begin so, and of which Placement doesn't say whether it has them.
pub fn lose(cluster: &mut Cluster, nova: &Nova, count: u32, name: &str) -> Vec<String> {
    nova.change(|state| state.placement = Placement::Silent);
    let names = (0..count).map(|number| format!("{name}-{number:04}"));
    let names: Vec<String> = names.collect();
    let mut status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
    status["lost"] = json!(names);
    cluster.set_status(&share_key("prod"), status);
    names
}

/// A status has 1,000 lost nodes at most, and nothing else tells of those that it names already.
#[rstest::rstest]
#[case::that_sorts_before("earlier")]
#[case::that_sorts_after("worker")]
fn pod_protects_a_lost_node_until_the_status_has_room_for_its_name(#[case] name: &str) {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    let earlier = lose(&mut cluster, &nova, 1_000, name);
    for node in ["node-b", "node-a"] {
        cluster.delete(&node_key(node));
        later(&mut cluster);
        assert_eq!(lost(&cluster), json!(earlier));
        let hold = Key::of::<StatefulSet>("agents-prod", "hold-node-b");
        assert!(cluster.get(&hold).is_some(), "without {node}");
    }
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    let names = lost(&cluster);
    assert!(names.as_array().unwrap().contains(&json!("node-b")));
    let hold = Key::of::<StatefulSet>("agents-prod", "hold-node-b");
    assert_eq!(cluster.get(&hold), None);
}

/// The labels are the lease: a person who removes them by hand ends it as one does who deletes the Node.
#[test]
fn node_that_lost_its_label_is_lost_to_the_share() {
    let (mut cluster, nova) = with_dead_node();
    cluster.edit(&node_key("node-b"), |node| {
        node["spec"] = json!({ "unschedulable": true });
        let labels = node["metadata"]["labels"].as_object_mut().unwrap();
        labels.remove(LEASE).unwrap();
    });
    later(&mut cluster);
    assert_eq!(lease(&cluster, "node-b"), None);
    assert_eq!(services(&nova), ["node-a"]);
}

#[test]
fn compute_service_stays_while_it_reports() {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| state.services.get_mut("node-b").unwrap().is_up = true);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a", "node-b"]);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "False: WaitingForNova: waits for Nova to report that nova-compute is down on node-b, which this share leases no longer"
    );
}

#[test]
fn nothing_is_deleted_while_something_can_not_be_read() {
    let (mut cluster, nova) = with_dead_node();
    let calls = nova.change(|state| state.calls);
    let stays = |cluster: &mut Cluster| {
        for _ in 0..3 {
            cluster.wait(SignedDuration::from_secs(15));
            reconcile(cluster, "prod");
        }
        assert_eq!(services(&nova), ["node-a", "node-b"]);
        assert_eq!(nova.change(|state| state.calls), calls);
    };
    nova.change(|state| state.silent.insert("node-b".to_owned()));
    let node = cluster.get(&node_key("node-b")).unwrap().clone();
    cluster.delete(&node_key("node-b"));
    stays(&mut cluster);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "Unknown: LookupFailed: Nova can't be asked what is on node-b, which this share leases no longer"
    );
    nova.change(|state| state.silent.clear());
    for key in [node_key("node-b"), node_key("node-a")] {
        cluster.set_readable(&key, false);
        stays(&mut cluster);
        cluster.set_readable(&key, true);
    }
    cluster.set_kind_readable(Node::KIND, false);
    stays(&mut cluster);
    cluster.set_kind_readable(Node::KIND, true);
    nova.change(|state| state.is_unreachable = true);
    stays(&mut cluster);
    nova.change(|state| state.is_unreachable = false);
    cluster.put(&node_key("node-b"), &node);
    stays(&mut cluster);
}

#[test]
fn few_of_many_lost_nodes_are_asked_about_at_once_and_all_in_the_end() {
    let (mut cluster, nova) = with_dead_node();
    let lost: Vec<String> = (10..40).map(|number| format!("node-{number}")).collect();
    for node in &lost {
        put_node(&mut cluster, node, "10.0.1.1");
        nova.change(|state| state.services.insert(node.clone(), service(node, false)));
    }
    later(&mut cluster);
    later(&mut cluster);
    assert_eq!(members(&nova).len(), 2 + lost.len());
    for node in &lost {
        nova.occupy(node, 1, 0);
        cluster.delete(&node_key(node));
    }
    later(&mut cluster);
    nova.change(|state| state.asked.clear());
    cluster.wait(SignedDuration::from_secs(15));
    reconcile(&mut cluster, "prod");
    assert_eq!(nova.change(|state| state.asked.len()), 8);
    let [_, reason, message] = removed(&cluster).unwrap();
    assert_eq!(reason, "NodeLost");
    let which = "this share leases these 30 nodes no longer, and Nova may have servers or migrations on some of them: node-10, node-11, node-12, \
                 and 27 more. ";
    assert!(message.starts_with(which), "{message}");
    let writes = cluster.writes();
    for _ in 0..5 {
        cluster.wait(SignedDuration::from_secs(15));
        reconcile(&mut cluster, "prod");
    }
    assert_eq!(cluster.writes(), writes, "whichever are asked about");
    nova.occupy("node-39", 0, 0);
    for _ in 0..20 {
        later(&mut cluster);
    }
    assert_eq!(nova.change(|state| state.asked.len()), lost.len());
    assert!(!services(&nova).contains(&"node-39".to_owned()));
    assert_eq!(services(&nova).len(), 2 + lost.len() - 1);
}

#[test]
fn deleted_share_does_not_wait_for_servers_of_lost_nodes() {
    let (mut cluster, nova) = with_dead_node();
    nova.occupy("node-b", 1, 0);
    cluster.delete(&node_key("node-b"));
    cluster.delete(&share_key("prod"));
    pod(&mut cluster, "drain", "node-a", Some(true));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "Draining");
    pod(&mut cluster, "drain", "node-a", None);
    for _ in 0..2 {
        cluster.wait(SignedDuration::from_secs(15));
        reconcile(&mut cluster, "prod");
    }
    pod(&mut cluster, "wipe", "node-a", Some(true));
    reconcile(&mut cluster, "prod");
    assert_eq!(cluster.get(&share_key("prod")), None);
}
