//! Compute services that Nova disables when they register, as `enable_new_services = false` says.

use provider_composer_testing::Cluster;
use serde_json::json;

use crate::drain::{cordon, phase};
use crate::fixture::*;
use crate::nova::{Nova, Placement, later, started};

const NEW: &str = "New compute service disabled due to config option.";

/// Node-b has registered its compute service just now.
fn with_new() -> (Cluster, Nova) {
    let (cluster, nova) = started();
    nova.change(|state| {
        state.services.get_mut("node-b").unwrap().disabled = Some(NEW.to_owned());
    });
    (cluster, nova)
}

/// Which compute services aren't enabled yet. It is only there while there are some.
fn waits(cluster: &Cluster) -> Option<String> {
    let condition = find_condition(cluster, &share_key("prod"), "ComputeServicesEnabled");
    condition.map(|[_, _, message]| message)
}

#[test]
fn new_host_is_enabled_once_placement_has_it_in_the_aggregate_too() {
    let (mut cluster, nova) = with_new();
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["availabilityZone"] = json!("zone-a");
    });
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));
    assert_eq!(
        waits(&cluster).unwrap(),
        "these compute services are disabled since they registered, until Nova has their hypervisors and, where this share has an \
         aggregate, Placement has them in it: node-b. See the condition AggregateReady, and `openstack hypervisor list`"
    );

    nova.change(|state| {
        state.starting.clear();
        state.placement = Placement::Silent;
    });
    later(&mut cluster);
    let is_member = nova.change(|state| state.aggregates[0].hosts.contains("node-b"));
    assert!(is_member, "in Nova");
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));

    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
    assert_eq!(waits(&cluster), None);
    assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
}

/// libvirt has a name for it that tells nothing of the node's.
#[test]
fn new_host_is_found_in_placement_by_its_hypervisor() {
    let (mut cluster, nova) = with_new();
    cluster.edit(&share_key("prod"), |share| {
        share["spec"]["availabilityZone"] = json!("zone-a");
    });
    let name = "at-node-b".to_owned();
    nova.change(|state| state.named.insert("node-b".to_owned(), name));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
}

#[test]
fn new_host_of_a_share_without_an_aggregate_is_enabled_once_nova_has_its_hypervisor() {
    let (mut cluster, nova) = with_new();
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));
    assert!(waits(&cluster).is_some());
    let [status, reason, message] = condition(&cluster, "prod", "Ready");
    assert_eq!([status, reason], ["False", "WaitingForNova"]);
    assert!(message.contains("node-b"), "{message}");
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
    assert_eq!(waits(&cluster), None);
    let ready = condition(&cluster, "prod", "Ready");
    assert_ne!(ready[1], "WaitingForNova");
}

#[test]
fn new_host_that_is_drained_stays_disabled() {
    let (mut cluster, nova) = with_new();
    cordon(&mut cluster, "node-b", true);
    later(&mut cluster);
    assert_eq!(phase(&cluster, "node-b").as_deref(), Some("Draining"));
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));
    cordon(&mut cluster, "node-b", false);
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
}
