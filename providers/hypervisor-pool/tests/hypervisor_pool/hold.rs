//! What keeps Gardener from deleting a node before it is drained.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::{LEASE, PHASE, SINCE};
use serde_json::{Value, json};

use crate::drain::{cordon, has, node_key, phase, pod, report};
use crate::fixture::*;

fn set_key(node: &str) -> Key {
    Key::of::<StatefulSet>("agents-prod", &format!("hold-{node}"))
}

fn budget_key(node: &str) -> Key {
    Key::of::<PodDisruptionBudget>("agents-prod", &format!("hold-{node}"))
}

/// Whether a node has a pod that isn't evicted.
fn is_held(cluster: &Cluster, node: &str) -> bool {
    let has = |key: Key| cluster.get(&key).is_some();
    let (set, budget) = (has(set_key(node)), has(budget_key(node)));
    assert_eq!(set, budget, "{node} has either both or nothing");
    set
}

fn remove_labels(cluster: &mut Cluster, node: &str, names: &[&str]) {
    cluster.edit(&node_key(node), |node| {
        let labels = node["metadata"]["labels"].as_object_mut().unwrap();
        labels.retain(|name, _| !names.contains(&name.as_str()));
    });
}

/// A share whose node-b is being drained, and has no server.
fn drained() -> Cluster {
    let mut cluster = settled();
    cordon(&mut cluster, "node-b", true);
    settle(&mut cluster, "prod");
    report(&mut cluster, "node-b", "Disabled", 0);
    pod(&mut cluster, "hold", "node-b", Some(true));
    cluster
}

/// A share whose node-b has been released.
fn released() -> Cluster {
    let mut cluster = drained();
    pod(&mut cluster, "drain", "node-b", Some(true));
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    cluster
}

/// Gardener's machine-controller-manager doesn't evict pods of DaemonSets.
#[test]
fn leased_node_has_a_pod_that_is_not_evicted() {
    let cluster = settled();
    let held = ["node-a", "node-b", "node-c"].map(|node| is_held(&cluster, node));
    assert_eq!(held, [true, true, false]);
    let budget = &cluster.get(&budget_key("node-a")).unwrap()["spec"];
    let labels = json!({ "app.kubernetes.io/component": "hold", "c5c3.io/node": "node-a" });
    let selector = json!({ "matchLabels": labels });
    assert_eq!(*budget, json!({ "minAvailable": 1, "selector": selector }));
    let set = &cluster.get(&set_key("node-a")).unwrap()["spec"];
    assert_eq!(set["replicas"], 1);
    assert_eq!(set["updateStrategy"], json!({ "type": "OnDelete" }));
    assert_eq!(set["selector"], selector);
    let template = &set["template"];
    assert_eq!(template["metadata"]["labels"], labels);
    assert_eq!(template["spec"]["nodeName"], "node-a");
    assert_eq!(
        template["spec"]["tolerations"],
        json!([{ "operator": "Exists" }])
    );
    assert_eq!(
        template["spec"]["containers"][0]["securityContext"]["runAsNonRoot"],
        json!(true)
    );
}

/// A share whose node-b is being wiped.
fn wiping() -> Cluster {
    let mut cluster = released();
    pod(&mut cluster, "drain", "node-b", None);
    report(&mut cluster, "node-b", "Removed", 0);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
    cluster
}

#[test]
fn node_is_held_until_its_lease_has_ended() {
    let mut cluster = settled();
    pod(&mut cluster, "hold", "node-b", Some(true));
    cordon(&mut cluster, "node-b", true);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert!(is_held(&cluster, "node-b"), "Nova has reported nothing");

    report(&mut cluster, "node-b", "Disabled", 2);
    pod(&mut cluster, "drain", "node-b", Some(false));
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"), "it has servers");

    report(&mut cluster, "node-b", "Disabled", 0);
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"), "libvirt has a domain");

    pod(&mut cluster, "drain", "node-b", Some(true));
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    assert!(is_held(&cluster, "node-b"), "Nova has its service");

    report(&mut cluster, "node-b", "Removed", 0);
    settle(&mut cluster, "prod");
    assert_eq!(
        phase(&cluster, "node-b").as_deref(),
        Some("Releasing"),
        "an agent runs"
    );
    pod(&mut cluster, "drain", "node-b", None);
    settle(&mut cluster, "prod");
    assert_eq!(
        phase(&cluster, "node-b").as_deref(),
        Some("Wiping"),
        "what holds the node is no agent"
    );
    assert!(is_held(&cluster, "node-b"), "it has files of the share");

    pod(&mut cluster, "wipe", "node-b", Some(true));
    settle(&mut cluster, "prod");
    assert_eq!(lease(&cluster, "node-b"), None);
    assert!(!is_held(&cluster, "node-b"));
    assert!(is_held(&cluster, "node-a"));
}

/// An administrator has started a server there by the host's name.
#[test]
fn node_that_is_drained_again_stays_held() {
    let mut cluster = released();
    assert!(is_held(&cluster, "node-b"));
    report(&mut cluster, "node-b", "Disabled", 1);
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert!(is_held(&cluster, "node-b"));
}

/// The pool frees and leases it before its former share is reconciled.
#[test]
fn node_that_was_wiped_and_is_leased_to_another_is_held_no_longer() {
    let mut cluster = wiping();
    assert!(is_held(&cluster, "node-b"));
    set_label(&mut cluster, "node-b", LEASE, "staging");
    remove_labels(&mut cluster, "node-b", &[PHASE]);
    settle(&mut cluster, "prod");
    assert!(!is_held(&cluster, "node-b"));
    assert!(is_held(&cluster, "node-a"));
}

#[test]
fn node_in_a_phase_that_is_not_known_is_held() {
    let mut cluster = settled();
    set_label(&mut cluster, "node-b", PHASE, "Resting");
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"));
}

#[test]
fn node_that_loses_the_label_of_its_lease_stays_held() {
    let mut cluster = settled();
    cordon(&mut cluster, "node-b", true);
    remove_labels(&mut cluster, "node-b", &[LEASE]);
    settle(&mut cluster, "prod");
    assert_eq!(lease(&cluster, "node-b"), None);
    assert!(is_held(&cluster, "node-b"), "its servers may be there");

    // As the pool says once no server is left.
    remove_labels(&mut cluster, "node-b", &[SINCE]);
    settle(&mut cluster, "prod");
    assert!(!is_held(&cluster, "node-b"));
    assert!(is_held(&cluster, "node-a"));
}

#[test]
fn node_that_a_person_moves_to_another_control_plane_stays_held() {
    let mut cluster = settled();
    set_label(&mut cluster, "node-b", LEASE, "staging");
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"));
}

/// A share whose nodes have lost the label of their lease.
fn unleased() -> (Cluster, [&'static str; 2]) {
    let mut cluster = settled();
    let nodes = ["node-a", "node-b"];
    for node in nodes {
        remove_labels(&mut cluster, node, &[LEASE]);
    }
    (cluster, nodes)
}

#[test]
fn share_whose_last_node_loses_its_label_holds_it() {
    let (mut cluster, nodes) = unleased();
    settle(&mut cluster, "prod");
    assert!(!has(&cluster, "openvswitch"));
    assert_eq!(nodes.map(|node| is_held(&cluster, node)), [true, true]);
    let namespace = Key::of::<Namespace>("", "agents-prod");
    assert!(cluster.get(&namespace).is_some());

    for node in nodes {
        cluster.delete(&node_key(node));
    }
    settle(&mut cluster, "prod");
    assert_eq!(nodes.map(|node| is_held(&cluster, node)), [false, false]);
    assert_eq!(cluster.get(&namespace), None);
}

/// The finalizer of a share keeps its control plane's Nova too.
#[test]
fn deleted_share_waits_for_nodes_that_lost_its_label() {
    let (mut cluster, nodes) = unleased();
    cluster.delete(&share_key("prod"));
    settle(&mut cluster, "prod");
    assert_eq!(nodes.map(|node| is_held(&cluster, node)), [true, true]);
    let waits = |names: &str| {
        let message = format!(
            "waits for nodes that have lost the label of their lease and may have servers of this share: {names}. Set {LEASE} to prod \
             again or, where no server is left on a node, remove the label in brackets"
        );
        ["False".to_owned(), "Draining".to_owned(), message]
    };
    assert_eq!(
        condition(&cluster, "prod", "NodesDrained"),
        waits(&format!("node-a ({SINCE}), node-b ({SINCE})"))
    );

    remove_labels(&mut cluster, "node-a", &[SINCE]);
    settle(&mut cluster, "prod");
    assert_eq!(nodes.map(|node| is_held(&cluster, node)), [false, true]);
    assert_eq!(
        condition(&cluster, "prod", "NodesDrained"),
        waits(&format!("node-b ({SINCE})"))
    );
    cluster.set_kind_readable(StatefulSet::KIND, false);
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"));
    assert_eq!(condition(&cluster, "prod", "NodesDrained")[0], "Unknown");
    cluster.set_kind_readable(StatefulSet::KIND, true);

    // It is drained as any other node of the share.
    set_label(&mut cluster, "node-b", LEASE, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert!(is_held(&cluster, "node-b"));

    remove_labels(&mut cluster, "node-b", &[LEASE, PHASE]);
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"));
    remove_labels(&mut cluster, "node-b", &[SINCE]);
    reconcile(&mut cluster, "prod");
    assert_eq!(cluster.get(&share_key("prod")), None);
    assert!(!is_held(&cluster, "node-b"));
}

#[test]
fn deleted_share_waits_for_a_node_that_a_person_moved_until_they_say_that_it_is_empty() {
    let mut cluster = settled();
    remove_labels(&mut cluster, "node-a", &[LEASE, SINCE]);
    set_label(&mut cluster, "node-b", LEASE, "staging");
    cluster.delete(&share_key("prod"));
    settle(&mut cluster, "prod");
    assert!(is_held(&cluster, "node-b"));
    let message = condition(&cluster, "prod", "NodesDrained")[2].clone();
    let has = [
        "node-b (leased by staging)",
        "delete its StatefulSet hold-* in agents-prod",
    ];
    assert!(has.iter().all(|text| message.contains(text)), "{message}");
    cluster.delete(&set_key("node-b"));
    reconcile(&mut cluster, "prod");
    assert_eq!(cluster.get(&share_key("prod")), None);
}

#[test]
fn share_without_a_label_left_stays_as_it_is_while_it_is_not_known_what_it_holds() {
    let (mut cluster, nodes) = unleased();
    cluster.set_kind_readable(StatefulSet::KIND, false);
    reconcile(&mut cluster, "prod");
    assert_eq!(nodes.map(|node| is_held(&cluster, node)), [true, true]);
    let namespace = Key::of::<Namespace>("", "agents-prod");
    assert!(cluster.get(&namespace).is_some());
}

#[test]
fn deleted_node_is_no_longer_held() {
    let mut cluster = settled();
    cluster.delete(&node_key("node-b"));
    settle(&mut cluster, "prod");
    assert!(!is_held(&cluster, "node-b"));
    assert!(is_held(&cluster, "node-a"));
}

#[test]
fn nodes_stay_held_while_it_is_not_known_which_are() {
    let mut cluster = settled();
    remove_labels(&mut cluster, "node-b", &[LEASE]);
    for key in [set_key("node-a"), node_key("node-b")] {
        cluster.set_readable(&key, false);
        reconcile(&mut cluster, "prod");
        for node in ["node-a", "node-b"] {
            assert!(is_held(&cluster, node), "{node} while {key} can't be read");
        }
        cluster.set_readable(&key, true);
    }
    cluster.set_kind_readable(StatefulSet::KIND, false);
    reconcile(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "NodesProtected")[0], "Unknown");
    assert!(is_held(&cluster, "node-b"));
}

#[test]
fn share_names_nodes_that_are_not_held_yet() {
    let mut cluster = settled();
    let waiting = |nodes: &str| {
        let message = format!(
            "waits for the pods that keep Gardener from deleting the machines of {nodes} to be Ready; until then it may delete them with \
             their servers: see `kubectl get pods -n agents-prod -l app.kubernetes.io/component=hold -o wide`"
        );
        ["False".to_owned(), "Starting".to_owned(), message]
    };
    let held = |cluster: &Cluster| condition(cluster, "prod", "NodesProtected");
    assert_eq!(held(&cluster), waiting("node-a, node-b"));
    let running = json!({ "replicas": 1, "readyReplicas": 1 });
    cluster.set_status(&set_key("node-a"), running);
    settle(&mut cluster, "prod");
    assert_eq!(held(&cluster), waiting("node-b"));

    // No pod is Ready on a node that is down.
    let down = json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] });
    cluster.set_status(&node_key("node-b"), down);
    settle(&mut cluster, "prod");
    assert_eq!(held(&cluster)[0], "True");
}

/// A StatefulSet's name is a DNS label, and with the digest of a revision it is a label of its pods.
#[test]
fn node_with_a_long_name_or_dots_is_held() {
    let mut cluster = Cluster::default();
    let long = "shoot--customers--hv-pool-a-hypervisor-eu-z1-5f6d8-x2p4q";
    let names = ["a.example.org", "a-example-org", "b.example.org", long];
    for name in names {
        put_node(&mut cluster, name, "10.0.0.1");
    }
    put_pool(&mut cluster, json!({ "mode": "Shared" }));
    put_share(&mut cluster, "prod", json!({}));
    settle(&mut cluster, "prod");
    let objects = cluster.objects().iter();
    let sets = objects.filter(|(key, _)| key.kind == StatefulSet::KIND);
    let sets: Vec<(&str, &Value)> = sets
        .map(|(key, set)| {
            let node = &set["spec"]["template"]["spec"]["nodeName"];
            (key.name.as_str(), node)
        })
        .collect();
    for (name, node) in &sets {
        let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_valid = name.len() <= 52 && name.bytes().all(is_label);
        assert!(is_valid, "{name} holds {node}");
    }
    let mut held: Vec<&str> = sets.iter().filter_map(|(_, node)| node.as_str()).collect();
    held.sort_unstable();
    let mut names = names;
    names.sort_unstable();
    assert_eq!(held, names);
}
