//! Nodes whose Node or label a person deleted: what is left of them in Nova.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use provider_composer::Resource;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::LEASE;
use provider_hypervisor_pool::nova::Aggregate;
use serde_json::{Value, json};

use crate::drain::{node_key, pod};
use crate::fixture::*;
use crate::nova::{Nova, Placement, State, later, service, started};

/// Both nodes are in the share's aggregate, and node-b is dead.
pub fn with_dead_node() -> (Cluster, Nova) {
    let (mut cluster, nova) = started();
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["availabilityZone"] = json!("zone-a");
    });
    later(&mut cluster);
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
    find_condition(cluster, &share_key("prod"), "LostNodesRemoved")
}

/// The nodes that the share has lost.
pub fn lost(cluster: &Cluster) -> Value {
    cluster.get(&share_key("prod")).unwrap()["status"]["lost"].clone()
}

pub fn node_lost(servers: &str) -> Option<[String; 3]> {
    let message = format!(
        "this share leases these nodes no longer, and Nova has servers or migrations there: {servers}. Where a node has come back as it was, \
         set its label {LEASE} to the control plane of this share. Otherwise make sure that its machine is off, then evacuate or delete \
         what `openstack server list --all-projects --host NODE` lists"
    );
    Some(["False".to_owned(), "NodeLost".to_owned(), message])
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

/// An administrator deleted the compute service of the dead node before its Node was deleted.
#[test]
fn chassis_of_a_deleted_node_is_deleted_once_its_ovn_controller_is_down() {
    let (mut cluster, nova) = with_dead_node();
    nova.delete_service("node-b");
    nova.change(|state| state.chassis.insert("node-b".to_owned(), true));
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(
        removed(&cluster).unwrap(),
        [
            "False",
            "WaitingForNeutron",
            "waits for Neutron to report that ovn-controller is down on node-b, which this share leases no longer"
        ]
        .map(str::to_owned)
    );
    nova.change(|state| state.hides_chassis = true);
    later(&mut cluster);
    assert_eq!(removed(&cluster).unwrap()[0], "Unknown");
    assert_eq!(lost(&cluster), json!(["node-b"]));

    nova.change(|state| {
        state.hides_chassis = false;
        state.chassis.insert("node-b".to_owned(), false);
    });
    later(&mut cluster);
    later(&mut cluster);
    assert!(nova.change(|state| state.chassis.is_empty()));
    assert_eq!(removed(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
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

/// Its machine may be a node of another cluster now.
#[test]
fn compute_service_of_a_host_in_the_aggregate_of_another_share_stays() {
    for has_aggregate in [false, true] {
        let (mut cluster, nova) = match has_aggregate {
            true => with_dead_node(),
            false => started(),
        };
        let other = Aggregate {
            id: 1_000,
            name: "hv-pool-b".to_owned(),
            metadata: BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "other".to_owned())]),
            hosts: BTreeSet::from(["node-b".to_owned()]),
            ..Aggregate::default()
        };
        nova.change(|state| {
            state.services.get_mut("node-b").unwrap().is_up = false;
            state.aggregates.push(other);
        });
        cluster.delete(&node_key("node-b"));
        later(&mut cluster);
        assert_eq!(services(&nova), ["node-a", "node-b"], "{has_aggregate}");
        assert_eq!(lost(&cluster), json!(["node-b"]));
        assert_eq!(
            removed(&cluster).unwrap(),
            [
                "False",
                "WaitingForNova",
                "this share leased these nodes before, and another share has them in its aggregate in Nova, so their compute services stay: \
                 node-b. For a machine that was moved to another cluster, this ends once that share frees it. Otherwise remove each host by \
                 `openstack aggregate remove host AGGREGATE NODE`"
            ]
            .map(str::to_owned)
        );
        let ready = condition(&cluster, "prod", "Ready");
        assert_ne!(ready[1], "WaitingForNova", "no server waits for it");
    }
}

#[test]
fn what_another_share_and_placement_keep_is_reported_together() {
    let (mut cluster, nova) = started();
    let other = Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        metadata: BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "other".to_owned())]),
        hosts: BTreeSet::from(["node-b".to_owned()]),
        ..Aggregate::default()
    };
    nova.change(|state| {
        state.services.remove("node-a");
        let left = ("provider-node-a".to_owned(), "node-a".to_owned());
        state.left.extend([left]);
        state.is_allocated = true;
        state.aggregates.push(other);
    });
    for node in ["node-a", "node-b"] {
        cluster.delete(&node_key(node));
    }
    later(&mut cluster);
    let [_, reason, message] = removed(&cluster).unwrap();
    assert_eq!(reason, "WaitingForNova");
    for part in [
        "so their compute services stay: node-b.",
        "because something is allocated there: node-a (provider-node-a).",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

/// A share that has lost node-b, of which Nova left a resource provider in a Placement that is changed before.
fn with_provider_of_a_lost_node(change: impl FnOnce(&mut State)) -> (Cluster, Nova) {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        state.leaves_providers = true;
        change(state);
    });
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a"]);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    (cluster, nova)
}

#[test]
fn resource_provider_of_a_deleted_node_is_deleted_once_nothing_is_allocated() {
    let (mut cluster, nova) = with_provider_of_a_lost_node(|state| state.is_allocated = true);
    assert_eq!(
        removed(&cluster).unwrap(),
        [
            "False",
            "WaitingForPlacement",
            "Placement keeps resource providers of nodes that this share leases no longer, because something is allocated there: node-b \
             (provider-node-b). See `openstack resource provider show --allocations ID`, and remove allocations of servers that run on \
             other hosts or don't exist any more by `openstack resource provider allocation unset --provider ID SERVER`"
        ]
        .map(str::to_owned)
    );
    let ready = condition(&cluster, "prod", "Ready");
    assert_ne!(ready[1], "WaitingForPlacement", "no server waits for it");
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");

    nova.change(|state| state.is_allocated = false);
    later(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
    assert_eq!(removed(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
}

#[test]
fn resource_provider_of_a_deleted_node_is_remembered_while_placement_does_not_answer() {
    let silent = |state: &mut State| state.placement = Placement::Silent;
    let (mut cluster, nova) = with_provider_of_a_lost_node(silent);
    assert_eq!(
        removed(&cluster).unwrap(),
        [
            "Unknown",
            "LookupFailed",
            "Placement can't be asked for resource providers of node-b, which this share leases no longer: nova doesn't answer"
        ]
        .map(str::to_owned)
    );
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
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

/// An administrator deleted the compute service, and something is on its way to the host.
#[test]
fn resource_provider_of_a_deleted_node_with_migrations_stays() {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        state.services.remove("node-b");
        state.aggregates[0].hosts.remove("node-b");
        let left = ("provider-node-b".to_owned(), "node-b".to_owned());
        state.left.extend([left]);
    });
    nova.occupy("node-b", 0, 1);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(nova.change(|state| state.left.len()), 1);
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
        removed(&cluster).unwrap(),
        [
            "False",
            "WaitingForNova",
            "waits for Nova to report that nova-compute is down on node-b, which this share leases no longer"
        ]
        .map(str::to_owned)
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
        removed(&cluster).unwrap(),
        [
            "Unknown",
            "LookupFailed",
            "Nova can't be asked what is on node-b, which this share leases no longer"
        ]
        .map(str::to_owned)
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

/// Hosts of other pools, and those that an administrator runs, aren't in the aggregate of this share.
#[test]
fn compute_services_outside_of_the_aggregate_stay() {
    let (mut cluster, nova) = with_dead_node();
    let aggregate = Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        hosts: BTreeSet::from(["other".to_owned()]),
        ..Aggregate::default()
    };
    nova.change(|state| {
        state
            .services
            .insert("other".to_owned(), service("other", false));
        state.aggregates.push(aggregate);
    });
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a", "other"]);
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
