//! Traits in Placement that a share has no longer.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::LEASE;
use serde_json::{Value, json};

use crate::drain::node_key;
use crate::fixture::*;
use crate::nova::{Nova, Placement, later, started};

const FORMER: &str = "CUSTOM_TIER_PREMIUM";
const PRESENT: &str = "CUSTOM_TIER_STANDARD";

/// Starts nova-compute anew on these nodes, each of which gets the traits of the present configuration besides those that it has.
fn restart(cluster: &mut Cluster, nova: &Nova, nodes: &[&str]) {
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", "nova-compute"));
    let template = &set.unwrap()["spec"]["template"]["metadata"]["annotations"];
    let annotations = template.clone();
    let share = cluster.get(&share_key("prod")).unwrap();
    let traits: BTreeSet<String> = serde_json::from_value(share["spec"]["traits"].clone()).unwrap();
    run_pods(cluster, "prod", nodes);
    for node in nodes {
        let pod = Key::of::<Pod>("agents-prod", &format!("nova-compute-{node}"));
        cluster.edit(&pod, |pod| {
            pod["metadata"]["annotations"] = annotations.clone();
        });
        nova.change(|state| {
            let own = state.traits.entry((*node).to_owned()).or_default();
            own.extend(traits.clone());
        });
    }
}

fn traits(nova: &Nova, node: &str) -> Vec<String> {
    nova.change(|state| state.traits[node].iter().cloned().collect())
}

/// The condition, which is only there while nodes may have former traits.
fn removed(cluster: &Cluster) -> Option<[String; 3]> {
    cluster.condition(&share_key("prod"), "FormerTraitsRemoved")
}

fn waits(what: &str) -> Option<[String; 3]> {
    let message = format!(
        "flavors that require traits that this share has no longer, {FORMER}, may still find its nodes: {what}. Until then, nodes also lose such a \
         trait that is set by hand. Servers that require one move only to hosts that have it: to move them between nodes of this share, give \
         it the trait again (with claims, by the label of the pool)"
    );
    Some([
        "False".to_owned(),
        "WaitingForPlacement".to_owned(),
        message,
    ])
}

/// The traits that the status remembers.
fn remembered(cluster: &Cluster) -> Value {
    cluster.get(&share_key("prod")).unwrap()["status"]["traits"].clone()
}

/// A share whose nodes have its traits, of which it then gets others.
fn changed() -> (Cluster, Nova) {
    let (mut cluster, nova) = started();
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(remembered(&cluster), json!([FORMER]));
    assert_eq!(removed(&cluster), None);
    set(&mut cluster, "prod", "traits", json!([PRESENT]));
    (cluster, nova)
}

#[test]
fn former_trait_is_removed_from_each_node_once_nova_compute_has_restarted_there() {
    let (mut cluster, nova) = changed();
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(
        removed(&cluster),
        waits("waits for nova-compute to restart with the present traits on node-a, node-b")
    );
    assert_eq!(
        nova.change(|state| state.calls),
        calls,
        "it would add it again"
    );
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));

    restart(&mut cluster, &nova, &["node-a"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [PRESENT]);
    assert_eq!(traits(&nova, "node-b"), [FORMER]);
    assert_eq!(
        removed(&cluster),
        waits("waits for nova-compute to restart with the present traits on node-b")
    );

    restart(&mut cluster, &nova, &["node-b"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-b"), [PRESENT]);
    assert_eq!(removed(&cluster), None);
    assert_eq!(remembered(&cluster), json!([PRESENT]));
}

/// An administrator may have set them.
#[test]
fn traits_that_the_share_never_had_stay() {
    let (mut cluster, nova) = changed();
    nova.change(|state| {
        let own = state.traits.get_mut("node-a").unwrap();
        own.insert("CUSTOM_LICENSED".to_owned());
    });
    later(&mut cluster);
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), ["CUSTOM_LICENSED", PRESENT]);
    assert_eq!(removed(&cluster), None);
}

/// Nodes of other pools may have them rightly.
#[test]
fn former_trait_stays_on_hosts_that_the_share_does_not_lease() {
    let (mut cluster, nova) = changed();
    for host in ["other", "node-a.other.example.com"] {
        let traits = BTreeSet::from([FORMER.to_owned()]);
        nova.change(|state| state.traits.insert(host.to_owned(), traits));
    }
    later(&mut cluster);
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [PRESENT]);
    for host in ["other", "node-a.other.example.com"] {
        assert_eq!(traits(&nova, host), [FORMER]);
    }
    assert_eq!(removed(&cluster), None);
}

#[test]
fn former_trait_is_remembered_while_placement_does_not_answer() {
    let (mut cluster, nova) = changed();
    later(&mut cluster);
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    nova.change(|state| state.placement = Placement::Silent);
    later(&mut cluster);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "Unknown: LookupFailed: it isn't known which nodes have traits that this share has no longer, CUSTOM_TIER_PREMIUM: nova doesn't answer"
    );
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    assert_eq!(remembered(&cluster), json!([PRESENT]));
}

/// What is waited for on account of nodes whose Node was deleted.
fn waits_for_lost(nodes: &str) -> Option<[String; 3]> {
    waits(&format!(
        "waits until Nova and Placement have nothing left of {nodes}, which this share leases no longer"
    ))
}

/// A share whose node-a has lost the former trait, and whose node-b is deleted while its servers stay.
fn changed_while_a_node_is_lost() -> (Cluster, Nova) {
    let (mut cluster, nova) = changed();
    nova.occupy("node-b", 1, 0);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    restart(&mut cluster, &nova, &["node-a"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [PRESENT]);
    assert_eq!(traits(&nova, "node-b"), [FORMER]);
    assert_eq!(removed(&cluster), waits_for_lost("node-b"));
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));
    (cluster, nova)
}

#[test]
fn former_trait_is_removed_from_a_lost_node_that_is_given_back() {
    let (mut cluster, nova) = changed_while_a_node_is_lost();
    put_node(&mut cluster, "node-b", "10.0.0.2");
    set_label(&mut cluster, "node-b", LEASE, "prod");
    later(&mut cluster);
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-b"), [PRESENT]);
    assert_eq!(removed(&cluster), None);
    assert_eq!(remembered(&cluster), json!([PRESENT]));
}

#[test]
fn former_trait_is_forgotten_once_nothing_is_left_of_lost_nodes() {
    let (mut cluster, nova) = changed_while_a_node_is_lost();
    nova.occupy("node-b", 0, 0);
    nova.set_up("node-b", false);
    later(&mut cluster);
    assert_eq!(removed(&cluster), None);
    assert_eq!(remembered(&cluster), json!([PRESENT]));
}

#[test]
fn former_trait_is_remembered_where_all_nodes_are_lost() {
    let (mut cluster, nova) = changed();
    later(&mut cluster);
    for node in ["node-a", "node-b"] {
        nova.occupy(node, 1, 0);
        cluster.delete(&node_key(node));
    }
    later(&mut cluster);
    assert_eq!(removed(&cluster), waits_for_lost("node-a, node-b"));
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));
}

#[test]
fn former_trait_that_the_aggregate_requires_is_reported_until_the_property_is_removed() {
    let (mut cluster, nova) = changed();
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"] = json!({ "name": "hv-pool-a" });
    });
    later(&mut cluster);
    let property = format!("trait:{FORMER}");
    nova.change(|state| {
        let metadata = &mut state.aggregates[0].metadata;
        metadata.insert(property.clone(), "required".to_owned());
        metadata.insert("trait:CUSTOM_OTHER".to_owned(), "required".to_owned());
    });
    let required =
        |cluster: &Cluster| cluster.condition(&share_key("prod"), "AggregateTraitsPresent");
    let said = format!(
        "Nova's aggregate hv-pool-a has properties by which flavors must require traits that this share has no longer, {FORMER}: where the \
         scheduler has enable_isolated_aggregate_filtering, no flavor finds its hosts. Remove them by `openstack aggregate unset --property \
         {property} hv-pool-a`, or give the share the trait again (with claims, by the label of the pool). Until then, hosts also lose such a \
         trait that is set by hand"
    );
    let said = Some(["False".to_owned(), "TraitMissing".to_owned(), said]);
    later(&mut cluster);
    assert_eq!(required(&cluster), said, "before the nodes lose it");
    restart(&mut cluster, &nova, &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [PRESENT]);
    assert_eq!(removed(&cluster), None);
    assert_eq!(required(&cluster), said);
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));
    let metadata = nova.change(|state| state.aggregates[0].metadata.clone());
    assert!(metadata.contains_key(&property), "it is an administrator's");

    nova.change(|state| state.hides_aggregates = true);
    later(&mut cluster);
    assert_eq!(remembered(&cluster), json!([PRESENT, FORMER]));
    nova.change(|state| {
        state.hides_aggregates = false;
        state.aggregates[0].metadata.remove(&property)
    });
    later(&mut cluster);
    assert_eq!(required(&cluster), None);
    assert_eq!(remembered(&cluster), json!([PRESENT]));
}

#[test]
fn former_trait_that_is_set_by_hand_stays_once_no_node_waits() {
    let (mut cluster, nova) = changed();
    later(&mut cluster);
    let by_hand = |nova: &Nova| {
        nova.change(|state| {
            let own = state.traits.get_mut("node-a").unwrap();
            own.insert(FORMER.to_owned());
        });
    };
    restart(&mut cluster, &nova, &["node-a"]);
    later(&mut cluster);
    by_hand(&nova);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [PRESENT], "as the condition says");

    restart(&mut cluster, &nova, &["node-b"]);
    later(&mut cluster);
    assert_eq!(removed(&cluster), None);
    by_hand(&nova);
    later(&mut cluster);
    assert_eq!(traits(&nova, "node-a"), [FORMER, PRESENT]);
    assert_eq!(removed(&cluster), None);
}
