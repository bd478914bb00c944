//! Shares in two clusters with one identity and one name of their aggregates in one Nova, as where the objects of a cluster were copied.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::SYSTEM;
use serde_json::json;

use crate::drain::node_key;
use crate::fixture::*;
use crate::nova::{Nova, service};

/// The UID of the first share, which is the identity of both.
const FIRST: &str = "first";

/// A cluster with one node of a share of the control plane, and with metadata of its own.
fn pool(nova: &Nova, node: &str, uid: &str, tier: &str) -> Cluster {
    let mut cluster = Cluster::default();
    put_node(&mut cluster, node, "10.0.0.1");
    put_configuration(&mut cluster);
    put_clouds(&mut cluster);
    put_pool(&mut cluster, json!({ "mode": "Shared" }));
    let aggregate = json!({ "name": "hv", "metadata": { "tier": tier } });
    let spec = json!({
        "controlPlane": "prod", "weight": 1, "identity": FIRST, "aggregate": aggregate, "agents": {},
    });
    let metadata = json!({ "name": "prod", "uid": uid });
    let share = json!({ "metadata": metadata, "spec": spec });
    cluster.put(&share_key("prod"), &share);
    cluster.join(SYSTEM, nova.clone());
    nova.change(|state| state.services.insert(node.to_owned(), service(node, true)));
    cluster
}

fn later(clusters: &mut [Cluster]) {
    for _ in 0..4 {
        for cluster in &mut *clusters {
            cluster.wait(SignedDuration::from_secs(15));
            reconcile(cluster, "prod");
        }
    }
}

/// The hosts of the only aggregate, and its metadata but for the identity.
fn aggregate(nova: &Nova) -> (Vec<String>, Option<String>) {
    nova.change(|state| {
        let [aggregate] = state.aggregates.as_slice() else {
            panic!("there is one aggregate");
        };
        let hosts = aggregate.hosts.iter().cloned().collect();
        (hosts, aggregate.metadata.get("tier").cloned())
    })
}

fn both(tier: &str) -> (Vec<String>, Option<String>) {
    let hosts = ["node-a", "node-x"].map(str::to_owned);
    (hosts.into(), Some(tier.to_owned()))
}

/// Two pools, of which the second has the copy of the first one's share.
fn pools(nova: &Nova) -> Vec<Cluster> {
    let mut clusters = vec![pool(nova, "node-a", FIRST, "premium")];
    later(&mut clusters);
    assert_eq!(condition(&clusters[0], "prod", "AggregateReady")[0], "True");
    clusters.push(pool(nova, "node-x", "second", "standard"));
    later(&mut clusters);
    assert_eq!(aggregate(nova), both("premium"));
    clusters
}

#[test]
fn copy_of_a_share_reports_that_and_changes_nothing_of_the_first_one() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    let remove = "Remove a host that another pool runs by `openstack aggregate remove host hv NODE`. Where its machine is off for good, \
                  evacuate its servers, remove its compute service by `openstack compute service delete ID` and its agent by `openstack \
                  network agent delete NODE`, and see `openstack resource provider list --name NODE`";
    assert_eq!(condition(&clusters[0], "prod", "AggregateReady")[0], "True");
    assert_eq!(
        condition(&clusters[0], "prod", "AggregateMembersKnown").join(": "),
        format!(
            "False: NameTaken: Nova's aggregate hv has hosts that this share doesn't know to have leased: node-x. Where a share in another pool has the same \
             spec.identity, that share is the copy: drain and delete it there. {remove}"
        )
    );
    assert_eq!(
        condition(&clusters[1], "prod", "AggregateReady").join(": "),
        format!(
            "False: NameTaken: Nova's aggregate hv has hosts that this share doesn't know to have leased: node-a. Its name, zone and metadata stay as they \
             are. Where this share is a copy of one in another pool, drain its nodes first, because agents of another identity don't \
             start on nodes with files of this one; then set another aggregate.name and remove spec.identity. Where that one is the copy, \
             drain and delete it there. {remove}"
        )
    );

    // A machine that restarts, and has no server, is a lost one to neither.
    for node in ["node-a", "node-x"] {
        nova.change(|state| state.services.get_mut(node).unwrap().is_up = false);
    }
    let calls = nova.change(|state| state.calls);
    later(&mut clusters);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");
    assert_eq!(nova.change(|state| state.services.len()), 2);
    assert_eq!(aggregate(&nova), both("premium"));
}

#[test]
fn first_share_of_an_identity_changes_its_aggregate_beside_a_copy() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    clusters[0].edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"]["metadata"]["tier"] = json!("gold");
    });
    later(&mut clusters);
    assert_eq!(aggregate(&nova), both("gold"));
    let calls = nova.change(|state| state.calls);
    later(&mut clusters);
    assert_eq!(
        nova.change(|state| state.calls),
        calls,
        "nobody changes it back"
    );
}

#[test]
fn copy_of_a_share_reports_what_its_own_hosts_wait_for_too() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    clusters[1].edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"]["metadata"]["tier"] = json!("premium");
    });
    nova.change(|state| {
        state.uncopied.insert("node-x".to_owned());
        state.without_provider.insert("node-x".to_owned());
    });
    later(&mut clusters);
    let [_, reason, message] = condition(&clusters[1], "prod", "AggregateReady");
    assert_eq!(reason, "NameTaken");
    assert!(
        message.contains(
            ". Also: waits for Placement to have these hosts in the aggregate hv: node-x."
        ),
        "{message}"
    );
}

/// Nova's calls don't go on, whoever is reconciled.
fn settles(nova: &Nova, clusters: &mut [Cluster]) {
    let calls = nova.change(|state| state.calls);
    later(clusters);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");
}

fn only_of_the_copy() -> (Vec<String>, Option<String>) {
    (vec!["node-x".to_owned()], Some("standard".to_owned()))
}

#[test]
fn first_share_without_hosts_leaves_the_aggregate_to_its_copy() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    clusters[0].delete(&node_key("node-a"));
    nova.change(|state| state.services.get_mut("node-a").unwrap().is_up = false);
    later(&mut clusters);
    assert_eq!(aggregate(&nova), only_of_the_copy());
    settles(&nova, &mut clusters);
    assert_eq!(
        condition(&clusters[0], "prod", "AggregateReady").join(": "),
        "False: WaitingForAggregate: the name, zone and metadata of Nova's aggregate hv stay as they are until a host of this share is in it, because a share in \
         another pool may have the same spec.identity"
    );
    let known = condition(&clusters[0], "prod", "AggregateMembersKnown");
    assert_eq!(known[0], "False");
    assert_eq!(condition(&clusters[1], "prod", "AggregateReady")[0], "True");

    put_node(&mut clusters[0], "node-a", "10.0.0.1");
    nova.set_up("node-a", true);
    later(&mut clusters);
    assert_eq!(aggregate(&nova), both("premium"));
    settles(&nova, &mut clusters);
}

#[test]
fn first_share_that_wants_no_aggregate_any_more_removes_only_its_own_hosts() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    set(&mut clusters[0], "prod", "aggregate", json!(null));
    later(&mut clusters);
    assert_eq!(aggregate(&nova), only_of_the_copy());
    settles(&nova, &mut clusters);
    assert_eq!(condition(&clusters[0], "prod", "AggregateReady")[0], "True");
    let known = condition(&clusters[0], "prod", "AggregateMembersKnown");
    assert_eq!(known[0], "False");
}

/// Nova removes a zone only with the aggregate, from which all hosts would have to go.
#[test]
fn first_share_that_wants_no_zone_any_more_keeps_it_beside_a_copy() {
    let nova = Nova::default();
    let mut clusters = pools(&nova);
    for zone in [json!("zone-a"), json!(null)] {
        set(&mut clusters[0], "prod", "availabilityZone", zone);
        later(&mut clusters);
    }
    settles(&nova, &mut clusters);
    assert_eq!(aggregate(&nova), both("premium"));
    assert_eq!(
        condition(&clusters[0], "prod", "AggregateReady").join(": "),
        "False: ZoneInUse: the availability zone of the aggregate hv stays zone-a instead of (none) while hosts that this share doesn't know to have leased \
         are in it: node-x. See the condition AggregateMembersKnown, or set availabilityZone back"
    );
}

/// It isn't the first of its identity, and no share has its hosts.
#[test]
fn share_that_was_created_again_changes_its_aggregate() {
    let nova = Nova::default();
    let mut clusters = [pool(&nova, "node-x", "second", "standard")];
    later(&mut clusters);
    assert_eq!(aggregate(&nova), only_of_the_copy());
    clusters[0].edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"]["metadata"]["tier"] = json!("gold");
    });
    later(&mut clusters);
    assert_eq!(aggregate(&nova).1.as_deref(), Some("gold"));
    assert_eq!(condition(&clusters[0], "prod", "AggregateReady")[0], "True");
}

/// The first one may exist, and have no host either.
#[test]
fn share_that_was_created_again_changes_its_aggregate_only_while_it_has_a_host() {
    let nova = Nova::default();
    let mut clusters = [pool(&nova, "node-x", "second", "standard")];
    later(&mut clusters);
    clusters[0].delete(&node_key("node-x"));
    clusters[0].edit(&share_key("prod"), |share| {
        share["spec"]["aggregate"]["metadata"]["tier"] = json!("gold");
    });
    nova.change(|state| {
        let host = "node-x".to_owned();
        state.aggregates[0].hosts.remove(&host);
        state.services.remove(&host);
    });
    later(&mut clusters);
    settles(&nova, &mut clusters);
    assert_eq!(aggregate(&nova), (Vec::new(), Some("standard".to_owned())));
}
