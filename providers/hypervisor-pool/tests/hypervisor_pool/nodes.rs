//! Nodes that someone renames, labels or claims twice, and a clock that jumps.

use c5c3_api::hypervisor::HypervisorPoolSpec;
use jiff::SignedDuration;
use provider_composer::{Key, ObservedState, Subject};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare, hypervisors};
use serde_json::{Value, json};

use crate::drain::{cordon, drained, label, node_key, phase, pod, report};
use crate::fixture::*;

const LEASE: &str = "c5c3.node-restriction.kubernetes.io/control-plane";
const SINCE: &str = "c5c3.node-restriction.kubernetes.io/lease-since";

const SILENT: &str = "1 of 2 nodes are drained; servers left: 0: node-b waits for its compute service to be disabled and Nova to say what is on it: see the condition \
                      ComputeServicesUp";

#[test]
fn rack_of_a_node_is_the_label_of_the_platform_team_or_else_that_of_metal_operator() {
    let mut cluster = cluster();
    let racks = |cluster: &Cluster| -> Vec<String> {
        let observed = ObservedState::new(cluster, cluster.now());
        let nodes = hypervisors(&observed).unwrap().into_iter();
        nodes.map(|node| node.domain.rack).collect()
    };
    assert_eq!(racks(&cluster), ["", ""]);
    for node in ["node-a", "node-b"] {
        cluster.edit(&node_key(node), |node| {
            node["metadata"]["labels"]["metadata.metal.ironcore.dev/rack"] = json!("1-2");
        });
    }
    assert_eq!(racks(&cluster), ["1-2", "1-2"]);
    set_label(&mut cluster, "node-b", "topology.c5c3.io/rack", "left");
    assert_eq!(racks(&cluster), ["1-2", "left"]);
}

/// A capacity that no machine has, which a kubelet reports, must not make the status of the pool one that the API server refuses.
#[test]
fn capacity_that_no_node_has_is_a_number_of_json() {
    let mut cluster = cluster();
    set(&mut cluster, "prod", "maxHosts", json!(1));
    for node in ["node-a", "node-b", "node-c"] {
        let mut status = cluster.get(&node_key(node)).unwrap()["status"].clone();
        let most = "9".repeat(18);
        status["capacity"] = json!({ "cpu": most, "memory": most });
        cluster.set_status(&node_key(node), status);
    }
    cluster.settle(&HypervisorPool, &pool_key());
    let status = &cluster.get(&pool_key()).unwrap()["status"];
    assert_eq!(status["nodes"]["free"], json!(1));
    assert_eq!(status["freeVcpus"], json!(1_u64 << 53));
}

#[test]
fn two_pools_change_nothing_until_one_of_them_is_deleted() {
    let mut cluster = settled();
    let second = Key::of::<Subject<HypervisorPoolSpec>>("", "second");
    let pool = json!({ "metadata": { "name": "second" }, "spec": { "mode": "Shared" } });
    cluster.put(&second, &pool);
    put_node(&mut cluster, "node-d", "10.0.0.4");
    cordon(&mut cluster, "node-b", true);
    for key in [pool_key(), second.clone()] {
        cluster.settle(&HypervisorPool, &key);
    }
    cluster.settle(&HypervisorShare, &share_key("prod"));
    assert_eq!(leases(&cluster), planes(["prod", "prod", "", ""]));
    assert_eq!(phase(&cluster, "node-b"), None);
    for key in [pool_key(), second.clone(), share_key("prod")] {
        assert_eq!(
            condition_of(&cluster, &key, "Ready").join(": "),
            "False: SeveralPools: this cluster has the HypervisorPools pool, second, and a cluster is one pool: delete all but one of them"
        );
    }
    cluster.delete(&second);
    reconcile(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "prod", "prod", ""]));
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
}

/// The machine is the same; what Nova reported is of another host.
#[test]
fn renamed_node_is_another_node() {
    let mut cluster = settled();
    cordon(&mut cluster, "node-b", true);
    settle(&mut cluster, "prod");
    report(&mut cluster, "node-b", "Removed", 0);
    cluster.delete(&node_key("node-b"));
    put_node(&mut cluster, "node-d", "10.0.0.2");
    settle(&mut cluster, "prod");
    assert_eq!(leases(&cluster), planes(["prod", "", "prod", ""]));
    assert_eq!(phase(&cluster, "node-d"), None);
    cordon(&mut cluster, "node-d", true);
    assert_eq!(drained(&mut cluster)[2], SILENT.replace("node-b", "node-d"));
}

#[test]
fn report_of_an_earlier_drain_never_counts_however_the_clock_jumps() {
    for jump in [0, 1, -1, -3600] {
        let mut cluster = settled();
        cordon(&mut cluster, "node-b", true);
        settle(&mut cluster, "prod");
        report(&mut cluster, "node-b", "Removed", 0);
        let earlier = label(&cluster, "node-b", SINCE);
        cordon(&mut cluster, "node-b", false);
        settle(&mut cluster, "prod");
        assert_eq!(phase(&cluster, "node-b"), None);
        cluster.wait(SignedDuration::from_secs(jump));
        cordon(&mut cluster, "node-b", true);
        pod(&mut cluster, "drain", "node-b", Some(true));
        assert_eq!(drained(&mut cluster)[2], SILENT, "{jump} s later");
        let later = label(&cluster, "node-b", SINCE);
        assert!(later > earlier, "{later:?} after {earlier:?}");
    }
}

/// Nothing on a free node tells when it was leased before. The share hasn't been reconciled since, or a person's report is left.
#[test]
fn node_that_is_leased_again_is_dated_later_than_any_report_of_it() {
    for (keeps_lease, is_of_person) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let mut cluster = settled();
        if is_of_person {
            report(&mut cluster, "node-b", "Removed", 0);
            cluster.set_status(&share_key("prod"), json!({}));
        }
        let earlier = label(&cluster, "node-b", SINCE);
        cluster.edit(&node_key("node-b"), |node| {
            let labels = node["metadata"]["labels"].as_object_mut().unwrap();
            labels.remove(SINCE);
            if !keeps_lease {
                labels.remove(LEASE);
            }
        });
        cluster.wait(SignedDuration::from_mins(-1));
        cluster.reconcile(&HypervisorPool, &pool_key()).unwrap();
        assert_eq!(lease(&cluster, "node-b").as_deref(), Some("prod"));
        let later = label(&cluster, "node-b", SINCE);
        assert!(
            earlier.is_some() && later > earlier,
            "{later:?} after {earlier:?}"
        );
    }
}

fn set_lease(cluster: &mut Cluster, node: &str, control_plane: &str) {
    set_label(cluster, node, LEASE, control_plane);
}

/// libvirt has the servers of the former control plane, of which the new one's Nova knows nothing.
#[test]
fn node_that_is_moved_by_hand_is_not_freed_before_libvirt_is_empty() {
    let mut cluster = cluster();
    put_share(&mut cluster, "staging", json!({}));
    put_node(&mut cluster, "node-d", "10.0.0.4");
    put_node(&mut cluster, "node-e", "10.0.0.5");
    let everything = |cluster: &mut Cluster| {
        for _ in 0..3 {
            reconcile(cluster, "prod");
            reconcile(cluster, "staging");
            cluster.wait(SignedDuration::from_secs(15));
        }
    };
    everything(&mut cluster);
    let before = leases(&cluster);
    let moved = before
        .iter()
        .position(|lease| lease.as_deref() == Some("prod"));
    let moved = ["node-a", "node-b", "node-d", "node-e"][moved.unwrap()];
    set_lease(&mut cluster, moved, "staging");
    cordon(&mut cluster, moved, true);
    everything(&mut cluster);
    let since = label(&cluster, moved, SINCE);
    cluster.edit(&share_key("staging"), |share| {
        share["spec"]["computeServices"] =
            json!([{ "name": moved, "since": since, "state": "Removed", "instances": 0 }]);
    });
    everything(&mut cluster);
    assert_eq!(lease(&cluster, moved).as_deref(), Some("staging"));
    assert_eq!(phase(&cluster, moved).as_deref(), Some("Draining"));
    assert_eq!(
        condition(&cluster, "staging", "NodesDrained")[2],
        format!(
            "1 of 3 nodes are drained; servers left: 0: {moved} waits for the DaemonSet drain to report that libvirt has no domain"
        )
    );
}

#[test]
fn change_of_a_share_writes_only_the_nodes_that_move() {
    let mut cluster = cluster();
    put_share(&mut cluster, "staging", json!({}));
    for number in 10..48 {
        put_node(&mut cluster, &format!("node-{number}"), "10.0.1.1");
    }
    reconcile(&mut cluster, "prod");
    reconcile(&mut cluster, "staging");
    let nodes = |cluster: &Cluster| {
        let nodes = cluster.objects().iter();
        let nodes = nodes.filter(|(key, _)| key.kind == node_key("").kind);
        nodes
            .map(|(_, node)| Value::clone(node))
            .collect::<Vec<_>>()
    };
    let before = nodes(&cluster);
    set(&mut cluster, "prod", "weight", json!(3));
    // Without a Nova, the pool waits an hour for the number of servers.
    cluster.settle(&HypervisorPool, &pool_key());
    assert!(nodes(&cluster) == before);
    cluster.wait(SignedDuration::from_hours(1));
    let writes = cluster.writes();
    cluster.reconcile(&HypervisorPool, &pool_key()).unwrap();
    let after = nodes(&cluster);
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let phases: Vec<&Value> = moved
        .map(|(_, node)| &node["metadata"]["labels"]["c5c3.node-restriction.kubernetes.io/lease-phase"])
        .collect();
    assert_eq!(phases, [&json!("Draining"); 10]);
    let status = 1;
    assert_eq!(cluster.writes() - writes, 10 + status);
    // The share isn't asked any more.
    let writes = cluster.writes();
    cluster.settle(&HypervisorPool, &pool_key());
    assert_eq!(cluster.writes() - writes, status);
}
