//! A change of release waits for Jobs that migrate databases, which have a limit of their own.

use c5c3_api::control_plane::UpdatePhase;
use jiff::SignedDuration;
use provider_control_plane::graph::Node;
use provider_control_plane::rollout::TIMEOUT;
use rstest::rstest;
use serde_json::json;

use super::{phase, running, wants};
use crate::stage::{Stage, first};

/// A change to 2026.1 that waits for a node.
fn changes(node: Node) -> Stage {
    let mut stage = running("2025.2");
    wants(&mut stage, "2026.1");
    stage.held.insert(node);
    stage.simulate();
    assert_eq!(stage.release(node), "2026.1");
    stage
}

/// Reports a condition of a node that isn't Ready, since now.
fn report(stage: &mut Stage, node: Node, (type_, status, reason): (&str, &str, &str)) {
    let now = stage.cluster.now().to_string();
    let condition = |type_: &str, status: &str, reason: &str| json!({ "type": type_, "status": status, "reason": reason, "lastTransitionTime": now });
    let status = json!({
        "release": "2025.2",
        "conditions": [
            condition(type_, status, reason),
            condition("Ready", "False", "Starting"),
        ],
    });
    stage.cluster.set_status(&first(node), status);
    stage.settle();
}

#[rstest]
#[case::of_a_service(Node::Keystone, "DatabaseReady", UpdatePhase::UpdatingKeystone)]
#[case::of_a_cell(Node::Nova, "ConductorReady", UpdatePhase::UpdatingServices)]
fn phase_waits_while_jobs_migrate_databases(
    #[case] node: Node,
    #[case] condition: &str,
    #[case] waits: UpdatePhase,
) {
    let mut stage = changes(node);
    report(&mut stage, node, (condition, "False", "WaitingForJob"));
    stage.cluster.wait(TIMEOUT * 3);
    stage.settle();
    assert_eq!(phase(&stage), waits);

    // The pods start, and don't become ready.
    report(&mut stage, node, (condition, "True", "Ready"));
    stage.cluster.wait(TIMEOUT - SignedDuration::from_secs(1));
    stage.settle();
    assert_eq!(phase(&stage), waits);
    stage.cluster.wait(SignedDuration::from_secs(2));
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
}

#[test]
fn phase_does_not_wait_for_a_job_that_fails() {
    let mut stage = changes(Node::Keystone);
    report(
        &mut stage,
        Node::Keystone,
        ("DatabaseReady", "False", "JobFailing"),
    );
    stage.cluster.wait(TIMEOUT + SignedDuration::from_secs(1));
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
}
