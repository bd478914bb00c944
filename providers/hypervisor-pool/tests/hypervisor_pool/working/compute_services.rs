//! Nodes that don't work, by what Nova says of their compute services and hypervisors.

use jiff::SignedDuration;
use provider_composer_testing::Cluster;
use rstest::rstest;
use serde_json::json;

use super::{NODES, ready, two_of_three, working, working_hosts};
use crate::drain::{cordon, pod};
use crate::fixture::*;
use crate::nova::{Nova, later};

#[rstest]
#[case(2, "True")]
#[case(3, "False")]
fn share_is_ready_while_as_many_compute_services_are_up_as_it_needs(
    #[case] min_hosts: u32,
    #[case] is_ready: &str,
) {
    let (mut cluster, nova) = working(min_hosts);
    nova.set_up("node-b", false);
    later(&mut cluster);
    assert_eq!(
        working_hosts(&cluster),
        two_of_three(
            "NotRegistered",
            min_hosts,
            "node-b has no nova-compute that reports to Nova"
        )
    );
    let [status, _, message] = condition(&cluster, "prod", "ComputeServicesUp");
    assert_eq!(status, "False");
    assert!(message.contains("node-b"), "{message}");
    assert_eq!(ready(&cluster), is_ready);
    nova.set_up("node-b", true);
    later(&mut cluster);
    assert_eq!(ready(&cluster), "True");
}

/// Servers fail on others, because the scheduler has not found their cell yet.
#[rstest]
#[case(2, "True")]
#[case(3, "False")]
fn share_without_an_aggregate_is_ready_while_nova_lists_as_many_hypervisors_as_it_needs(
    #[case] min_hosts: u32,
    #[case] is_ready: &str,
) {
    let (mut cluster, nova) = working(min_hosts);
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    later(&mut cluster);
    assert_eq!(
        working_hosts(&cluster),
        two_of_three(
            "WaitingForNova",
            min_hosts,
            "Nova doesn't list the hypervisor of node-b"
        )
    );
    assert_eq!(ready(&cluster), is_ready);
    let soon = cluster.now() + SignedDuration::from_secs(10);
    let requeue_at = answer(&cluster, "prod").desired.requeue_at;
    assert_eq!(requeue_at, Some(soon));
    nova.change(|state| state.starting.clear());
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
    assert_eq!(ready(&cluster), "True");
}

/// A part of its hypervisor's name isn't sought.
#[test]
fn node_of_a_share_without_an_aggregate_works_whatever_libvirt_calls_it() {
    let (mut cluster, nova) = working(3);
    let name = "metal-17".to_owned();
    nova.change(|state| state.named.insert("node-b".to_owned(), name));
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
}

/// Servers run there.
#[test]
fn node_works_while_nova_does_not_say_which_hypervisors_it_has() {
    let (mut cluster, nova) = working(3);
    nova.change(|state| {
        state.starting.insert("node-b".to_owned());
        state.hides_hypervisors = true;
    });
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
    assert_eq!(ready(&cluster), "True");
}

/// It is a choice, and the node's servers run.
#[test]
fn node_whose_compute_service_is_disabled_is_named_and_counts_as_working() {
    let (mut cluster, nova) = working(3);
    let disable = |why: Option<&str>| {
        let why = why.map(str::to_owned);
        nova.change(|state| state.services.get_mut("node-b").unwrap().disabled = why);
    };
    disable(Some("new disks"));
    later(&mut cluster);
    assert_eq!(
        working_hosts(&cluster).join(": "),
        "False: ComputeServiceDisabled: 3 of 3 nodes work, and Ready needs 3: node-b gets no further servers, because its compute service is disabled. See the \
         other conditions of the HypervisorShare"
    );
    assert_eq!(ready(&cluster), "True");
    disable(None);
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
}

/// nova-compute does so while libvirt is away.
#[test]
fn compute_service_that_disabled_itself_is_read_again_soon() {
    let (mut cluster, nova) = working(3);
    let requeued = |cluster: &Cluster| {
        let requeue_at = answer(cluster, "prod").desired.requeue_at;
        requeue_at.unwrap().duration_since(cluster.now())
    };
    assert_eq!(requeued(&cluster), SignedDuration::from_mins(5));
    for (reason, wait) in [
        (
            "AUTO: Connection to libvirt lost: 1",
            SignedDuration::from_secs(10),
        ),
        ("new disks", SignedDuration::from_mins(5)),
    ] {
        nova.change(|state| {
            state.services.get_mut("node-b").unwrap().disabled = Some(reason.to_owned());
        });
        later(&mut cluster);
        assert_eq!(requeued(&cluster), wait, "{reason}");
    }
}

/// Servers run meanwhile, so the share stays Ready.
#[test]
fn whether_nodes_work_is_unknown_while_nova_does_not_answer() {
    let (mut cluster, nova) = working(3);
    nova.change(|state| state.is_unreachable = true);
    later(&mut cluster);
    let [status, reason, message] = working_hosts(&cluster);
    assert_eq!([&*status, &*reason], ["Unknown", "LookupFailed"]);
    assert!(
        message
            .starts_with("a Ready pod of each agent runs on every node, and Nova can't be asked"),
        "{message}"
    );
    assert_eq!(ready(&cluster), "True");
    pod(&mut cluster, "libvirt", "node-b", Some(false));
    later(&mut cluster);
    assert_eq!(
        working_hosts(&cluster),
        two_of_three("Starting", 3, "node-b has no Ready pod of libvirt")
    );
    assert_eq!(ready(&cluster), "False");
    nova.change(|state| state.is_unreachable = false);
    pod(&mut cluster, "libvirt", "node-b", Some(true));
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
}

/// All of its compute services may be disabled since they registered.
#[test]
fn share_that_was_never_ready_waits_for_an_answer_of_nova() {
    let mut cluster = cluster();
    let nova = Nova::connect(&mut cluster);
    nova.change(|state| state.is_unreachable = true);
    settle(&mut cluster, "prod");
    run_pods(&mut cluster, "prod", &["node-a", "node-b"]);
    later(&mut cluster);
    let enabled = |cluster: &Cluster| condition(cluster, "prod", "ComputeServicesEnabled");
    assert_eq!(
        enabled(&cluster).join(": "),
        "False: WaitingForNova: Nova can't be asked which compute services are disabled since they registered: nova doesn't answer"
    );
    assert_eq!(
        condition(&cluster, "prod", "Ready").join(": "),
        "False: WaitingForNova: 0 of 2 nodes work, and Ready needs 1: Nova can't be asked about node-a, Nova can't be asked about node-b. See the other \
         conditions of the HypervisorShare"
    );
    nova.change(|state| state.is_unreachable = false);
    later(&mut cluster);
    assert_eq!(enabled(&cluster)[0], "True");
    assert_eq!(ready(&cluster), "True");
}

/// Whichever fails first.
#[rstest]
#[case::nova(true)]
#[case::agents(false)]
fn share_that_was_ready_becomes_ready_again_while_nova_does_not_answer(
    #[case] is_unreachable: bool,
) {
    let (mut cluster, nova) = working(1);
    nova.change(|state| state.is_unreachable = is_unreachable);
    later(&mut cluster);
    for is_ready in [false, true] {
        for node in NODES {
            pod(&mut cluster, "libvirt", node, Some(is_ready));
        }
        later(&mut cluster);
        assert_eq!(ready(&cluster) == "True", is_ready);
        nova.change(|state| state.is_unreachable = true);
        later(&mut cluster);
        assert_eq!(ready(&cluster) == "True", is_ready);
        let enabled = condition(&cluster, "prod", "ComputeServicesEnabled");
        assert_eq!(enabled[0], "Unknown");
    }
}

/// The failure of the call is what Ready reported last.
#[test]
fn share_is_ready_while_nova_does_not_answer_since_a_call_failed() {
    let (mut cluster, nova) = working(2);
    nova.change(|state| state.fails_calls = true);
    cordon(&mut cluster, "node-b", true);
    later(&mut cluster);
    assert_eq!(ready(&cluster), "True");
    let [status, reason, _] = condition(&cluster, "prod", "Reconciling");
    assert_eq!([&*status, &*reason], ["True", "SystemUnavailable"]);
    cluster.wait(SignedDuration::from_mins(5));
    later(&mut cluster);
    assert_eq!(condition(&cluster, "prod", "Ready")[1], "SystemUnavailable");
    nova.change(|state| state.is_unreachable = true);
    later(&mut cluster);
    assert_eq!(ready(&cluster), "True");
    assert_eq!(working_hosts(&cluster)[0], "Unknown");
    let [status, reason, _] = condition(&cluster, "prod", "ComputeServicesUp");
    assert_eq!([&*status, &*reason], ["False", "LookupFailed"]);
}

/// It was Ready before that.
#[test]
fn share_of_which_too_few_hosts_worked_last_waits_for_an_answer_of_nova() {
    let (mut cluster, nova) = working(3);
    nova.change(|state| state.starting.insert("node-b".to_owned()));
    later(&mut cluster);
    for is_unreachable in [true, false] {
        nova.change(|state| {
            state.is_unreachable = is_unreachable;
            state.starting.clear();
        });
        later(&mut cluster);
        assert_eq!(ready(&cluster) == "True", !is_unreachable);
    }
}

/// An earlier operator didn't report whether its hosts had worked.
#[test]
fn share_that_an_earlier_operator_called_ready_stays_ready_while_nova_does_not_answer() {
    let (mut cluster, nova) = working(3);
    let mut status = cluster.get(&share_key("prod")).unwrap()["status"].clone();
    let worked = status.as_object_mut().unwrap().remove("hostsWorked");
    assert_eq!(worked, Some(json!(true)));
    cluster.set_status(&share_key("prod"), status);
    nova.change(|state| state.is_unreachable = true);
    later(&mut cluster);
    assert_eq!(ready(&cluster), "True");
}
