//! Nodes, as the southbound database sees them.

use k8s_openapi::api::core::v1::Node;
use provider_composer::Key;
use provider_ovn::OvnChassis;
use serde_json::{Value, json};

use crate::stage::{Stage, chassis, hypervisor};

#[test]
fn chassis_is_observed_in_the_southbound_database() {
    let mut stage = Stage::new(json!({}));
    stage.node("node-1", hypervisor());
    stage.node("node-2", hypervisor());
    stage.serve();
    for name in ["node-1", "node-2"] {
        stage.cluster.settle(&OvnChassis, &chassis(name));
    }
    let status = |name| stage.field(&chassis(name), "/status");
    insta::assert_yaml_snapshot!([status("node-1"), status("node-2")]);
}

#[test]
fn settings_of_a_chassis_without_effect_are_reported() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    let spec =
        json!({ "hostname": "node-1", "gateway": true, "encapsulation": { "ip": "192.0.2.7" } });
    stage
        .cluster
        .put(&chassis("mine"), &json!({ "spec": spec }));
    stage.cluster.settle(&OvnChassis, &chassis("mine"));
    let conditions = stage.field(&chassis("mine"), "/status/conditions");
    let conditions = conditions.as_array().unwrap().iter();
    let mut found = conditions.filter(|condition| condition["type"] == "AgentSettingsApplied");
    assert_eq!(
        found.next().unwrap()["message"],
        "HypervisorPool and HypervisorShare say how the node takes part, and encapsulation, gateway has no effect: remove it; \
         the status has what the node registered"
    );
}

#[test]
fn chassis_of_a_deleted_node_is_removed_from_the_southbound_database() {
    let mut stage = Stage::new(json!({}));
    stage.node("node-1", hypervisor());
    stage.serve();
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    stage.cluster.delete(&Key::of::<Node>("", "node-1"));
    stage.reconcile();
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    let _ = stage.cluster.reconcile(&OvnChassis, &chassis("node-1"));
    assert_eq!(*stage.southbound.removed.lock().unwrap(), ["node-1"]);
    assert_eq!(stage.cluster.get(&chassis("node-1")), None);
}

#[test]
fn chassis_stays_registered_while_its_node_or_the_database_cannot_be_read() {
    let node = Key::of::<Node>("", "node-1");
    let mut stage = Stage::new(json!({}));
    stage.node("node-1", hypervisor());
    stage.serve();
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    stage.cluster.set_readable(&node, false);
    stage.reconcile();
    let listed = stage.field(&chassis("node-1"), "/metadata/deletionTimestamp");
    assert_eq!(listed, Value::Null);
    stage.cluster.delete(&chassis("node-1"));
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    stage.cluster.set_readable(&node, true);
    stage.cluster.delete(&node);
    stage.ready("sb", &[]);
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    assert!(stage.southbound.removed.lock().unwrap().is_empty());
    assert!(stage.cluster.get(&chassis("node-1")).is_some());
}

#[test]
fn node_that_is_no_hypervisor_any_more_stays_registered() {
    let mut stage = Stage::new(json!({}));
    stage.node("node-1", hypervisor());
    stage.serve();
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    stage.node("node-1", json!({}));
    stage.reconcile();
    stage.cluster.settle(&OvnChassis, &chassis("node-1"));
    assert!(stage.southbound.removed.lock().unwrap().is_empty());
    assert_eq!(stage.cluster.get(&chassis("node-1")), None);
}
