//! Nodes that aren't Ready for long.

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{Composed, Key};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::HypervisorPool;
use serde_json::{Value, json};

use crate::drain::{cordon, node_key, phase, pod, released};
use crate::fixture::*;

/// The kubelet of a node stops, as the node's controller reports it.
pub fn stop(cluster: &mut Cluster, node: &str) {
    let since = cluster.now().to_string();
    let ready = json!({ "type": "Ready", "status": "Unknown", "lastTransitionTime": since });
    cluster.set_status(&node_key(node), json!({ "conditions": [ready] }));
}

/// The kubelet of a node reports again.
pub fn start(cluster: &mut Cluster, node: &str) {
    let since = cluster.now().to_string();
    let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": since });
    cluster.set_status(&node_key(node), json!({ "conditions": [ready] }));
}

fn wait(cluster: &mut Cluster, minutes: i64) {
    cluster.wait(SignedDuration::from_mins(minutes));
}

fn reconcile_pool(cluster: &mut Cluster) -> Composed {
    cluster.settle(&HypervisorPool, &pool_key());
    let composed = cluster.reconcile(&HypervisorPool, &pool_key());
    composed.unwrap().unwrap()
}

/// The condition, which is only there while a node is dead.
fn nodes_ready(cluster: &Cluster) -> Option<[String; 3]> {
    cluster.condition(&pool_key(), "NodesReady")
}

#[test]
fn node_that_is_not_ready_is_dead_after_15_minutes_and_the_pool_wakes_then() {
    let mut cluster = settled();
    stop(&mut cluster, "node-b");
    let dead_at = cluster.now() + SignedDuration::from_mins(15);
    wait(&mut cluster, 14);
    let composed = reconcile_pool(&mut cluster);
    assert_eq!(composed.desired.requeue_at, Some(dead_at));
    assert_eq!(share_of(&cluster, "prod")["hosts"], 2);
    assert_eq!(nodes_ready(&cluster), None);

    wait(&mut cluster, 1);
    let composed = reconcile_pool(&mut cluster);
    assert_eq!(composed.desired.requeue_at, None);
    let part = json!({ "name": "prod", "controlPlane": "prod", "hosts": 1, "due": 2 });
    assert_eq!(share_of(&cluster, "prod"), part);
    assert_eq!(lease(&cluster, "node-b").as_deref(), Some("prod"));
    assert_eq!(phase(&cluster, "node-b"), None, "it isn't drained for that");
    let since = dead_at - SignedDuration::from_mins(15);
    let message = format!(
        "these nodes haven't been Ready for 15 minutes: node-b (since {since}, leased by prod). They keep their leases, because servers \
         may still run there. Repair them, or cordon those that stay away, so that others replace them. Where a machine is off for good, \
         delete its Node, and evacuate its servers"
    );
    let expected = ["False".to_owned(), "NodeNotReady".to_owned(), message];
    assert_eq!(nodes_ready(&cluster), Some(expected));
    assert_eq!(condition_of(&cluster, &pool_key(), "Ready")[0], "True");

    start(&mut cluster, "node-b");
    reconcile_pool(&mut cluster);
    assert_eq!(share_of(&cluster, "prod")["hosts"], 2);
    assert_eq!(nodes_ready(&cluster), None);
}

#[test]
fn minima_that_dead_nodes_leave_unmet_name_these_nodes() {
    let mut cluster = cluster();
    set(&mut cluster, "prod", "minHosts", json!(2));
    settle(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "NodesLeased")[0], "True");
    stop(&mut cluster, "node-b");
    wait(&mut cluster, 15);
    settle(&mut cluster, "prod");
    assert_eq!(
        condition_of(&cluster, &pool_key(), "MinHostsLeased").join(": "),
        "False: Overcommitted: no free node is left for minHosts of the HypervisorShares prod (1 of 2): repair node-b (not Ready for 15 minutes), give 1 more \
         nodes the label node-role.kubernetes.io/hypervisor=\"\", or lower minHosts"
    );
    assert_eq!(
        condition(&cluster, "prod", "NodesLeased").join(": "),
        "False: WaitingForNodes: 1 of 2 nodes are leased and work, 0 are free: repair node-b (not Ready for 15 minutes), or give more nodes the label \
         node-role.kubernetes.io/hypervisor=\"\""
    );
    let status = &cluster.get(&share_key("prod")).unwrap()["status"];
    assert_eq!(status["hostCount"], 2, "its servers may be there");

    // Another node takes its place; the dead one isn't given away.
    put_node(&mut cluster, "node-d", "10.0.0.4");
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "prod", ""]));
    assert_eq!(condition(&cluster, "prod", "NodesLeased")[0], "True");
}

#[test]
fn free_node_that_is_dead_is_not_divided() {
    let mut cluster = settled();
    put_node(&mut cluster, "node-d", "10.0.0.4");
    stop(&mut cluster, "node-d");
    put_share(&mut cluster, "staging", json!({}));
    set(&mut cluster, "staging", "minHosts", json!(1));
    settle(&mut cluster, "prod");
    assert_eq!(share_of(&cluster, "prod")["due"], 2, "node-d may be back");
    assert_eq!(phase(&cluster, "node-b"), None);
    wait(&mut cluster, 15);
    settle(&mut cluster, "prod");
    assert_eq!(share_of(&cluster, "prod")["due"], 1);
    // Without a Nova, the pool waits an hour for the number of servers.
    wait(&mut cluster, 60);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
}

/// The network between the nodes and the API server fails, and the nodes of one share are back first.
#[test]
fn nodes_are_not_dead_while_more_than_half_of_the_pool_is_down() {
    let mut cluster = settled();
    put_node(&mut cluster, "node-d", "10.0.0.4");
    put_node(&mut cluster, "node-e", "10.0.0.5");
    put_share(&mut cluster, "staging", json!({}));
    settle(&mut cluster, "staging");
    let before = leases(&cluster);
    for node in ["node-a", "node-b", "node-d", "node-e"] {
        stop(&mut cluster, node);
    }
    wait(&mut cluster, 60);
    let composed = reconcile_pool(&mut cluster);
    assert_eq!(composed.desired.requeue_at, None, "it is no hot loop");
    let [_, _, message] = nodes_ready(&cluster).unwrap();
    let why = "For 4 of them, shares get no others, because so many are down at once. ";
    assert!(message.contains(why), "{message}");

    start(&mut cluster, "node-a");
    reconcile_pool(&mut cluster);
    assert_eq!(leases(&cluster), before);
    for share in ["prod", "staging"] {
        assert_eq!(share_of(&cluster, share)["due"], 2);
    }
    start(&mut cluster, "node-d");
    put_node(&mut cluster, "node-f", "10.0.0.6");
    put_node(&mut cluster, "node-g", "10.0.0.7");
    reconcile_pool(&mut cluster);
    assert_eq!(leases(&cluster), before);
    let others = ["node-f", "node-g"].map(|node| lease(&cluster, node));
    assert_eq!(
        others,
        [Some("prod".to_owned()), Some("staging".to_owned())]
    );
    assert_eq!(
        share_of(&cluster, "prod"),
        json!({ "name": "prod", "controlPlane": "prod", "hosts": 2, "due": 3 })
    );
}

/// As with a switch that fails.
#[test]
fn nodes_of_a_rack_that_is_down_are_not_replaced_until_most_are_back() {
    let mut cluster = cluster();
    let set = |cluster: &mut Cluster, field: &str, value: u32| {
        cluster.edit(&share_key("prod"), |share| {
            share["spec"][field] = json!(value);
        });
    };
    let rack = ["node-a", "node-b", "node-d", "node-e"];
    put_node(&mut cluster, "node-d", "10.0.0.4");
    put_node(&mut cluster, "node-e", "10.0.0.5");
    for node in rack {
        set_label(&mut cluster, node, "topology.c5c3.io/rack", "a");
    }
    set(&mut cluster, "maxHosts", 4);
    set(&mut cluster, "minHosts", 4);
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod"; 4]));
    let others: Vec<String> = (0..6).map(|number| format!("other-{number}")).collect();
    for other in &others {
        put_node(&mut cluster, other, "10.0.1.1");
    }
    for node in rack {
        stop(&mut cluster, node);
    }
    let leased = |cluster: &Cluster| {
        let leased = others.iter().filter(|node| lease(cluster, node).is_some());
        leased.count()
    };
    wait(&mut cluster, 60);
    settle(&mut cluster, "prod");
    assert_eq!(leased(&cluster), 0);
    let dead = "repair node-a, node-b, node-d, and 1 more (not Ready for 15 minutes), or cordon those that stay away";
    assert_eq!(
        condition_of(&cluster, &pool_key(), "MinHostsLeased"),
        [
            "False".to_owned(),
            "NodeNotReady".to_owned(),
            format!(
                "too few nodes work for minHosts of the HypervisorShares prod (0 of 4), and some of those that are down aren't replaced: \
                 {dead}. See the condition NodesReady"
            )
        ]
    );
    assert_eq!(
        condition(&cluster, "prod", "NodesLeased")[2],
        format!(
            "0 of 4 nodes are leased and work, 6 are free: {dead}, so that others replace them"
        )
    );
    assert_eq!(
        condition(&cluster, "prod", "FurtherNodesLeased")[2],
        format!(
            "4 of 4 nodes that this share is due don't work or aren't free: {dead}, so that others replace them; see the condition \
             NodesReady of the HypervisorPool"
        )
    );

    start(&mut cluster, "node-a");
    settle(&mut cluster, "prod");
    assert_eq!(leased(&cluster), 0);
    start(&mut cluster, "node-b");
    settle(&mut cluster, "prod");
    assert_eq!(leased(&cluster), 1);
    // A person knows that it doesn't come back soon.
    cordon(&mut cluster, "node-d", true);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-d").as_deref(), Some("Draining"));
    assert_eq!(leased(&cluster), 2);
    let deleted = condition_of(&cluster, &pool_key(), "MinHostsLeased");
    assert_eq!(deleted[0], "True");
}

#[test]
fn node_of_which_nobody_says_since_when_it_is_not_ready_counts() {
    let mut cluster = settled();
    for since in [Value::Null, json!("yesterday")] {
        let ready = json!({ "type": "Ready", "status": "False", "lastTransitionTime": since });
        cluster.set_status(&node_key("node-b"), json!({ "conditions": [ready] }));
        wait(&mut cluster, 60);
        let composed = reconcile_pool(&mut cluster);
        assert_eq!(composed.desired.requeue_at, None);
        assert_eq!(share_of(&cluster, "prod")["hosts"], 2);
    }
}

#[test]
fn dead_node_that_is_cordoned_or_whose_share_is_deleted_is_drained() {
    for is_cordoned in [true, false] {
        let mut cluster = settled();
        stop(&mut cluster, "node-b");
        wait(&mut cluster, 15);
        match is_cordoned {
            true => cordon(&mut cluster, "node-b", true),
            false => cluster.delete(&share_key("prod")),
        }
        settle(&mut cluster, "prod");
        assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
        let message = condition(&cluster, "prod", "NodesDrained")[2].clone();
        let waits = "node-b waits for the node to be Ready, or its Node to be deleted";
        assert!(message.contains(waits), "{message}");
    }
}

/// On how many nodes Open vSwitch and nova-compute may be down during an update.
fn limits(cluster: &mut Cluster) -> [Value; 2] {
    settle(cluster, "prod");
    ["openvswitch", "nova-compute"].map(|agent| {
        let key = Key::of::<DaemonSet>("agents-prod", agent);
        let set = cluster.get(&key).unwrap();
        set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"].clone()
    })
}

/// A kubelet that reports that its node isn't Ready may run all agents, and each node that is allowed beside would be one that works.
#[test]
fn agent_that_is_up_on_a_dead_node_allows_no_further_update() {
    let mut cluster = settled();
    stop(&mut cluster, "node-b");
    wait(&mut cluster, 15);
    pod(&mut cluster, "openvswitch", "node-b", Some(true));
    pod(&mut cluster, "nova-compute", "node-b", Some(false));
    assert_eq!(limits(&mut cluster), [json!(1), json!(2)]);
    // Nobody reports that it has ended.
    let key = Key::of::<Pod>("agents-prod", "openvswitch-node-b");
    cluster.edit(&key, |pod| {
        pod["metadata"]["finalizers"] = json!(["example.org/kept"]);
    });
    pod(&mut cluster, "openvswitch", "node-b", Some(true));
    assert_eq!(limits(&mut cluster), [json!(1), json!(2)]);
    cluster.delete(&key);
    assert_eq!(limits(&mut cluster), [json!(2), json!(2)]);
}

#[test]
fn agent_that_can_not_end_on_a_dead_node_does_not_stop_updates() {
    let mut cluster = released();
    stop(&mut cluster, "node-b");
    wait(&mut cluster, 15);
    assert_eq!(limits(&mut cluster), [json!(1), json!("10%")]);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    pod(&mut cluster, "openvswitch", "node-b", Some(false));
    assert_eq!(limits(&mut cluster), [json!(2), json!("10%")]);
}

#[test]
fn updates_of_agents_go_on_beside_dead_nodes() {
    let mut cluster = cluster();
    assert_eq!(limits(&mut cluster), [json!(1), json!("10%")]);
    stop(&mut cluster, "node-b");
    assert_eq!(limits(&mut cluster), [json!(1), json!("10%")]);
    wait(&mut cluster, 15);
    assert_eq!(limits(&mut cluster), [json!(2), json!(2)]);
    // Its agents are still there while it is drained.
    cordon(&mut cluster, "node-b", true);
    reconcile_pool(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert_eq!(limits(&mut cluster), [json!(2), json!(2)]);
    start(&mut cluster, "node-b");
    assert_eq!(limits(&mut cluster), [json!(1), json!("10%")]);
}
