//! The choice of the nodes that a share gives up.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::Service;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};
use serde_json::{Value, json};

use crate::drain::phase;
use crate::fixture::*;
use crate::nova::{later, started};

/// The nodes of prod that are drained.
fn drained(cluster: &Cluster) -> Vec<&'static str> {
    let nodes = ["node-a", "node-b", "node-d", "node-e"].into_iter();
    nodes
        .filter(|node| phase(cluster, node).is_some())
        .collect()
}

fn part(cluster: &Cluster) -> Value {
    share_of(cluster, "prod")
}

/// Adds a share that is due one of prod's two nodes. Only the pool knows of it yet.
fn arrive(cluster: &mut Cluster) {
    put_share(cluster, "staging", json!({}));
    cluster.settle(&HypervisorPool, &pool_key());
}

#[test]
fn share_gives_up_the_node_with_the_fewest_servers() {
    for (servers, gives) in [
        ([0, 50], "node-a"),
        ([50, 0], "node-b"),
        ([2, 50], "node-a"),
    ] {
        let (mut cluster, nova) = started();
        for (node, count) in ["node-a", "node-b"].into_iter().zip(servers) {
            nova.occupy(node, count, 0);
        }
        arrive(&mut cluster);
        assert!(drained(&cluster).is_empty(), "the pool asks first");
        let since = cluster.now().to_string();
        let expected = json!({
            "name": "prod", "controlPlane": "prod", "hosts": 2, "due": 1, "surplusSince": since,
        });
        assert_eq!(part(&cluster), expected);

        reconcile(&mut cluster, "prod");
        let status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
        assert_eq!(status["surplusCounted"], json!(since));
        assert_eq!(status["hosts"][0]["instances"], servers[0]);
        assert_eq!(status["hosts"][1]["instances"], servers[1]);

        reconcile(&mut cluster, "prod");
        assert_eq!(drained(&cluster), [gives]);
        let expected =
            json!({ "name": "prod", "controlPlane": "prod", "hosts": 1, "draining": 1, "due": 1 });
        assert_eq!(part(&cluster), expected);
    }
}

#[test]
fn servers_that_come_and_go_change_no_choice_and_are_not_counted_after_it() {
    let (mut cluster, nova) = started();
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.counted), 0);
    nova.occupy("node-b", 1, 0);
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(drained(&cluster), ["node-a"]);
    let counted = nova.change(|state| state.counted);
    nova.occupy("node-a", 9, 0);
    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(drained(&cluster), ["node-a"]);
    assert_eq!(nova.change(|state| state.counted), counted);
    let status = &cluster.get(&share_key("prod")).unwrap()["status"];
    assert_eq!(status["surplusCounted"], Value::Null);
    assert_eq!(status["hosts"][1].get("instances"), None);
}

/// The operator is killed after each write.
#[test]
fn choice_goes_on_where_it_was_after_a_kill() {
    let (mut cluster, nova) = started();
    for node in ["node-d", "node-e"] {
        put_node(&mut cluster, node, "10.0.1.1");
    }
    for (node, servers) in [("node-a", 9), ("node-b", 0), ("node-d", 9), ("node-e", 0)] {
        nova.occupy(node, servers, 0);
        nova.change(|state| {
            let service = Service {
                id: format!("id-{node}"),
                is_up: true,
                disabled: None,
            };
            state.services.insert(node.to_owned(), service);
        });
    }
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod"; 4]));
    put_share(&mut cluster, "staging", json!({}));
    for _ in 0..10 {
        let _ = cluster.reconcile_until(&HypervisorPool, &pool_key(), 1);
        cluster.settle(&HypervisorShare, &share_key("prod"));
        cluster.wait(SignedDuration::from_secs(1));
    }
    assert_eq!(drained(&cluster), ["node-b", "node-e"]);
}

#[test]
fn node_whose_servers_nobody_counted_is_given_up_last() {
    let (mut cluster, nova) = started();
    nova.occupy("node-a", 50, 0);
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(drained(&cluster), ["node-a"]);
}

/// By name, as both spread equally well.
#[test]
fn pool_waits_five_minutes_for_a_nova_that_does_not_answer() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    let deadline = cluster.now() + SignedDuration::from_mins(5);
    cluster.wait(SignedDuration::from_secs(299));
    reconcile(&mut cluster, "prod");
    let composed = cluster.reconcile(&HypervisorPool, &pool_key());
    let composed = composed.unwrap().unwrap();
    assert_eq!(composed.desired.requeue_at, Some(deadline));
    assert!(drained(&cluster).is_empty());
    cluster.wait(SignedDuration::from_secs(1));
    reconcile(&mut cluster, "prod");
    assert_eq!(drained(&cluster), ["node-b"]);
    assert_eq!(part(&cluster).get("surplusSince"), None);
}

#[test]
fn nova_that_answers_in_time_is_heard() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    later(&mut cluster);
    assert!(drained(&cluster).is_empty());
    nova.change(|state| state.is_unreachable = false);
    later(&mut cluster);
    assert_eq!(drained(&cluster), ["node-a"]);
}

#[test]
fn surplus_that_goes_away_is_asked_for_no_longer() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    cluster.delete(&share_key("staging"));
    later(&mut cluster);
    assert_eq!(part(&cluster).get("surplusSince"), None);
    cluster.wait(SignedDuration::from_mins(5));
    later(&mut cluster);
    assert!(drained(&cluster).is_empty());
}

#[test]
fn share_that_gives_up_all_nodes_is_not_asked() {
    let (mut cluster, nova) = started();
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["maxHosts"] = json!(0);
    });
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(drained(&cluster), ["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.counted), 0);
}

#[test]
fn nodes_that_never_ran_nova_compute_are_empty() {
    let mut cluster = cluster();
    for cell in ["cell1", "cell2"] {
        cluster.delete(&Key::of::<Secret>(
            "openstack-prod",
            &format!("nova-{cell}-compute"),
        ));
    }
    settle(&mut cluster, "prod");
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(drained(&cluster), ["node-b"]);
}
