//! Shares in two clusters with one identity and one name of their aggregates in one Nova, as where the objects of a cluster were copied.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::nova::SYSTEM;
use serde_json::json;

use crate::fixture::*;
use crate::nova::{Nova, service};

/// A cluster with one node of a share of the control plane, and with metadata of its own.
fn pool(nova: &Nova, node: &str, tier: &str) -> Cluster {
    let mut cluster = Cluster::default();
    put_node(&mut cluster, node, "10.0.0.1");
    put_configuration(&mut cluster);
    put_clouds(&mut cluster);
    put_pool(&mut cluster, json!({ "mode": "Shared" }));
    put_share(&mut cluster, "prod", json!({}));
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["identity"] = json!("copied");
        share["spec"]["aggregate"] = json!({ "name": "hv", "metadata": { "tier": tier } });
    });
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

#[test]
fn pools_with_one_identity_and_aggregate_report_that_and_change_nothing_of_each_other() {
    let nova = Nova::default();
    let mut clusters = vec![pool(&nova, "node-a", "premium")];
    later(&mut clusters);
    assert_eq!(condition(&clusters[0], "prod", "AggregateReady")[0], "True");
    clusters.push(pool(&nova, "node-x", "standard"));
    later(&mut clusters);
    let both = (
        vec!["node-a".to_owned(), "node-x".to_owned()],
        Some("premium".to_owned()),
    );
    assert_eq!(aggregate(&nova), both);
    for (cluster, stranger) in clusters.iter().zip(["node-x", "node-a"]) {
        assert_eq!(
            condition(cluster, "prod", "AggregateReady"),
            [
                "False",
                "NameTaken",
                &format!(
                    "Nova's aggregate hv has hosts that this share never leased, so its name, zone and metadata stay as they are: {stranger}. \
                     Where a share in another pool has the same spec.identity, remove it here, and set another aggregate.name. Otherwise \
                     remove each host by `openstack aggregate remove host hv NODE` or, where its machine is off for good, evacuate its \
                     servers and remove its compute service by `openstack compute service delete ID`"
                )
            ]
            .map(str::to_owned)
        );
    }

    // A machine that restarts, and has no server, is a lost one to neither.
    for node in ["node-a", "node-x"] {
        nova.change(|state| state.services.get_mut(node).unwrap().is_up = false);
    }
    let calls = nova.change(|state| state.calls);
    later(&mut clusters);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");
    assert_eq!(nova.change(|state| state.services.len()), 2);
    assert_eq!(aggregate(&nova), both);
}
