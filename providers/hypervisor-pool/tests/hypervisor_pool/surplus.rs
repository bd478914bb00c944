//! The choice of the nodes that a share gives up.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};
use serde_json::{Value, json};

use crate::dead::{start, stop};
use crate::drain::phase;
use crate::fixture::*;
use crate::nova::{Nova, later, service, started};

/// The nodes of prod that are drained.
fn draining(cluster: &Cluster) -> Vec<&'static str> {
    let nodes = ["node-a", "node-b", "node-d", "node-e"].into_iter();
    nodes
        .filter(|node| phase(cluster, node).is_some())
        .collect()
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
        assert!(draining(&cluster).is_empty(), "the pool asks first");
        let since = cluster.now().to_string();
        let expected = json!({
            "name": "prod", "controlPlane": "prod", "hosts": 2, "due": 1, "surplusSince": since,
        });
        assert_eq!(share_of(&cluster, "prod"), expected);

        reconcile(&mut cluster, "prod");
        let status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
        assert_eq!(status["surplusCounted"], json!(since));
        assert_eq!(status["hosts"][0]["instances"], servers[0]);
        assert_eq!(status["hosts"][1]["instances"], servers[1]);

        reconcile(&mut cluster, "prod");
        assert_eq!(draining(&cluster), [gives]);
        let expected =
            json!({ "name": "prod", "controlPlane": "prod", "hosts": 1, "draining": 1, "due": 1 });
        assert_eq!(share_of(&cluster, "prod"), expected);
    }
}

/// The status of the share has 1,000 of them at most.
#[test]
fn share_with_many_nodes_gives_up_the_one_with_the_fewest_servers() {
    let mut cluster = cluster();
    let (nova, key) = (Nova::connect(&mut cluster), share_key("prod"));
    let mut nodes = vec!["node-a".to_owned(), "node-b".to_owned()];
    for number in 0..1_100 {
        let node = format!("other-{number:04}");
        put_node(&mut cluster, &node, "10.0.1.1");
        nova.set_up(&node, true);
        nodes.push(node);
    }
    for node in &nodes {
        nova.occupy(node, 9, 0);
    }
    nova.occupy("other-1099", 0, 0);
    cluster.settle(&HypervisorPool, &pool_key());
    cluster.edit(&key, |share| {
        share["spec"]["maxHosts"] = json!(1_101);
    });
    cluster.settle(&HypervisorPool, &pool_key());
    cluster.reconcile(&HypervisorShare, &key).unwrap();
    cluster.settle(&HypervisorPool, &pool_key());
    nodes.retain(|node| phase(&cluster, node).is_some());
    assert_eq!(nodes, ["other-1099"]);
}

#[test]
fn servers_that_come_and_go_change_no_choice_and_are_not_counted_after_it() {
    let mut cluster = cluster();
    // Without an aggregate, its nodes work once they are in the same list.
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"] = json!({ "name": "hv-pool-a" });
    });
    let nova = Nova::connect(&mut cluster);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.counted), 0);
    nova.occupy("node-b", 1, 0);
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-a"]);
    let counted = nova.change(|state| state.counted);
    nova.occupy("node-a", 9, 0);
    nova.occupy("node-b", 0, 0);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-a"]);
    assert_eq!(nova.change(|state| state.counted), counted);
    let status = &cluster.get(&share_key("prod")).unwrap()["status"];
    assert_eq!(status["surplusCounted"], Value::Null);
    assert_eq!(status["hosts"][1].get("instances"), None);
}

/// The operator is killed after each write.
#[test]
fn killed_pool_operator_drains_the_nodes_that_it_chose() {
    let (mut cluster, nova) = started();
    for node in ["node-d", "node-e"] {
        put_node(&mut cluster, node, "10.0.1.1");
    }
    for (node, servers) in [("node-a", 9), ("node-b", 0), ("node-d", 9), ("node-e", 0)] {
        nova.occupy(node, servers, 0);
        nova.change(|state| {
            state.services.insert(node.to_owned(), service(node, true));
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
    assert_eq!(draining(&cluster), ["node-b", "node-e"]);
}

#[test]
fn node_whose_servers_nobody_counted_is_given_up_last() {
    let (mut cluster, nova) = started();
    nova.occupy("node-a", 50, 0);
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-a"]);
}

#[test]
fn pool_waits_an_hour_for_a_nova_that_does_not_answer() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    let deadline = cluster.now() + SignedDuration::from_hours(1);
    cluster.wait(SignedDuration::from_secs(3_599));
    reconcile(&mut cluster, "prod");
    let composed = cluster.reconcile(&HypervisorPool, &pool_key());
    let composed = composed.unwrap().unwrap();
    assert_eq!(composed.desired.requeue_at, Some(deadline));
    assert!(draining(&cluster).is_empty());
    let [status, _, message] = condition_of(&cluster, &pool_key(), "SurplusCounted");
    assert_eq!(status, "False");
    assert_eq!(
        message,
        format!(
            "the HypervisorShares prod have more nodes than they are due, and haven't counted the servers on each of them yet: see \
             their condition ComputeServicesUp. At {deadline} nodes are chosen without that"
        )
    );
    cluster.wait(SignedDuration::from_secs(1));
    reconcile(&mut cluster, "prod");
    // Both spread equally well: the last by name.
    assert_eq!(draining(&cluster), ["node-b"]);
    assert_eq!(share_of(&cluster, "prod").get("surplusSince"), None);
}

#[test]
fn pool_waits_an_hour_again_after_its_clock_is_set_back() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    cluster.wait(SignedDuration::from_hours(-1));
    reconcile(&mut cluster, "prod");
    let since = cluster.now().to_string();
    assert_eq!(share_of(&cluster, "prod")["surplusSince"], json!(since));
    assert!(draining(&cluster).is_empty());
    cluster.wait(SignedDuration::from_hours(1));
    reconcile(&mut cluster, "prod");
    assert_eq!(draining(&cluster), ["node-b"]);
}

#[test]
fn nova_that_answers_within_an_hour_decides_what_is_drained() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    later(&mut cluster);
    assert!(draining(&cluster).is_empty());
    nova.change(|state| state.is_unreachable = false);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-a"]);
}

#[test]
fn pool_stops_asking_when_the_surplus_is_gone() {
    let (mut cluster, nova) = started();
    nova.change(|state| state.is_unreachable = true);
    arrive(&mut cluster);
    cluster.delete(&share_key("staging"));
    later(&mut cluster);
    assert_eq!(share_of(&cluster, "prod").get("surplusSince"), None);
    cluster.wait(SignedDuration::from_hours(1));
    later(&mut cluster);
    assert!(draining(&cluster).is_empty());
}

/// The pool's operator was down meanwhile, so that it chooses by neither: what was counted, or that nothing was.
#[test]
fn pool_asks_anew_after_a_pause() {
    for counts in [false, true] {
        let (mut cluster, nova) = started();
        nova.occupy("node-b", 50, 0);
        arrive(&mut cluster);
        if counts {
            cluster.settle(&HypervisorShare, &share_key("prod"));
        }
        nova.occupy("node-a", 50, 0);
        nova.occupy("node-b", 0, 0);
        cluster.wait(SignedDuration::from_hours(2));
        cluster.settle(&HypervisorPool, &pool_key());
        assert!(draining(&cluster).is_empty());
        later(&mut cluster);
        assert_eq!(draining(&cluster), ["node-b"]);
    }
}

#[test]
fn pool_whose_question_is_lost_chooses_by_the_spread() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    arrive(&mut cluster);
    // As an API server does with a CustomResourceDefinition of an earlier version.
    let mut status = cluster.get(&pool_key()).unwrap()["status"].clone();
    for part in status["shares"].as_array_mut().unwrap() {
        part.as_object_mut().unwrap().remove("surplusSince");
    }
    cluster.set_status(&pool_key(), status);
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(draining(&cluster), ["node-b"]);
}

#[test]
fn nodes_without_compute_services_are_given_up_first() {
    let (mut cluster, nova) = started();
    nova.occupy("node-a", 50, 0);
    nova.change(|state| state.services.remove("node-b"));
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-b"]);
}

/// As one whose database was just created anew, and isn't restored yet.
#[test]
fn pool_waits_for_a_nova_without_any_compute_service() {
    let (mut cluster, nova) = started();
    nova.occupy("node-b", 50, 0);
    nova.change(|state| state.services.clear());
    arrive(&mut cluster);
    later(&mut cluster);
    assert!(draining(&cluster).is_empty());
    let status = &cluster.get(&share_key("prod")).unwrap()["status"];
    assert_eq!(status["surplusCounted"], Value::Null);
    for node in ["node-a", "node-b"] {
        nova.set_up(node, true);
    }
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-a"]);
}

#[test]
fn node_that_is_back_is_drained_unless_its_replacement_has_fewer_servers() {
    for (servers, gives) in [([3, 0], "node-d"), ([0, 3], "node-b")] {
        let (mut cluster, nova) = started();
        set(&mut cluster, "prod", "maxHosts", json!(2));
        put_node(&mut cluster, "node-d", "10.0.0.4");
        reconcile(&mut cluster, "prod");
        assert_eq!(leases(&cluster), planes(["prod", "prod", "", ""]));
        stop(&mut cluster, "node-b");
        cluster.wait(SignedDuration::from_mins(15));
        reconcile(&mut cluster, "prod");
        assert_eq!(leases(&cluster), planes(["prod", "prod", "prod", ""]));

        nova.set_up("node-d", true);
        nova.occupy("node-a", 9, 0);
        for (node, count) in ["node-b", "node-d"].into_iter().zip(servers) {
            nova.occupy(node, count, 0);
        }
        start(&mut cluster, "node-b");
        later(&mut cluster);
        assert_eq!(draining(&cluster), [gives]);
    }
}

#[test]
fn share_that_gives_up_all_nodes_is_not_asked() {
    let (mut cluster, nova) = started();
    set(&mut cluster, "prod", "maxHosts", json!(0));
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(draining(&cluster), ["node-a", "node-b"]);
    let counted = nova.change(|state| state.counted);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.counted), counted);
}

#[test]
fn share_without_nova_gives_up_a_node_at_once() {
    let mut cluster = cluster();
    delete_nova(&mut cluster);
    settle(&mut cluster, "prod");
    arrive(&mut cluster);
    later(&mut cluster);
    assert_eq!(draining(&cluster), ["node-b"]);
}
