//! What Tempest found, as its control plane repeats it.

use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const PASSED: &str = "TestsPassed";

/// A control plane that is tested once for each release.
fn tested() -> Stage {
    Stage::running(json!({
        "openStackRelease": "2025.2",
        "tempest": { "enabled": true, "suspend": true, "tests": { "services": ["identity"], "concurrency": 2 } },
    }))
}

fn key() -> Key {
    Node::Tempest.step().keys(NAMESPACE).next().unwrap()
}

/// Tempest reports these fields of its condition for the present generation, and a run with two failed tests.
fn reports(stage: &mut Stage, condition: &Value) {
    let generation = stage.object(Node::Tempest).unwrap()["metadata"]["generation"].clone();
    let of = |type_: &str, fields: &Value| {
        let mut condition = fields.clone();
        condition["type"] = json!(type_);
        condition["observedGeneration"] = generation.clone();
        condition
    };
    let ready = json!({ "status": "True", "reason": "Ready" });
    let status = json!({
        "conditions": [of(PASSED, condition), of("Ready", &ready)],
        "lastRun": "2026-02-01T00:01:00Z",
        "results": { "passedTests": 7, "failedTests": 2, "skippedTests": 1, "totalTests": 10 },
    });
    stage.cluster.set_status(&key(), status);
    stage.settle();
}

fn shown(stage: &Stage) -> [String; 3] {
    stage.condition(PASSED).into()
}

#[test]
fn tempest_is_suspended_as_the_control_plane_says() {
    let stage = tested();
    let spec = &stage.object(Node::Tempest).unwrap()["spec"];
    assert_eq!(spec["suspend"], true);
    assert_eq!(spec["tests"]["services"], json!(["identity"]));
}

#[test]
fn result_is_unknown_until_tests_have_ended() {
    let mut stage = tested();
    let unreported = "Tempest tempest hasn't reported whether its tests passed";
    assert_eq!(shown(&stage), ["Unknown", "WaitingForTempest", unreported]);
    assert_eq!(stage.status()["verified"], Value::Null);

    let message = "waits for Job tempest-run-1, which runs";
    reports(
        &mut stage,
        &json!({ "status": "Unknown", "reason": "WaitingForJob", "message": message }),
    );
    assert_eq!(shown(&stage), ["Unknown", "WaitingForTempest", message]);
    assert_eq!(stage.condition("Ready").0, "True");

    stage.held.insert(Node::Nova);
    stage.want(|spec| spec["tempest"]["enabled"] = json!(false));
    stage.play();
    stage.want(|spec| spec["tempest"]["enabled"] = json!(true));
    stage.play();
    let [status, _, message] = shown(&stage);
    assert_eq!(status, "Unknown", "before there is a Tempest");
    assert!(
        message.starts_with("Tempest tempest waits for Nova nova"),
        "{message}"
    );
}

#[test]
fn failed_tests_are_repeated_and_the_control_plane_stays_ready() {
    let mut stage = tested();
    let message =
        "2 of 10 tests failed, for instance a, b; see `kubectl logs -n openstack tempest-run-a`";
    reports(
        &mut stage,
        &json!({ "status": "False", "reason": "TestsFailed", "message": message }),
    );
    assert_eq!(shown(&stage), ["False", "TestsFailed", message]);
    assert_eq!(
        stage.status()["verified"],
        json!({ "time": "2026-02-01T00:01:00Z", "passed": 7, "failed": 2 })
    );
    assert_eq!(stage.condition("Ready").0, "True");
    assert_eq!(stage.condition("ServicesReady").0, "True");
}

#[test]
fn next_release_is_complete_without_the_last_ones_result() {
    let mut stage = tested();
    reports(&mut stage, &json!({ "status": "True", "reason": "Ready" }));
    assert_eq!(shown(&stage)[0], "True");
    stage.want(|spec| spec["openStackRelease"] = json!("2026.1"));
    stage.settle();
    for _ in 0..16 {
        // Tempest's status stays that of the last release until its operator has seen the next one.
        let before = stage.object(Node::Tempest).unwrap().clone();
        stage.grant();
        if before["spec"]["release"] == "2025.2" {
            stage.cluster.set_status(&key(), before["status"].clone());
        }
        stage.settle();
        if stage.condition("Ready").0 == "True" {
            break;
        }
    }
    assert_eq!(stage.status()["release"], "2026.1");
    assert_eq!(shown(&stage)[0], "Unknown");
}

#[test]
fn result_goes_with_tempest() {
    let mut stage = tested();
    reports(&mut stage, &json!({ "status": "True", "reason": "Ready" }));
    stage.want(|spec| {
        spec.as_object_mut().unwrap().remove("tempest");
    });
    stage.play();
    assert!(stage.object(Node::Tempest).is_none());
    assert_eq!(stage.status()["verified"], Value::Null);
    let conditions = stage.status()["conditions"].as_array().unwrap();
    assert!(
        !conditions
            .iter()
            .any(|condition| condition["type"] == PASSED)
    );
    assert_eq!(stage.condition("Ready").0, "True");
}
