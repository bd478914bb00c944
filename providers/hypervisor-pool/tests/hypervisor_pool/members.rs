//! Hosts of a share's aggregate in Placement.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use serde_json::json;

use crate::drain::pod;
use crate::fixture::*;
use crate::nova::{Nova, Placement, State, later, service, started};

/// A share whose nodes get an availability zone, after something has happened to its Nova.
fn joining(happens: impl FnOnce(&mut State)) -> (Cluster, Nova) {
    let (mut cluster, nova) = started();
    nova.change(happens);
    set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
    later(&mut cluster);
    (cluster, nova)
}

fn hosts(nova: &Nova) -> Vec<String> {
    nova.change(|state| state.aggregates[0].hosts.iter().cloned().collect())
}

fn ready(cluster: &Cluster) -> [String; 3] {
    condition(cluster, "prod", "AggregateReady")
}

/// nova-compute registers its compute service first. Nova would keep a membership that Placement lacks.
#[test]
fn host_is_added_once_nova_has_its_hypervisor() {
    let (mut cluster, nova) = joining(|state| {
        state.starting.insert("node-b".to_owned());
    });
    assert_eq!(hosts(&nova), ["node-a"]);
    assert_eq!(
        ready(&cluster).join(": "),
        "False: NotRegistered: waits for nova-compute to create hypervisors of node-b, without which Placement doesn't have them in the aggregate: where \
         that lasts, check its pods on these nodes, and `openstack hypervisor list`"
    );
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[0], "True");
}

#[test]
fn share_stays_ready_while_a_host_joins_that_it_can_do_without() {
    let (mut cluster, nova) = joining(|_| {});
    put_node(&mut cluster, "node-d", "10.0.0.4");
    run_pods(&mut cluster, "prod", &["node-a", "node-b", "node-d"]);
    nova.set_up("node-d", true);
    nova.change(|state| state.starting.insert("node-d".to_owned()));
    later(&mut cluster);
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[1], "NotRegistered");
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    set(&mut cluster, "prod", "minHosts", json!(3));
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "NotRegistered");
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(hosts(&nova), ["node-a", "node-b", "node-d"]);
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
}

/// A node that works and another one that is in the aggregate take no servers of its zone.
#[test]
fn share_is_not_ready_while_no_node_in_its_aggregate_works() {
    let (mut cluster, nova) = joining(|state| {
        state.starting.insert("node-b".to_owned());
    });
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    later(&mut cluster);
    assert_eq!(hosts(&nova), ["node-a"]);
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    pod(&mut cluster, "libvirt", "node-a", Some(false));
    later(&mut cluster);
    assert_eq!(
        condition(&cluster, "prod", "Ready").join(": "),
        "False: Starting: 0 of 2 nodes work, and Ready needs 1: node-a has no Ready pod of libvirt, node-b isn't in Nova's aggregate. See the other \
         conditions of the HypervisorShare"
    );
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
}

/// Placement knows it by its hypervisor.
#[test]
fn node_works_though_libvirt_has_another_name_for_it() {
    let (mut cluster, _nova) = joining(|state| {
        state.starting.insert("node-a".to_owned());
        let name = "at-node-b".to_owned();
        state.named.insert("node-b".to_owned(), name);
    });
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    later(&mut cluster);
    let [_, _, message] = condition(&cluster, "prod", "HostsWorking");
    assert!(message.starts_with("1 of 2 nodes work"), "{message}");
    assert!(!message.contains("node-b"), "{message}");
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
}

#[test]
fn membership_that_placement_lacks_is_copied() {
    let (mut cluster, nova) = joining(|state| {
        state.without_provider.insert("node-b".to_owned());
    });
    assert_eq!(hosts(&nova), ["node-a", "node-b"], "Nova only logs it");
    assert_eq!(
        ready(&cluster).join(": "),
        "False: WaitingForPlacement: waits for Placement to have these hosts in the aggregate prod: node-b. Until then the scheduler doesn't choose \
         them for requests that name its availability zone; where that lasts, see nova-compute's log on these nodes"
    );
    nova.change(|state| state.without_provider.clear());
    later(&mut cluster);
    assert!(nova.change(|state| state.uncopied.is_empty()));
    assert_eq!(ready(&cluster)[0], "True");
    let calls = nova.change(|state| state.calls);
    later(&mut cluster);
    assert_eq!(nova.change(|state| state.calls), calls, "it stays as it is");
}

/// As a host that was added by an earlier version, before its resource provider existed. Removed and added, it would lose its zone.
#[test]
fn membership_of_a_host_with_servers_is_copied_too() {
    let (mut cluster, nova) = joining(|_| {});
    nova.occupy("node-b", 1, 0);
    nova.change(|state| state.uncopied.insert("node-b".to_owned()));
    later(&mut cluster);
    assert!(nova.change(|state| state.uncopied.is_empty()));
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[0], "True");
}

#[test]
fn resource_provider_may_have_another_name_than_its_host() {
    let (mut cluster, nova) = joining(|state| {
        let name = "node-a.example.com".to_owned();
        state.named.insert("node-a".to_owned(), name);
    });
    assert_eq!(ready(&cluster)[0], "True");
    nova.change(|state| state.sought.clear());
    later(&mut cluster);
    assert!(
        nova.change(|state| state.sought.is_empty()),
        "hypervisors aren't asked for what their names tell"
    );
    let calls = nova.change(|state| state.calls);
    for name in ["rack-1-node-b", "metal-17"] {
        let name = name.to_owned();
        nova.change(|state| state.named.insert("node-b".to_owned(), name));
        later(&mut cluster);
        assert_eq!(ready(&cluster)[0], "True");
    }
    assert_eq!(nova.change(|state| state.calls), calls);
}

#[test]
fn host_joins_though_its_name_is_no_part_of_that_of_libvirt() {
    let (mut cluster, nova) = joining(|state| {
        let name = "metal-17".to_owned();
        state.named.insert("node-b".to_owned(), name);
        state.without_provider.insert("node-b".to_owned());
    });
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[1], "WaitingForPlacement");
    nova.change(|state| state.without_provider.clear());
    later(&mut cluster);
    assert!(nova.change(|state| state.uncopied.is_empty()));
    assert_eq!(ready(&cluster)[0], "True");
}

#[test]
fn host_does_not_wait_for_many_others_that_never_get_a_hypervisor() {
    let (mut cluster, nova) = joining(|_| {});
    for number in 10..50 {
        let node = format!("node-{number}");
        put_node(&mut cluster, &node, "10.0.1.1");
        nova.change(|state| {
            state.services.insert(node.clone(), service(&node, true));
            state.starting.insert(node);
        });
    }
    nova.change(|state| state.starting.remove("node-49"));
    for _ in 0..3 {
        later(&mut cluster);
    }
    assert_eq!(hosts(&nova), ["node-49", "node-a", "node-b"]);
    assert_eq!(ready(&cluster)[1], "NotRegistered");
    nova.change(|state| state.sought.clear());
    cluster.wait(SignedDuration::from_secs(15));
    reconcile(&mut cluster, "prod");
    assert_eq!(nova.change(|state| state.sought.len()), 32);
}

/// Its servers run.
#[test]
fn share_does_not_fail_while_placement_does_not_answer() {
    let (mut cluster, nova) = joining(|state| state.placement = Placement::Silent);
    assert_eq!(
        ready(&cluster).join(": "),
        "Unknown: LookupFailed: Placement can't be asked which hosts are in the aggregate: nova doesn't answer"
    );
    assert_ne!(condition(&cluster, "prod", "Ready")[1], "LookupFailed");
    nova.change(|state| state.placement = Placement::Answering);
    later(&mut cluster);
    assert_eq!(ready(&cluster)[0], "True");
}

/// What Nova doesn't say, while Placement answers.
#[rstest::rstest]
#[case::hypervisors(
    true,
    "Nova can't be asked for the hypervisor of node-b: nova doesn't answer"
)]
#[case::occupants(false, "Nova can't be asked what is on node-b: nova doesn't answer")]
fn share_does_not_fail_while_nova_does_not_answer(#[case] hides: bool, #[case] message: &str) {
    let (mut cluster, nova) = joining(|_| {});
    let silence = |is_silent: bool| {
        nova.change(|state| {
            state.hides_hypervisors = is_silent && hides;
            state.silent.clear();
            let silent = (is_silent && !hides).then(|| "node-b".to_owned());
            state.silent.extend(silent);
        });
    };
    silence(true);
    // As after an administrator removed it.
    nova.change(|state| state.aggregates[0].hosts.remove("node-b"));
    later(&mut cluster);
    assert_eq!(
        ready(&cluster),
        ["Unknown", "LookupFailed", message].map(str::to_owned)
    );
    assert_ne!(condition(&cluster, "prod", "Ready")[1], "LookupFailed");
    silence(false);
    later(&mut cluster);
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[0], "True");
}

/// As an older nova-operator writes it: nothing is checked, as before, and the share says so.
#[test]
fn aggregate_is_ready_where_the_clouds_yaml_has_no_placement() {
    let (cluster, nova) = joining(|state| state.placement = Placement::NotInClouds);
    assert_eq!(hosts(&nova), ["node-a", "node-b"]);
    assert_eq!(ready(&cluster)[0], "True");
    let [status, reason, message] = condition(&cluster, "prod", "ResourceProvidersChecked");
    assert_eq!([&*status, &*reason], ["False", "WaitingForPlacement"]);
    assert!(
        message.contains("run the same version of all operators"),
        "{message}"
    );
}
