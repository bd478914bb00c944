//! Control planes whose Gateway is away.

use c5c3_api::control_plane::UpdatePhase;
use c5c3_kinds::korc::{Endpoint, Managed};
use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

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
    let refused = json!({
        "type": "Exposed", "status": "False", "reason": "AnnotationNotAllowed", "message": "expose.ingress.annotations: no",
    });
    stage.report(Node::Nova, refused);
    let message = "Nova nova isn't exposed: expose.ingress.annotations: no";
    assert_eq!(says(&stage), ["False", "AnnotationNotAllowed", message]);
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn control_plane_that_exposes_nothing_says_nothing_of_it() {
    let stage = Stage::running(json!({}));
    assert_eq!(stage.cluster.condition(&stage.key, "Exposed"), None);
}

fn glance_exposed(hostname: &str) -> Value {
    let expose = json!({ "hostname": hostname, "gateway": { "name": "public" } });
    json!({ "glance": { "expose": expose } })
}

/// The public URL of Glance in the catalogue.
fn published(stage: &Stage) -> Option<&str> {
    let key = Key::new(Endpoint::KIND, NAMESPACE, "glance-public");
    let endpoint = stage.cluster.get(&key)?;
    endpoint.pointer("/spec/resource/url")?.as_str()
}

#[test]
fn control_plane_has_a_public_endpoint_once_it_answers_and_is_ready_all_the_time() {
    let mut stage = Stage::new(json!({ "services": glance_exposed("image.example.com") }));
    stage.is_gateway_away = true;
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    assert_eq!(published(&stage), None);

    stage.is_gateway_away = false;
    stage.grant();
    stage.settle();
    let waits = "Glance glance isn't exposed: waits for Endpoint glance-public of K-ORC: K-ORC hasn't reconciled it yet";
    assert_eq!(says(&stage), ["False", "NotExposed", waits]);
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    stage.simulate();
    let url = Some("https://image.example.com");
    assert_eq!(published(&stage), url);
    assert_eq!(says(&stage), ["True", "Ready", ""]);

    stage.is_gateway_away = true;
    stage.simulate();
    assert_eq!(published(&stage), url);
    assert_eq!(stage.status()["endpoints"]["glance"], Value::Null);
    stage.want(|spec| spec["services"] = glance_exposed("images.example.com"));
    stage.simulate();
    assert_eq!(published(&stage), url);
    stage.is_gateway_away = false;
    stage.simulate();
    assert_eq!(published(&stage), Some("https://images.example.com"));
    assert_eq!(says(&stage), ["True", "Ready", ""]);
}

#[test]
fn control_plane_says_which_public_endpoint_korc_gave_up_on() {
    let mut stage = Stage::running(json!({ "services": glance_exposed("image.example.com") }));
    let key = Key::new(Endpoint::KIND, NAMESPACE, "glance-public");
    let status = json!({ "conditions": [{
        "type": "Progressing", "status": "False", "reason": "UnrecoverableError", "message": "refused",
    }] });
    stage.cluster.set_status(&key, status);
    stage.settle();
    let [status, reason, message] = says(&stage);
    assert_eq!([status, reason], ["False", "RefusedByKORC"]);
    let why = "Glance glance isn't exposed: K-ORC gave up on Endpoint glance-public: refused;";
    assert!(message.starts_with(why), "{message}");
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
}
