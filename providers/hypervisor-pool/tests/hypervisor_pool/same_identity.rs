//! Shares in two clusters with one identity and one name of their aggregates in one Nova, as where the objects of a cluster were copied.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::SYSTEM;
use serde_json::json;

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
        condition(&clusters[0], "prod", "AggregateMembersKnown"),
        [
            "False",
            "NameTaken",
            &format!(
                "Nova's aggregate hv has hosts that this share doesn't know to have leased: node-x. Where a share in another pool has the same \
                 spec.identity, that share is the copy: drain and delete it there. {remove}"
            )
        ]
        .map(str::to_owned)
    );
    assert_eq!(
        condition(&clusters[1], "prod", "AggregateReady"),
        [
            "False",
            "NameTaken",
            &format!(
                "Nova's aggregate hv has hosts that this share doesn't know to have leased: node-a. Its name, zone and metadata stay as they \
                 are. Where this share is a copy of one in another pool, drain its nodes first, because agents of another identity don't \
                 start on nodes with files of this one; then set another aggregate.name and remove spec.identity. Where that one is the copy, \
                 drain and delete it there. {remove}"
            )
        ]
        .map(str::to_owned)
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
