//! A change of release waits for nova-compute on the hosts of all hypervisor pools.

use c5c3_api::control_plane::UpdatePhase;
use jiff::Timestamp;
use provider_control_plane::graph::Node;
use provider_control_plane::rollout::TIMEOUT;
use serde_json::{Value, json};

use super::{assert_rolls_back_after, phase, wants};
use crate::stage::{Stage, first};

/// A change to 2026.1 in which all services but Nova have the release.
fn changes_all_but_nova() -> Stage {
    let mut stage = super::running("2025.2");
    wants(&mut stage, "2026.1");
    stage.settle();
    stage.held.insert(Node::Nova);
    stage.simulate();
    assert_eq!(stage.release(Node::Nova), "2026.1");
    stage
}

/// Reports of Nova, which is ready, which release is complete, and whether computes run the new one, since when.
fn report_nova(stage: &mut Stage, release: &str, computes: Option<(&str, Timestamp)>) {
    let condition = |type_: &str, status: &str, since: Timestamp| {
        let message = match status {
            "True" => "",
            _ => "node-a is older",
        };
        json!({
            "type": type_, "status": status, "reason": "Reported", "message": message,
            "lastTransitionTime": since.to_string(),
        })
    };
    let now = stage.cluster.now();
    let computes = computes.map(|(status, since)| condition("ComputesUpgraded", status, since));
    let ready = condition("Ready", "True", now);
    let conditions: Vec<Value> = computes.into_iter().chain([ready]).collect();
    let status = json!({ "release": release, "conditions": conditions });
    stage.cluster.set_status(&first(Node::Nova), status);
    stage.settle();
}

#[test]
fn phase_waits_as_long_as_a_compute_is_older_and_says_so() {
    let mut stage = changes_all_but_nova();
    let begun = stage.cluster.now();
    report_nova(&mut stage, "2025.2", Some(("False", begun)));
    stage.cluster.wait(TIMEOUT * 10);
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::UpdatingServices);
    assert_eq!(stage.status()["release"], "2025.2");
    let (status, reason, message) = stage.condition("UpToDate");
    assert_eq!((&*status, &*reason), ("False", "UpdatingServices"));
    let why = "Nova nova doesn't run 2026.1 yet: node-a is older";
    assert!(message.ends_with(why), "{message}");

    let now = stage.cluster.now();
    report_nova(&mut stage, "2025.2", Some(("True", now)));
    assert_rolls_back_after(&mut stage, TIMEOUT);
}

#[test]
fn release_is_complete_once_that_of_nova_is() {
    let mut stage = changes_all_but_nova();
    let begun = stage.cluster.now();
    report_nova(&mut stage, "2025.2", Some(("False", begun)));
    stage.cluster.wait(TIMEOUT * 3);
    report_nova(&mut stage, "2026.1", None);
    assert_eq!(phase(&stage), UpdatePhase::Complete);
    assert_eq!(stage.status()["release"], "2026.1");
}

/// Its conductors would be older than nova-compute.
#[test]
fn nova_keeps_a_release_that_hypervisors_were_told_to_run() {
    let mut stage = changes_all_but_nova();
    let begun = stage.cluster.now();
    report_nova(&mut stage, "2025.2", Some(("False", begun)));
    wants(&mut stage, "2025.2");
    stage.settle();
    assert_eq!(phase(&stage), UpdatePhase::RollingBack);
    assert_eq!(stage.release(Node::Nova), "2026.1");

    report_nova(&mut stage, "2026.1", None);
    assert_eq!(phase(&stage), UpdatePhase::Idle);
    assert_eq!(stage.release(Node::Nova), "2026.1");
}
