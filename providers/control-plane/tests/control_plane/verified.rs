//! What Tempest found, as its control plane repeats it.

use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{Stage, first};

const PASSED: &str = "TestsPassed";

/// A control plane that is tested once for each release, networks too, and has this external network.
fn with_network(external: &Value) -> Value {
    json!({
        "tempest": { "enabled": true, "suspend": true },
        "bootstrap": { "externalNetwork": {
            "physicalNetwork": "physnet1",
            "subnet": {
                "cidr": "203.0.113.0/24",
                "gateway": "203.0.113.1",
                "allocationPools": [{ "start": "203.0.113.10", "end": "203.0.113.19" }],
            },
        } },
        "global": { "network": {
            "externalNetwork": external,
            "physicalNetworks": [{ "name": "physnet1", "bridge": "br-ex" }],
        } },
    })
}

/// The external network that Tempest is told.
fn network(stage: &Stage) -> &Value {
    &stage.object(Node::Tempest).unwrap()["spec"]["externalNetwork"]
}

/// A control plane that is tested once for each release.
fn tested() -> Stage {
    Stage::running(json!({
        "openStackRelease": "2025.2",
        "tempest": {
            "enabled": true, "suspend": true, "tests": { "services": ["identity"], "concurrency": 2 }, "logs": { "size": "2Gi" },
        },
    }))
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
    stage.cluster.set_status(&first(Node::Tempest), status);
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
    assert_eq!(spec["logs"], json!({ "size": "2Gi" }));
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
    stage.simulate();
    stage.want(|spec| spec["tempest"]["enabled"] = json!(true));
    stage.simulate();
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
        json!({ "time": "2026-02-01T00:01:00Z", "passed": 7, "failed": 2, "skipped": 1 })
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
            stage
                .cluster
                .set_status(&first(Node::Tempest), before["status"].clone());
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
    stage.simulate();
    assert!(stage.object(Node::Tempest).is_none());
    assert_eq!(stage.status()["verified"], Value::Null);
    assert_eq!(stage.cluster.condition(&stage.key, PASSED), None);
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn result_stays_while_tempest_cannot_be_read() {
    let mut stage = tested();
    reports(&mut stage, &json!({ "status": "True", "reason": "Ready" }));
    let verified = stage.status()["verified"].clone();
    assert_eq!(verified["passed"], 7);
    stage.cluster.set_readable(&first(Node::Tempest), false);
    stage.settle();
    assert_eq!(stage.status()["verified"], verified);
    stage.cluster.set_readable(&first(Node::Tempest), true);
    stage
        .cluster
        .set_status(&first(Node::Tempest), json!({ "results": "none" }));
    stage.settle();
    assert_eq!(stage.status()["verified"], verified);
}

#[test]
fn tests_of_networks_wait_for_the_external_network() {
    let mut spec = with_network(&json!("internet"));
    let bootstrap = spec["bootstrap"].take();
    spec["bootstrap"] = json!({});
    let mut stage = Stage::new(spec);
    stage.simulate();
    assert!(stage.object(Node::Tempest).is_none());
    let [status, _, message] = shown(&stage);
    assert_eq!(status, "Unknown");
    let why = "Tempest tempest waits for the external network: Neutron has no external network internet: set";
    assert!(message.starts_with(why), "{message}");
    let (status, reason, _) = stage.condition("TempestReady");
    assert_eq!([status, reason], ["False", "WaitingForNetwork"]);
    assert_eq!(stage.condition("ServicesReady").0, "True");
    assert_eq!(
        stage.condition("Ready"),
        stage.condition("ExternalNetworkReady")
    );
    assert!(
        stage.status()["release"].is_string(),
        "it can change its release"
    );

    stage.want(|spec| spec["bootstrap"] = bootstrap);
    stage.simulate();
    assert_eq!(network(&stage), "internet");
    assert_eq!(stage.condition("TempestReady").0, "True");
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn tests_of_other_services_do_not_wait_for_the_external_network() {
    let mut spec = with_network(&json!("internet"));
    spec["bootstrap"] = json!({});
    spec["tempest"]["tests"] = json!({ "services": ["identity"] });
    let mut stage = Stage::new(spec);
    stage.simulate();
    assert_eq!(*network(&stage), Value::Null);
}

#[test]
fn skipped_tests_are_run_again_once_the_external_network_is_there() {
    for (status, reason, used) in [
        ("False", "TestsSkipped", json!("internet")),
        ("True", "Ready", Value::Null),
    ] {
        let mut stage = Stage::running(with_network(&Value::Null));
        assert_eq!(*network(&stage), Value::Null);
        reports(
            &mut stage,
            &json!({ "status": status, "reason": reason, "message": "as the test has it" }),
        );
        stage.want(|spec| spec["global"]["network"]["externalNetwork"] = json!("internet"));
        stage.settle();
        assert_eq!(stage.condition("ExternalNetworkReady").0, "True");
        assert_eq!(*network(&stage), used, "{reason}");
    }
}

#[test]
fn tests_are_not_repeated_while_the_external_network_is_not_ready() {
    let mut stage = Stage::running(with_network(&json!("internet")));
    let before = stage.object(Node::Tempest).unwrap()["spec"].clone();
    stage.want(|spec| spec["bootstrap"]["externalNetwork"]["vlan"] = json!(100));
    stage.simulate();
    assert_eq!(stage.condition("ExternalNetworkReady").0, "False");
    assert_eq!(stage.object(Node::Tempest).unwrap()["spec"], before);
    assert_eq!(before["externalNetwork"], "internet");
}
