//! Nodes that don't work: how many of them Ready of a share can do without.

mod compute_services;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_composer::Key;
use provider_composer_testing::Cluster;
use rstest::rstest;
use serde_json::json;

use crate::drain::{cordon, pod};
use crate::fixture::*;
use crate::nova::{Nova, later, started};

const NODES: [&str; 3] = ["node-a", "node-b", "node-d"];
/// The agent without which servers start and run.
const MIGRATION: &str = "nova-migration";

/// A share with three nodes, all of which work.
fn working(min_hosts: u32) -> (Cluster, Nova) {
    let (mut cluster, nova) = started();
    put_node(&mut cluster, "node-d", "10.0.0.4");
    nova.set_up("node-d", true);
    set(&mut cluster, "prod", "minHosts", json!(min_hosts));
    run_pods(&mut cluster, "prod", &NODES);
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
    assert_eq!(ready(&cluster), "True");
    (cluster, nova)
}

fn working_hosts(cluster: &Cluster) -> [String; 3] {
    condition(cluster, "prod", "HostsWorking")
}

fn ready(cluster: &Cluster) -> String {
    condition(cluster, "prod", "Ready")[0].clone()
}

/// What is said of a share of which two nodes work, and node-b doesn't.
fn two_of_three(reason: &str, needed: u32, why: &str) -> [String; 3] {
    let message = format!(
        "2 of 3 nodes work, and Ready needs {needed}: {why}. See the other conditions of the HypervisorShare"
    );
    ["False", reason, message.as_str()].map(str::to_owned)
}

#[rstest]
#[case::none_promised(0, 1, "True")]
#[case::one(1, 1, "True")]
#[case::two(2, 2, "True")]
#[case::all(3, 3, "False")]
fn share_is_ready_while_as_many_nodes_run_every_agent_as_it_needs(
    #[case] min_hosts: u32,
    #[case] needed: u32,
    #[case] is_ready: &str,
) {
    let (mut cluster, _nova) = working(min_hosts);
    for agent in AGENTS.into_iter().filter(|agent| *agent != MIGRATION) {
        pod(&mut cluster, agent, "node-b", Some(false));
        settle(&mut cluster, "prod");
        let why = format!("node-b has no Ready pod of {agent}");
        assert_eq!(
            working_hosts(&cluster),
            two_of_three("Starting", needed, &why)
        );
        assert_eq!(ready(&cluster), is_ready);
        pod(&mut cluster, agent, "node-b", Some(true));
        settle(&mut cluster, "prod");
        assert_eq!(working_hosts(&cluster)[0], "True");
        assert_eq!(ready(&cluster), "True");
    }
}

#[test]
fn hosts_of_each_agent_and_of_nova_are_exported() {
    let (mut cluster, nova) = working(1);
    pod(&mut cluster, "ovn-controller", "node-b", Some(false));
    nova.set_up("node-d", false);
    later(&mut cluster);
    let gauges = settle(&mut cluster, "prod").desired.gauges.into_iter();
    let lines = gauges.map(|gauge| {
        let agent = gauge.labels.first().map(|(_, agent)| agent.as_str());
        let name = gauge.metric.name.trim_start_matches("hypervisor_share_");
        format!("{name} {} {}", agent.unwrap_or_default(), gauge.value)
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "hosts  3",
            "agent_ready_hosts openvswitch 3",
            "agent_ready_hosts ovn-controller 2",
            "agent_ready_hosts neutron-ovn-agent 3",
            "agent_ready_hosts libvirt 3",
            "agent_ready_hosts nova-compute 3",
            "compute_services_up  2",
        ]
    );
}

/// What the node has may be another control plane's, and claims repeat the condition.
#[rstest]
#[case(2, "True", None)]
#[case(3, "False", Some("True"))]
fn share_is_ready_while_as_many_nodes_have_what_agents_need_as_it_needs(
    #[case] min_hosts: u32,
    #[case] is_ready: &str,
    #[case] stalled: Option<&str>,
) {
    let (mut cluster, _nova) = working(min_hosts);
    let missing = "/dev/net/tun is missing: load the kernel module tun";
    refuse(&mut cluster, missing);
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "HostsReady"),
        [
            "False".to_owned(),
            "RequirementMissing".to_owned(),
            format!("node node-b: {missing}")
        ]
    );
    assert_eq!(
        working_hosts(&cluster),
        two_of_three(
            "RequirementMissing",
            min_hosts,
            "node-b lacks something that its agents need"
        )
    );
    assert_eq!(ready(&cluster), is_ready);
    let found = cluster.condition(&share_key("prod"), "Stalled");
    let found = found.map(|[status, ..]| status);
    assert_eq!(found.as_deref(), stalled);
}

/// Lets the check of openvswitch refuse node-b.
fn refuse(cluster: &mut Cluster, why: &str) {
    pod(cluster, "openvswitch", "node-b", Some(false));
    let check = json!({
        "name": "requirements", "image": "", "imageID": "", "ready": false, "restartCount": 3,
        "state": { "terminated": { "exitCode": 1, "message": why } },
    });
    let not_ready = json!({ "type": "Ready", "status": "False" });
    cluster.set_status(
        &Key::of::<Pod>("agents-prod", "openvswitch-node-b"),
        json!({ "conditions": [not_ready], "initContainerStatuses": [check] }),
    );
}

/// Servers start and run there, and can't be moved to it.
#[test]
fn node_to_which_no_server_can_move_works() {
    let (mut cluster, _nova) = working(3);
    cluster.set_status(
        &Key::of::<DaemonSet>("agents-prod", MIGRATION),
        json!({
            "observedGeneration": 1, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 2,
            "currentNumberScheduled": 3, "numberMisscheduled": 0,
        }),
    );
    pod(&mut cluster, MIGRATION, "node-b", Some(false));
    settle(&mut cluster, "prod");
    let [status, _, message] = condition(&cluster, "prod", "MigrationReady");
    assert_eq!(status, "False");
    assert!(message.contains("2 of 3 are ready"), "{message}");
    assert_eq!(working_hosts(&cluster)[0], "True");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn share_is_not_ready_while_no_node_works() {
    let cluster = settled();
    assert_eq!(ready(&cluster), "False", "no agent has started yet");
    let (mut cluster, _nova) = working(0);
    for node in NODES {
        pod(&mut cluster, "libvirt", node, Some(false));
    }
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "Ready").join(": "),
        "False: Starting: 0 of 3 nodes work, and Ready needs 1: node-a has no Ready pod of libvirt, node-b has no Ready pod of libvirt, node-d has no \
         Ready pod of libvirt. See the other conditions of the HypervisorShare"
    );
}

/// A node whose agents run and one whose compute service is up aren't one that works.
#[test]
fn node_works_only_with_its_agents_and_its_compute_service() {
    let (mut cluster, nova) = working(2);
    pod(&mut cluster, "openvswitch", "node-a", Some(false));
    nova.set_up("node-b", false);
    later(&mut cluster);
    let [status, reason, message] = working_hosts(&cluster);
    assert_eq!([&*status, &*reason], ["False", "Starting"]);
    assert!(
        message.starts_with(
            "1 of 3 nodes work, and Ready needs 2: node-a has no Ready pod of openvswitch, node-b has no nova-compute that reports to Nova"
        ),
        "{message}"
    );
    assert_eq!(ready(&cluster), "False");
}

#[test]
fn drained_node_counts_neither_as_working_nor_as_broken() {
    let (mut cluster, _nova) = working(2);
    cordon(&mut cluster, "node-b", true);
    pod(&mut cluster, "libvirt", "node-b", Some(false));
    later(&mut cluster);
    assert_eq!(working_hosts(&cluster)[0], "True");
    pod(&mut cluster, "libvirt", "node-a", Some(false));
    settle(&mut cluster, "prod");
    let [_, _, message] = working_hosts(&cluster);
    assert!(
        message.starts_with("1 of 2 nodes work, and Ready needs 2: node-a"),
        "{message}"
    );
    assert_eq!(ready(&cluster), "False");
}

/// The pods that were replaced don't start, and the others run as before.
#[test]
fn update_of_agents_that_fails_is_shown_by_a_share_that_is_ready() {
    let (mut cluster, _nova) = working(2);
    let key = Key::of::<DaemonSet>("agents-prod", "nova-compute");
    cluster.set_status(
        &key,
        json!({
            "observedGeneration": 1, "desiredNumberScheduled": 3, "updatedNumberScheduled": 1, "numberReady": 2,
            "currentNumberScheduled": 3, "numberMisscheduled": 0,
        }),
    );
    pod(&mut cluster, "nova-compute", "node-b", Some(false));
    settle(&mut cluster, "prod");
    let [status, _, message] = condition(&cluster, "prod", "ComputeReady");
    assert_eq!(status, "False");
    assert!(
        message.contains("2 of 3 are ready, 1 are up to date"),
        "{message}"
    );
    assert_eq!(working_hosts(&cluster)[0], "False");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn share_whose_agents_wait_for_their_configuration_is_not_ready_though_all_nodes_work() {
    let (mut cluster, _nova) = working(1);
    cluster.delete(&Key::of::<Secret>("openstack-prod", "ovn-chassis"));
    settle(&mut cluster, "prod");
    assert_eq!(working_hosts(&cluster)[0], "True");
    assert_eq!(
        condition(&cluster, "prod", "Ready")[1],
        "WaitingForConfiguration"
    );
}

#[test]
fn pods_that_cannot_be_read_do_not_count() {
    let (mut cluster, _nova) = working(1);
    cluster.set_readable(&Key::of::<Pod>("agents-prod", "libvirt-node-a"), false);
    settle(&mut cluster, "prod");
    let [status, reason, _] = working_hosts(&cluster);
    assert_eq!([&*status, &*reason], ["Unknown", "LookupFailed"]);
    assert_eq!(ready(&cluster), "False");
}
