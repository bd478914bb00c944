//! What Placement and Neutron have of nodes that a share has lost.

use provider_composer_testing::Cluster;
use serde_json::{Value, json};

use super::{lost, node_lost, removed, services, with_dead_node};
use crate::drain::node_key;
use crate::fixture::*;
use crate::nova::{Nova, Placement, State, later};

/// An administrator deleted the compute service of the dead node before its Node was deleted.
#[test]
fn chassis_of_a_deleted_node_is_deleted_once_its_ovn_controller_is_down() {
    let (mut cluster, nova) = with_dead_node();
    nova.delete_service("node-b");
    nova.change(|state| state.chassis.insert("node-b".to_owned(), true));
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "False: WaitingForNeutron: waits for Neutron to report that ovn-controller is down on node-b, which this share leases no longer"
    );
    nova.change(|state| state.hides_chassis = true);
    later(&mut cluster);
    assert_eq!(removed(&cluster).unwrap()[0], "Unknown");
    assert_eq!(lost(&cluster), json!(["node-b"]));

    nova.change(|state| {
        state.hides_chassis = false;
        state.chassis.insert("node-b".to_owned(), false);
    });
    later(&mut cluster);
    later(&mut cluster);
    assert!(nova.change(|state| state.chassis.is_empty()));
    assert_eq!(removed(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
}

/// A share that has lost node-b, of which Nova left a resource provider in a Placement that is changed before.
fn with_provider_of_a_lost_node(change: impl FnOnce(&mut State)) -> (Cluster, Nova) {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        state.leaves_providers = true;
        change(state);
    });
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(services(&nova), ["node-a"]);
    assert_eq!(lost(&cluster), json!(["node-b"]));
    (cluster, nova)
}

#[test]
fn resource_provider_of_a_deleted_node_is_deleted_once_nothing_is_allocated() {
    let (mut cluster, nova) = with_provider_of_a_lost_node(|state| state.is_allocated = true);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "False: WaitingForPlacement: Placement keeps resource providers of nodes that this share leases no longer, because something is allocated there: node-b \
         (provider-node-b). See `openstack resource provider show --allocations ID`, and remove allocations of servers that run on \
         other hosts or don't exist any more by `openstack resource provider allocation unset --provider ID SERVER`"
    );
    let ready = condition(&cluster, "prod", "Ready");
    assert_ne!(ready[1], "WaitingForPlacement", "no server waits for it");
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");

    nova.change(|state| state.is_allocated = false);
    later(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
    assert_eq!(removed(&cluster), None);
    assert_eq!(lost(&cluster), Value::Null);
}

#[test]
fn resource_provider_of_a_deleted_node_is_remembered_while_placement_does_not_answer() {
    let silent = |state: &mut State| state.placement = Placement::Silent;
    let (mut cluster, nova) = with_provider_of_a_lost_node(silent);
    assert_eq!(
        removed(&cluster).unwrap().join(": "),
        "Unknown: LookupFailed: Placement can't be asked for resource providers of node-b, which this share leases no longer: nova doesn't answer"
    );
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
    assert_eq!(lost(&cluster), Value::Null);
}

/// An administrator deleted the compute service, and something is on its way to the host.
#[test]
fn resource_provider_of_a_deleted_node_with_migrations_stays() {
    let (mut cluster, nova) = with_dead_node();
    nova.change(|state| {
        state.services.remove("node-b");
        state.aggregates[0].hosts.remove("node-b");
        let left = ("provider-node-b".to_owned(), "node-b".to_owned());
        state.left.extend([left]);
    });
    nova.occupy("node-b", 0, 1);
    cluster.delete(&node_key("node-b"));
    later(&mut cluster);
    assert_eq!(removed(&cluster), node_lost("node-b (1)"));
    assert_eq!(lost(&cluster), json!(["node-b"]));
    assert_eq!(nova.change(|state| state.left.len()), 1);
}
