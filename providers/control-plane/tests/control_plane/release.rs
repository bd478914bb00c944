//! A change of release: its order, its end, and its return when a phase fails.

mod alarms;
mod cinder;
mod computes;
mod migrations;
mod resumption;

use crate::stage::{Stage, without_control_planes};
use c5c3_api::control_plane::UpdatePhase;
use jiff::SignedDuration;
use provider_control_plane::graph::{GRAPH, Node};
use provider_control_plane::rollout::TIMEOUT;
use provider_openstack::{Release, table::RELEASES};
use rstest::rstest;
use serde_json::json;

const SERVICES: [Node; 5] = [
    Node::Glance,
    Node::Placement,
    Node::Nova,
    Node::Neutron,
    Node::Cinder,
];

fn running(release: &str) -> Stage {
    let stage = Stage::running(json!({ "openStackRelease": release }));
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    assert_eq!(stage.status()["release"], release);
    stage
}

fn wants(stage: &mut Stage, release: &str) {
    stage.want(|spec| spec["openStackRelease"] = json!(release));
}

fn phase(stage: &Stage) -> UpdatePhase {
    serde_json::from_value(stage.status()["updatePhase"].clone()).unwrap()
}

/// Which nodes are to have which release.
fn releases(stage: &Stage) -> Vec<(Node, &str)> {
    let nodes = [Node::Keystone].into_iter().chain(SERVICES);
    nodes.map(|node| (node, stage.release(node))).collect()
}

fn all(stage: &Stage, release: &str) -> bool {
    releases(stage).iter().all(|(_, has)| *has == release)
}

#[track_caller]
fn assert_rolls_back_after(stage: &mut Stage, time: SignedDuration) {
    stage.cluster.wait(time - SignedDuration::from_secs(1));
    stage.settle();
    assert_eq!(phase(stage), UpdatePhase::UpdatingServices);
    stage.cluster.wait(SignedDuration::from_secs(2));
    stage.settle();
    assert_eq!(phase(stage), UpdatePhase::RollingBack);
}

#[test]
fn nodes_change_in_the_order_of_their_phases() {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingKeystone);
    assert_eq!(stage.release(Node::Keystone), "2026.1");
    assert!(SERVICES.iter().all(|node| stage.release(*node) == "2025.2"));
    let (status, reason, message) = stage.condition("Ready");
    assert_eq!((&*status, &*reason), ("False", "WaitingForKeystone"));
    assert!(message.contains("Keystone keystone"), "{message}");
    assert_eq!(stage.condition("UpToDate").1, "UpdatingKeystone");

    stage.grant();
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
    let early = [Node::Glance, Node::Placement];
    for node in SERVICES {
        let wanted = if early.contains(&node) {
            "2026.1"
        } else {
            "2025.2"
        };
        assert_eq!(stage.release(node), wanted, "{node:?}");
    }
    assert_eq!(stage.status()["release"], "2025.2");

    stage.grant();
    stage.settle();
    assert!(all(&stage, "2026.1"), "{:?}", releases(&stage));
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);

    stage.grant();
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::Complete);
    assert_eq!(stage.status()["release"], "2026.1");
    assert_eq!(stage.status()["services"]["keystone"]["version"], "29.1.0");
    assert_eq!(stage.condition("Ready").0, "True");

    stage.cluster.wait(SignedDuration::from_mins(2));
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    assert!(stage.status().get("update").is_none());
}

#[test]
fn a_change_starts_from_what_runs() {
    let mut stage = running("2025.2");
    stage.held.insert(Node::RabbitMq);
    stage.grant();
    wants(&mut stage, "2026.1");
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::Validating);
    assert!(all(&stage, "2025.2"));
    assert!(
        stage
            .condition("UpToDate")
            .2
            .contains("RabbitmqCluster openstack-rabbitmq")
    );
    stage.cluster.wait(TIMEOUT * 2);
    stage.settle();
    assert_eq!(
        phase(&stage),
        UpdatePhase::Validating,
        "waiting to begin is no failure"
    );

    stage.held.clear();
    stage.simulate();
    assert!(all(&stage, "2026.1"));
}

#[test]
fn what_has_changed_does_not_change_back_while_something_is_unready() {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    stage.grant();
    stage.settle();
    assert_eq!(stage.release(Node::Glance), "2026.1");
    stage.held.insert(Node::Keystone);
    stage.grant();
    stage.settle();
    assert_eq!(stage.release(Node::Glance), "2026.1");
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
}

/// Databases can't go back: what has come to a release stays with it.
#[rstest]
#[case::keystone(Node::Keystone)]
#[case::glance(Node::Glance)]
#[case::cinder(Node::Cinder)]
fn a_phase_that_takes_too_long_brings_back_what_can_go_back(#[case] slow: Node) {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.held.insert(slow);
    stage.settle();
    stage.held.remove(&slow);
    stage.grant();
    stage.held.insert(slow);
    stage.simulate();
    stage.cluster.wait(TIMEOUT - SignedDuration::from_secs(1));
    stage.settle();
    assert_ne!(phase(&stage), UpdatePhase::RollingBack);
    stage.cluster.wait(SignedDuration::from_secs(2));
    stage.settle();
    assert_eq!(
        phase(&stage),
        UpdatePhase::RollingBack,
        "{:#}",
        stage.status()
    );
    let came = |node: &Node| stage.object(*node).unwrap()["status"]["release"] == "2026.1";
    let nodes = [Node::Keystone].into_iter().chain(SERVICES);
    let done: Vec<Node> = nodes.filter(came).collect();
    assert!(!done.is_empty() && !done.contains(&slow), "{done:?}");
    let returned = |stage: &Stage| {
        let mut releases = releases(stage).into_iter();
        releases.all(|(node, has)| {
            has == if done.contains(&node) {
                "2026.1"
            } else {
                "2025.2"
            }
        })
    };
    assert!(returned(&stage), "{:?}", releases(&stage));
    let (status, reason, message) = stage.condition("UpToDate");
    assert_eq!((&*status, &*reason), ("False", "RollingBack"));
    assert!(
        message.contains("30 minutes") && message.contains(slow.step().name),
        "{message}"
    );

    stage.held.clear();
    stage.simulate();
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    assert_eq!(stage.status()["release"], "2025.2");
    assert_eq!(stage.condition("UpToDate").1, "UpdateFailed");
    assert_eq!(stage.condition("Ready").0, "False");

    stage.cluster.wait(TIMEOUT * 10);
    stage.simulate();
    assert!(returned(&stage), "it isn't tried again by itself");

    stage.want(|spec| spec["global"] = json!({ "network": { "mtu": 9000 } }));
    stage.simulate();
    assert!(
        all(&stage, "2026.1"),
        "a change of the spec tries again: {:#}",
        stage.status()
    );
    assert_eq!(phase(&stage), UpdatePhase::Complete);
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn a_node_that_says_it_failed_brings_all_back_at_once() {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    let keystone = Node::Keystone
        .step()
        .keys(crate::stage::NAMESPACE)
        .next()
        .unwrap();
    let generation = stage.object(Node::Keystone).unwrap()["metadata"]["generation"].clone();
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": "JobGivenUp", "message": "db-sync ended with 1",
            "observedGeneration": generation,
        })
    };
    let failed =
        json!({ "conditions": [condition("Ready", "False"), condition("Stalled", "True")] });
    stage.cluster.set_status(&keystone, failed);
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
    assert!(
        stage
            .condition("UpToDate")
            .2
            .contains("db-sync ended with 1")
    );
    assert!(all(&stage, "2025.2"));
}

#[test]
fn a_change_that_is_taken_back_brings_all_back() {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    wants(&mut stage, "2025.2");
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
    assert!(all(&stage, "2025.2"));
    stage.simulate();
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    assert!(stage.status().get("update").is_none());
}

#[rstest]
#[case::back("2026.1", "2025.2", "older")]
#[case::skipped("2025.2", "2026.2", "2026.1 first")]
fn a_change_that_may_not_be_is_refused(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
    let mut stage = running(from);
    wants(&mut stage, to);
    stage.simulate();
    assert!(all(&stage, from));
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    let (_, reason, message) = stage.condition("Ready");
    assert_eq!(reason, "ReleaseNotReachable");
    assert!(message.contains(why), "{message}");
    assert_eq!(
        stage.condition("KeystoneReady").0,
        "True",
        "what runs runs on"
    );
}

#[test]
fn a_release_may_be_skipped_from_slurp_to_slurp() {
    let mut stage = running("2025.1");
    wants(&mut stage, "2026.1");
    stage.simulate();
    assert!(all(&stage, "2026.1"));
}

#[rstest]
fn releases_follow_one_another(
    #[values((2024, 1), (2024, 2), (2025, 1), (2025, 2), (2026, 1), (2026, 2))] from: (u16, u8),
    #[values((2024, 1), (2024, 2), (2025, 1), (2025, 2), (2026, 1), (2026, 2))] to: (u16, u8),
) {
    let number = |(year, half): (u16, u8)| i32::from(year) * 2 + i32::from(half);
    let steps = number(to) - number(from);
    let allowed = (0..=1).contains(&steps) || (steps == 2 && from.1 == 1);
    let release = |(year, half)| Release::new(year, half);
    assert_eq!(
        release(from).may_become(release(to)).is_ok(),
        allowed,
        "{from:?} -> {to:?}"
    );
}

#[test]
fn an_unknown_release_is_refused_with_those_that_are_known() {
    let mut stage = running("2025.2");
    let before = stage.observed();
    wants(&mut stage, "2031.1");
    stage.simulate();
    let (_, reason, message) = stage.condition("Ready");
    assert_eq!(reason, "ReleaseUnknown");
    for tags in &RELEASES {
        assert!(message.contains(&tags.release.to_string()), "{message}");
    }
    let after = stage.observed();
    crate::stage::assert_same(
        &without_control_planes(before),
        &without_control_planes(after),
    );
}

#[test]
fn nothing_depends_on_what_the_operator_remembers() {
    // Every settle is a new operator: the composer has no state. A lost status is a fresh install of what is wanted.
    let mut stage = running("2025.2");
    let key = stage.key.clone();
    stage.cluster.set_status(&key, json!({}));
    let before = stage.release(Node::Nova).to_owned();
    stage.simulate();
    assert_eq!(stage.release(Node::Nova), before);
    assert_eq!(stage.status()["release"], "2025.2");
    assert!(stage.cluster.generated().values().all(|times| *times == 1));
    assert!(
        GRAPH.len() > stage.nodes().len(),
        "Cortex and Tempest aren't wanted"
    );
}
