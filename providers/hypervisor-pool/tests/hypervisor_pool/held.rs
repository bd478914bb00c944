//! Shares that get no other nodes than those that they have.

use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::DaemonSet;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::LEASE;
use serde_json::{Value, json};

use crate::dead::stop;
use crate::drain::{cordon, node_key, phase, pod, released};
use crate::fixture::*;

#[test]
fn held_share_keeps_its_nodes_and_gets_no_others() {
    let mut cluster = cluster();
    set(&mut cluster, "prod", "minHosts", json!(2));
    settle(&mut cluster, "prod");
    set(&mut cluster, "prod", "held", json!(true));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "", ""]));
    let part =
        json!({ "name": "prod", "controlPlane": "prod", "hosts": 2, "due": 2, "held": true });
    assert_eq!(share_of(&cluster, "prod"), part);
    assert_eq!(condition(&cluster, "prod", "NodesLeased")[0], "True");

    cluster.delete(&node_key("node-b"));
    put_share(&mut cluster, "staging", json!({}));
    put_node(&mut cluster, "node-e", "10.0.0.5");
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "staging", "staging"]));
    assert_eq!(phase(&cluster, "node-a"), None);
    let minima = condition_of(&cluster, &pool_key(), "MinHostsLeased");
    assert_eq!(minima[0], "True", "nobody waits for more");
    assert_eq!(
        condition(&cluster, "prod", "NodesLeased").join(": "),
        "False: WaitingForNodes: 1 of 2 nodes are leased, and this share gets no others, because its spec.held is true: name the pool in the claim again or \
         allow its namespace in sharing.allowedNamespaces; without a claim, set held to false"
    );

    set(&mut cluster, "prod", "held", json!(false));
    settle(&mut cluster, "prod");
    assert_eq!(share_of(&cluster, "prod")["due"], 2);
}

/// With each node that is replaced it would hold one that others are due.
#[test]
fn held_share_replaces_no_node_that_was_drained_unless_a_person_gives_it_one() {
    let mut cluster = released();
    set(&mut cluster, "prod", "held", json!(true));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    settle(&mut cluster, "prod");
    pod(&mut cluster, "wipe", "node-b", Some(true));
    settle(&mut cluster, "prod");
    cordon(&mut cluster, "node-b", false);
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "", ""]));
    assert_eq!(share_of(&cluster, "prod")["due"], 1);

    set_label(&mut cluster, "node-d", LEASE, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "prod", ""]));
    assert_eq!(share_of(&cluster, "prod")["due"], 2);
}

/// A pool of two nodes each for admin, which is younger, and prod, that becomes dedicated.
fn dedicated() -> Cluster {
    let mut cluster = settled();
    cluster.wait(SignedDuration::from_secs(1));
    put_share(&mut cluster, "admin", json!({}));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    put_node(&mut cluster, "node-e", "10.0.0.5");
    settle(&mut cluster, "admin");
    let shared = planes(["prod", "prod", "admin", "admin"]);
    assert_eq!(leases(&cluster), shared);
    put_pool(&mut cluster, json!({ "mode": "Dedicated" }));
    reconcile(&mut cluster, "prod");
    settle(&mut cluster, "admin");
    assert_eq!(leases(&cluster), shared);
    cluster
}

#[test]
fn second_share_of_a_pool_that_becomes_dedicated_keeps_nodes_and_agents() {
    let mut cluster = dedicated();
    assert_eq!(condition(&cluster, "admin", "NodesLeased")[0], "True");
    assert_ne!(condition(&cluster, "admin", "Ready")[1], "PoolDedicated");
    assert_eq!(share_of(&cluster, "admin")["held"], true);
    assert_eq!(share_of(&cluster, "prod")["held"], Value::Null);

    // Its agents follow changes as before.
    let agent = Key::of::<DaemonSet>("agents-admin", "libvirt");
    let before = cluster.get(&agent).unwrap()["spec"].clone();
    put_pool(
        &mut cluster,
        json!({ "mode": "Dedicated", "images": { "libvirt": "example.org/libvirt:2" } }),
    );
    settle(&mut cluster, "admin");
    assert_ne!(cluster.get(&agent).unwrap()["spec"], before);
}

#[test]
fn second_share_of_a_dedicated_pool_gets_no_other_nodes_and_gives_none_to_the_eldest() {
    let mut cluster = dedicated();
    put_node(&mut cluster, "node-f", "10.0.0.6");
    set(&mut cluster, "prod", "weight", json!(100));
    set(&mut cluster, "admin", "minHosts", json!(4));
    reconcile(&mut cluster, "prod");
    settle(&mut cluster, "admin");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "admin", "admin"]));
    assert_eq!(lease(&cluster, "node-f").as_deref(), Some("prod"));
    assert_eq!(phase(&cluster, "node-d"), None);
    let minima = condition_of(&cluster, &pool_key(), "MinHostsLeased");
    assert_eq!(minima[0], "True");

    // What leaves the pool is drained, and is taken back if it returns in time.
    cordon(&mut cluster, "node-e", true);
    settle(&mut cluster, "admin");
    assert_eq!(phase(&cluster, "node-e").as_deref(), Some("Draining"));
    cordon(&mut cluster, "node-e", false);
    settle(&mut cluster, "admin");
    assert_eq!(phase(&cluster, "node-e"), None);
}

/// Repairing the node helps first.
#[test]
fn held_share_with_a_dead_node_says_by_what_it_is_held() {
    let says = |cluster: &mut Cluster, share: &str, node: &str| {
        set(cluster, share, "minHosts", json!(2));
        settle(cluster, share);
        assert_eq!(condition(cluster, share, "NodesLeased")[0], "True");
        stop(cluster, node);
        cluster.wait(SignedDuration::from_mins(15));
        settle(cluster, share);
        let [status, reason, message] = condition(cluster, share, "NodesLeased");
        assert_eq!([&*status, &*reason], ["False", "WaitingForNodes"]);
        message
    };
    let mut by_spec = cluster();
    settle(&mut by_spec, "prod");
    set(&mut by_spec, "prod", "held", json!(true));
    assert_eq!(
        says(&mut by_spec, "prod", "node-b"),
        "1 of 2 nodes are leased and work, and this share gets no others, because its spec.held is true: repair node-b (not Ready for 15 \
         minutes), or name the pool in the claim again or allow its namespace in sharing.allowedNamespaces; without a claim, set held to \
         false"
    );
    assert_eq!(
        condition(&by_spec, "prod", "FurtherNodesLeased")[2],
        "1 of 2 nodes that this share is due don't work: repair node-b (not Ready for 15 minutes), since this share gets no others"
    );
    let mut by_pool = dedicated();
    assert_eq!(
        says(&mut by_pool, "admin", "node-e"),
        "1 of 2 nodes are leased and work, and this share gets no others, because the HypervisorPool is dedicated to another share: \
         repair node-e (not Ready for 15 minutes), or set the pool's mode to Shared"
    );
}

#[test]
fn third_share_of_a_dedicated_pool_is_told_who_has_it() {
    let mut cluster = dedicated();
    put_share(&mut cluster, "third", json!({}));
    reconcile(&mut cluster, "third");
    assert_eq!(
        condition(&cluster, "third", "Ready").join(": "),
        "False: PoolDedicated: the HypervisorPool pool is dedicated to prod: create the share in the cluster of another pool"
    );
}
