//! The conditions of a control plane that report its services' pools in Ceph.

use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{Stage, first};

/// Has a service report a condition.
fn report(stage: &mut Stage, node: Node, type_: &str, [status, reason, message]: [&str; 3]) {
    let condition =
        json!({ "type": type_, "status": status, "reason": reason, "message": message });
    write(stage, node, condition);
}

/// Writes a condition into the status of a service.
fn write(stage: &mut Stage, node: Node, condition: Value) {
    let key = first(node);
    let mut service = stage.object(node).unwrap()["status"].clone();
    let conditions = service["conditions"].as_array_mut().unwrap();
    conditions.retain(|other| other["type"] != condition["type"]);
    conditions.push(condition);
    stage.cluster.set_status(&key, service);
    stage.settle();
}

#[test]
fn control_plane_repeats_what_is_wrong_with_pools_and_stays_ready() {
    let mut stage = Stage::running(json!({}));
    let types = ["CephConnected", "CapacityAvailable"];
    let conditions = stage.status()["conditions"].as_array().unwrap().clone();
    assert!(
        conditions
            .iter()
            .all(|condition| !types.map(Value::from).contains(&condition["type"]))
    );
    for type_ in types {
        report(&mut stage, Node::Glance, type_, ["True", "Ready", ""]);
        assert_eq!(stage.condition(type_).0, "True");
        let unknown = ["Unknown", "LookupFailed", "no look"];
        report(&mut stage, Node::Glance, type_, unknown);
        let says: [String; 3] = stage.condition(type_).into();
        assert_eq!(says, ["Unknown", "LookupFailed", "Glance glance: no look"]);
        report(
            &mut stage,
            Node::Cinder,
            type_,
            ["False", "NearlyFull", "85 %"],
        );
        let says: [String; 3] = stage.condition(type_).into();
        assert_eq!(says, ["False", "NearlyFull", "Cinder cinder: 85 %"]);
        assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    }
}

#[test]
fn condition_of_pools_that_cannot_be_understood_is_unknown_and_not_absent() {
    let mut stage = Stage::running(json!({}));
    for type_ in ["CephConnected", "CapacityAvailable"] {
        report(&mut stage, Node::Glance, type_, ["True", "Ready", ""]);
        write(
            &mut stage,
            Node::Cinder,
            json!({ "type": type_, "status": 1 }),
        );
        let (status, reason, message) = stage.condition(type_);
        assert_eq!((&*status, &*reason), ("Unknown", "LookupFailed"));
        let named =
            format!("Cinder cinder: the condition {type_} of Cinder cinder can't be understood: ");
        assert!(message.starts_with(&named), "{message}");
    }
}
