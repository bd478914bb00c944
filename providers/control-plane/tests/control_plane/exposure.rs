//! Control planes whose Gateway is away.

use c5c3_api::control_plane::UpdatePhase;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{Stage, first};

/// A control plane whose Keystone and consoles of servers are exposed.
fn exposed() -> Value {
    let expose = |name: &str| json!({ "hostname": format!("{name}.example.com"), "gateway": { "name": "public" } });
    json!({
        "openStackRelease": "2025.2",
        "services": {
            "keystone": { "expose": expose("identity") },
            "nova": { "consoles": expose("novnc") },
        },
    })
}

fn says(stage: &Stage) -> [String; 3] {
    stage.condition("Exposed").into()
}

fn says_keystone_is_away(stage: &Stage) {
    let waits =
        "Keystone keystone isn't exposed: waits for Gateway public to take HTTPRoute keystone";
    assert_eq!(says(stage), ["False", "NotExposed", waits]);
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
}

#[test]
fn control_plane_is_installed_while_its_gateway_is_away_and_says_what_is_not_reached() {
    let mut stage = Stage::new(exposed());
    stage.settle();
    let [status, reason, message] = says(&stage);
    assert_eq!((&*status, &*reason), ("False", "NotExposed"), "{message}");
    assert!(
        message.starts_with("Keystone keystone waits for"),
        "{message}"
    );

    stage.is_gateway_away = true;
    stage.simulate();
    says_keystone_is_away(&stage);
    assert!(stage.nodes().contains(&Node::Cinder));
    let endpoints = &stage.status()["endpoints"];
    assert_eq!(endpoints["keystone"], Value::Null);
    assert!(endpoints["cinder"].is_string(), "{endpoints}");

    stage.is_gateway_away = false;
    stage.simulate();
    assert_eq!(says(&stage), ["True", "Ready", ""]);
}

#[test]
fn control_plane_gains_services_and_a_release_while_its_gateway_is_away() {
    let mut spec = exposed();
    spec["services"]["cinder"] = json!({ "enabled": false });
    let mut stage = Stage::running(spec);
    assert!(!stage.nodes().contains(&Node::Cinder));
    stage.is_gateway_away = true;
    stage.simulate();
    says_keystone_is_away(&stage);

    stage.want(|spec| spec["services"]["cinder"] = json!({ "enabled": true }));
    stage.simulate();
    assert!(stage.nodes().contains(&Node::Cinder));
    says_keystone_is_away(&stage);

    stage.want(|spec| spec["openStackRelease"] = json!("2026.1"));
    stage.simulate();
    assert_eq!(stage.status()["release"], "2026.1");
    assert_eq!(
        stage.status()["updatePhase"],
        json!(UpdatePhase::Complete),
        "{:#}",
        stage.status()
    );
    says_keystone_is_away(&stage);
}

#[test]
fn control_plane_names_the_service_whose_ingress_has_an_annotation_that_is_not_allowed() {
    let mut stage = Stage::running(exposed());
    let key = first(Node::Nova);
    let mut status = stage.object(Node::Nova).unwrap()["status"].clone();
    for condition in status["conditions"].as_array_mut().unwrap() {
        if condition["type"] == "Exposed" {
            condition["status"] = json!("False");
            condition["reason"] = json!("AnnotationNotAllowed");
            condition["message"] = json!("expose.ingress.annotations: no");
        }
    }
    stage.cluster.set_status(&key, status);
    stage.settle();
    let message = "Nova nova isn't exposed: expose.ingress.annotations: no";
    assert_eq!(says(&stage), ["False", "AnnotationNotAllowed", message]);
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn control_plane_that_exposes_nothing_says_nothing_of_it() {
    let stage = Stage::running(json!({}));
    let conditions = stage.status()["conditions"].as_array().unwrap();
    assert!(
        !conditions
            .iter()
            .any(|condition| condition["type"] == "Exposed")
    );
}
