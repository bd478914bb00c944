//! The conditions of a control plane that report its services' pools in Ceph.

use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::Stage;

fn condition(type_: &str, [status, reason, message]: [&str; 3]) -> Value {
    json!({ "type": type_, "status": status, "reason": reason, "message": message })
}

#[test]
fn control_plane_repeats_what_is_wrong_with_pools_and_stays_ready() {
    let mut stage = Stage::running(json!({}));
    let types = ["CephConnected", "CapacityAvailable"];
    for type_ in types {
        assert_eq!(stage.cluster.condition(&stage.key, type_), None);
        stage.report(Node::Glance, condition(type_, ["True", "Ready", ""]));
        assert_eq!(stage.condition(type_).0, "True");
        let unknown = ["Unknown", "LookupFailed", "no look"];
        stage.report(Node::Glance, condition(type_, unknown));
        let says: [String; 3] = stage.condition(type_).into();
        assert_eq!(says, ["Unknown", "LookupFailed", "Glance glance: no look"]);
        let full = ["False", "NearlyFull", "85 %"];
        stage.report(Node::Cinder, condition(type_, full));
        let says: [String; 3] = stage.condition(type_).into();
        assert_eq!(says, ["False", "NearlyFull", "Cinder cinder: 85 %"]);
        stage.report(Node::Cinder, condition(type_, ["True", "Ready", ""]));
        let full = ["False", "NearlyFull", "90 %"];
        stage.report(Node::Nova, condition(type_, full));
        let says: [String; 3] = stage.condition(type_).into();
        assert_eq!(says, ["False", "NearlyFull", "Nova nova: 90 %"]);
        assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    }
}

#[test]
fn condition_of_pools_that_cannot_be_understood_is_unknown_and_not_absent() {
    let mut stage = Stage::running(json!({}));
    for type_ in ["CephConnected", "CapacityAvailable"] {
        stage.report(Node::Glance, condition(type_, ["True", "Ready", ""]));
        stage.report(Node::Cinder, json!({ "type": type_, "status": 1 }));
        let (status, reason, message) = stage.condition(type_);
        assert_eq!((&*status, &*reason), ("Unknown", "LookupFailed"));
        let named =
            format!("Cinder cinder: the condition {type_} of Cinder cinder can't be understood: ");
        assert!(message.starts_with(&named), "{message}");
    }
}
