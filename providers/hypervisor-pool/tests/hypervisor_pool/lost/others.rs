//! Hosts that are in another aggregate than that of the share that has lost nodes.

use std::collections::{BTreeMap, BTreeSet};

use provider_hypervisor_pool::nova::Aggregate;
use serde_json::json;

use super::{lost, removed, services, with_dead_node};
use crate::drain::node_key;
use crate::fixture::*;
use crate::nova::{later, service, started};

/// The aggregate of another share, with a host that this one leased before.
fn of_another_share() -> Aggregate {
    Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        metadata: BTreeMap::from([("c5c3.hypervisor-share".to_owned(), "other".to_owned())]),
        hosts: BTreeSet::from(["node-b".to_owned()]),
        ..Aggregate::default()
    }
}

/// Its machine may be a node of another cluster now.
#[test]
fn compute_service_of_a_host_in_the_aggregate_of_another_share_stays() {
    for has_aggregate in [false, true] {
        let (mut cluster, nova) = match has_aggregate {
            true => with_dead_node(),
            false => started(),
        };
        nova.change(|state| {
            state.services.get_mut("node-b").unwrap().is_up = false;
            state.aggregates.push(of_another_share());
        });
        cluster.delete(&node_key("node-b"));
        later(&mut cluster);
        assert_eq!(services(&nova), ["node-a", "node-b"], "{has_aggregate}");
        assert_eq!(lost(&cluster), json!(["node-b"]));
        assert_eq!(
            removed(&cluster).unwrap().join(": "),
            "False: WaitingForNova: this share leased these nodes before, and another share has them in its aggregate in Nova, so their compute services stay: \
             node-b. For a machine that was moved to another cluster, this ends once that share frees it. Otherwise remove each host by \
             `openstack aggregate remove host AGGREGATE NODE`"
        );
        let ready = condition(&cluster, "prod", "Ready");
        assert_ne!(ready[1], "WaitingForNova", "no server waits for it");
    }
}

#[test]
fn lost_nodes_that_another_share_and_placement_keep_are_reported_together() {
    let (mut cluster, nova) = started();
    nova.change(|state| {
        state.services.remove("node-a");
        let left = ("provider-node-a".to_owned(), "node-a".to_owned());
        state.left.extend([left]);
        state.is_allocated = true;
        state.aggregates.push(of_another_share());
    });
    for node in ["node-a", "node-b"] {
        cluster.delete(&node_key(node));
    }
    later(&mut cluster);
    let [_, reason, message] = removed(&cluster).unwrap();
    assert_eq!(reason, "WaitingForNova");
    for part in [
        "so their compute services stay: node-b.",
        "because something is allocated there: node-a (provider-node-a).",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

/// Hosts of other pools, and those that an administrator runs, aren't in the aggregate of this share.
#[test]
fn compute_services_outside_of_the_aggregate_stay() {
    let (mut cluster, nova) = with_dead_node();
    let aggregate = Aggregate {
        id: 1_000,
        name: "hv-pool-b".to_owned(),
        hosts: BTreeSet::from(["other".to_owned()]),
        ..Aggregate::default()
    };
    nova.change(|state| {
        state
            .services
            .insert("other".to_owned(), service("other", false));
        state.aggregates.push(aggregate);
    });
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a", "other"]);
}
