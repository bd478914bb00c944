//! Resource providers that Nova leaves in Placement.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;

use crate::drain::{cordon, phase, pod};
use crate::fixture::*;
use crate::nova::{Nova, Placement, later, started};

/// A share with an empty node whose agents run, though its lease ends, and a Nova that leaves resource providers.
fn releasing() -> (Cluster, Nova) {
    let (mut cluster, nova) = started();
    nova.change(|state| state.leaves_providers = true);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "drain", "node-b", Some(true));
    pod(&mut cluster, "nova-compute", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    (cluster, nova)
}

/// Lets the agents of the node stop.
fn stop_agents(cluster: &mut Cluster) {
    pod(cluster, "drain", "node-b", None);
    pod(cluster, "nova-compute", "node-b", None);
    later(cluster);
    later(cluster);
}

/// The condition, which is only there while something is to be said.
fn checked(cluster: &Cluster) -> Option<[String; 3]> {
    cluster.condition(&share_key("prod"), "ResourceProvidersChecked")
}

#[test]
fn resource_provider_that_nova_leaves_is_deleted_before_the_node_is_wiped() {
    let (mut cluster, nova) = releasing();
    stop_agents(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
    assert_eq!(checked(&cluster), None);
}

#[test]
fn node_whose_resource_provider_has_allocations_is_not_freed() {
    let (mut cluster, nova) = releasing();
    nova.change(|state| state.is_allocated = true);
    stop_agents(&mut cluster);
    assert_eq!(nova.change(|state| state.services.len()), 1);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    let waits = condition(&cluster, "prod", "NodesDrained")[2].clone();
    assert!(
        waits.ends_with(
            "node-b waits for its compute service, resource provider and chassis to be deleted: see the conditions \
             ComputeServicesUp and ResourceProvidersChecked"
        ),
        "{waits}"
    );
    let [status, reason, message] = checked(&cluster).unwrap();
    assert_eq!([&*status, &*reason], ["False", "WaitingForPlacement"]);
    assert!(
        message.starts_with(
            "waits for the deletion of resource providers in Placement, without which these nodes aren't freed: node-b \
             (provider-node-b). Where one stays, see `openstack resource provider show --allocations ID`"
        ),
        "{message}"
    );
    assert_eq!(condition(&cluster, "prod", "ComputeServicesUp")[0], "True");
    // The share doesn't fail, and isn't tried again and again.
    assert_ne!(condition(&cluster, "prod", "Ready")[1], "SystemUnavailable");
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");

    nova.change(|state| state.is_allocated = false);
    later(&mut cluster);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}

#[test]
fn node_is_not_freed_while_placement_does_not_answer() {
    let (mut cluster, nova) = releasing();
    nova.change(|state| state.placement = Placement::Silent);
    stop_agents(&mut cluster);
    assert_eq!(nova.change(|state| state.services.len()), 1);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    assert_eq!(
        checked(&cluster).unwrap().join(": "),
        "Unknown: LookupFailed: Placement can't be asked for resource providers of node-b, so that these nodes aren't freed: nova doesn't answer"
    );
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    later(&mut cluster);
    assert!(nova.change(|state| state.left.is_empty()));
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}

/// A server was started there by an administrator who names the host, after its compute service was deleted.
#[test]
fn resource_provider_of_a_node_with_servers_stays() {
    let (mut cluster, nova) = releasing();
    nova.change(|state| state.is_allocated = true);
    stop_agents(&mut cluster);
    nova.occupy("node-b", 1, 0);
    nova.change(|state| state.is_allocated = false);
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert_eq!(nova.change(|state| state.calls), calls, "nothing is called");
}

/// As an older nova-operator writes it: the node is freed, as before there was a check, and the share says that there was none.
#[test]
fn clouds_yaml_without_placement_holds_no_node() {
    let (mut cluster, nova) = releasing();
    nova.change(|state| state.placement = Placement::NotInClouds);
    pod(&mut cluster, "drain", "node-b", None);
    pod(&mut cluster, "nova-compute", "node-b", None);
    let mut reasons = Vec::new();
    for _ in 0..4 {
        cluster.wait(SignedDuration::from_secs(15));
        reconcile(&mut cluster, "prod");
        reasons.extend(checked(&cluster).map(|condition| condition[1].clone()));
    }
    assert!(
        reasons.contains(&"WaitingForPlacement".to_owned()),
        "{reasons:?}"
    );
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}

/// An administrator deleted the compute service by hand.
fn without_a_compute_service() -> (Cluster, Nova) {
    let (cluster, nova) = releasing();
    nova.delete_service("node-b");
    nova.change(|state| {
        state.left.clear();
        // Neutron notices later that its ovn-controller has stopped.
        state.chassis.insert("node-b".to_owned(), true);
    });
    (cluster, nova)
}

#[test]
fn chassis_of_a_node_without_a_compute_service_is_deleted_before_the_node_is_wiped() {
    let (mut cluster, nova) = without_a_compute_service();
    stop_agents(&mut cluster);
    assert!(nova.change(|state| state.chassis.is_empty()));
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}

#[test]
fn node_is_not_freed_while_neutron_does_not_answer() {
    let (mut cluster, nova) = without_a_compute_service();
    nova.change(|state| state.hides_chassis = true);
    stop_agents(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Releasing"));
    assert_eq!(
        checked(&cluster).unwrap().join(": "),
        "Unknown: LookupFailed: Neutron can't be asked for the chassis of node-b, so that these nodes aren't freed: nova doesn't answer"
    );
    nova.change(|state| state.hides_chassis = false);
    later(&mut cluster);
    later(&mut cluster);
    assert!(nova.change(|state| state.chassis.is_empty()));
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Wiping"));
}
