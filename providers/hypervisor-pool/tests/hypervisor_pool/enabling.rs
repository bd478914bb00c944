//! Compute services that Nova disables when they register, as `enable_new_services = false` says.

use provider_composer_testing::Cluster;
use serde_json::json;

use crate::drain::{cordon, phase};
use crate::fixture::*;
use crate::nova::{Nova, PERSON, Placement, later, started};

const NEW: &str = "New compute service disabled due to config option.";

/// Node-b has registered its compute service just now.
fn with_new() -> (Cluster, Nova) {
    let (cluster, nova) = started();
    nova.change(|state| {
        state.services.get_mut("node-b").unwrap().disabled = Some(NEW.to_owned());
    });
    (cluster, nova)
}

/// Which compute services aren't enabled yet, if there are some.
fn waits(cluster: &Cluster) -> Option<String> {
    let [status, _, message] = condition(cluster, "prod", "ComputeServicesEnabled");
    (status != "True").then_some(message)
}

#[test]
fn new_host_is_enabled_once_placement_has_it_in_the_aggregate_too() {
    let (mut cluster, nova) = with_new();
    set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
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

/// libvirt has another name for it.
#[rstest::rstest]
#[case::by_its_name("at-node-b")]
#[case::by_its_compute_service("metal-17")]
fn new_host_is_found_in_placement_by_its_hypervisor(#[case] name: &str) {
    let (mut cluster, nova) = with_new();
    set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
    let name = name.to_owned();
    nova.change(|state| state.named.insert("node-b".to_owned(), name));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
}

#[test]
fn new_host_of_a_share_without_an_aggregate_is_enabled_once_nova_has_its_hypervisor() {
    let (mut cluster, nova) = with_new();
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));
    assert!(waits(&cluster).is_some());
    let [status, reason, message] = condition(&cluster, "prod", "HostsWorking");
    assert_eq!([status, reason], ["False", "WaitingForNova"]);
    assert!(
        message.contains("the compute service of node-b is disabled since it registered"),
        "{message}"
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    set(&mut cluster, "prod", "minHosts", json!(2));
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "WaitingForNova");
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
    assert_eq!(waits(&cluster), None);
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
}

/// Servers of other hosts run.
#[rstest::rstest]
#[case::placement(
    true,
    "Placement can't be asked which hosts are in the aggregate: nova doesn't answer"
)]
#[case::hypervisors(
    false,
    "Nova can't be asked for the hypervisor of node-b: nova doesn't answer"
)]
fn share_does_not_fail_while_nothing_is_known_of_a_new_host(
    #[case] is_in_aggregate: bool,
    #[case] why: &str,
) {
    let (mut cluster, nova) = with_new();
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    if is_in_aggregate {
        set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
        nova.change(|state| state.starting.insert("node-b".to_owned()));
        later(&mut cluster);
        nova.change(|state| {
            state.starting.clear();
            state.placement = Placement::Silent;
        });
    }
    nova.change(|state| state.hides_hypervisors = !is_in_aggregate);
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b").as_deref(), Some(NEW));
    let message = format!(
        "these compute services are disabled since they registered, and can't be enabled: node-b. {why}"
    );
    assert_eq!(
        condition(&cluster, "prod", "ComputeServicesEnabled"),
        ["Unknown", "LookupFailed", message.as_str()].map(str::to_owned)
    );
    assert_ne!(condition(&cluster, "prod", "Ready")[1], "WaitingForNova");

    nova.change(|state| {
        state.hides_hypervisors = false;
        state.placement = Placement::Answering;
    });
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b"), None);
    assert_eq!(waits(&cluster), None);
}

/// It isn't in the aggregate because its hypervisor isn't known.
#[test]
fn share_does_not_fail_while_the_hypervisor_of_a_new_host_is_not_known() {
    let (mut cluster, nova) = started();
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
    later(&mut cluster);
    nova.change(|state| {
        state.services.get_mut("node-b").unwrap().disabled = Some(NEW.to_owned());
        state.aggregates[0].hosts.remove("node-b");
        state.hides_hypervisors = true;
    });
    for _ in 0..2 {
        later(&mut cluster);
    }
    let enabled = condition(&cluster, "prod", "ComputeServicesEnabled");
    assert_eq!(enabled[0], "Unknown");
    assert_ne!(condition(&cluster, "prod", "Ready")[1], "WaitingForNova");
}

/// None of its nodes takes servers, as far as Nova was asked.
#[test]
fn share_is_not_ready_while_nova_does_not_answer_before_its_hosts_are_enabled() {
    let (mut cluster, nova) = started();
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    nova.change(|state| {
        for service in state.services.values_mut() {
            service.disabled = Some(NEW.to_owned());
        }
        state.hides_hypervisors = true;
    });
    for is_unreachable in [false, true] {
        nova.change(|state| state.is_unreachable = is_unreachable);
        later(&mut cluster);
        for type_ in ["ComputeServicesEnabled", "HostsWorking", "Ready"] {
            let [status, reason, _] = condition(&cluster, "prod", type_);
            assert_eq!([status, reason], ["False", "WaitingForNova"]);
        }
    }
}

#[test]
fn new_host_that_a_person_disables_at_the_last_moment_stays_disabled() {
    let (mut cluster, nova) = with_new();
    nova.change(|state| state.disabled_next = Some("node-b".to_owned()));
    later(&mut cluster);
    assert_eq!(nova.disabled("node-b").as_deref(), Some(PERSON));
    assert_eq!(waits(&cluster), None);
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
