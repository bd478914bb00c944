//! What K-ORC gave up on because it didn't reach an API is tried again.

use jiff::SignedDuration;
use provider_composer::{Key, ResourceKind};
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const REFUSED: &str = "invalid configuration creating resource: Post \"https://nova.openstack.svc.cluster.local:8774/v2.1/flavors\": dial tcp \
                       10.96.6.206:8774: connect: connection refused";

fn flavor() -> Key {
    let kind = ResourceKind::namespaced("openstack.k-orc.cloud", "v1alpha1", "Flavor", "flavors");
    Key::new(kind, NAMESPACE, "small")
}

/// A control plane of whose flavor K-ORC says that it gave up.
fn given_up(message: &str) -> Stage {
    let mut stage = Stage::running(json!({ "bootstrap": { "flavors": [
        { "name": "small", "vcpus": 1, "ramMB": 512, "diskGB": 1 },
    ] } }));
    give_up(&mut stage, message);
    stage
}

fn give_up(stage: &mut Stage, message: &str) {
    let generation = stage.cluster.get(&flavor()).unwrap()["metadata"]["generation"].clone();
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "False", "reason": "InvalidConfiguration", "message": message,
            "observedGeneration": generation,
        })
    };
    let conditions = [condition("Available"), condition("Progressing")];
    let status = json!({ "conditions": conditions });
    stage.cluster.set_status(&flavor(), status);
    stage.settle();
}

fn options(stage: &Stage) -> Value {
    stage.cluster.get(&flavor()).unwrap()["spec"]["managedOptions"].clone()
}

#[test]
fn flavor_whose_api_was_not_reached_is_changed_every_half_minute() {
    let mut stage = given_up(REFUSED);
    let deleting = json!({ "onDelete": "delete" });
    assert_eq!(options(&stage), deleting);

    give_up(&mut stage, REFUSED);
    assert_eq!(options(&stage), deleting, "K-ORC has 30 seconds");
    let (status, reason, message) = stage.condition("FlavorsReady");
    assert_eq!([status, reason], ["False", "WaitingForKORC"]);
    assert!(message.contains("connection refused"), "{message}");

    stage.cluster.wait(SignedDuration::from_secs(30));
    stage.settle();
    assert_eq!(options(&stage), Value::Null);
}

#[test]
fn flavor_that_is_retried_stays_as_it_is_once_it_exists() {
    let mut stage = given_up(REFUSED);
    let before = stage.cluster.get(&flavor()).unwrap()["spec"].clone();
    let available =
        json!({ "type": "Available", "status": "True", "reason": "Success", "message": "" });
    let status = json!({ "id": "1234", "conditions": [available] });
    stage.cluster.set_status(&flavor(), status);
    stage.cluster.wait(SignedDuration::from_hours(1));
    stage.settle();
    assert_eq!(stage.cluster.get(&flavor()).unwrap()["spec"], before);
    assert_eq!(stage.condition("FlavorsReady").0, "True");
}

#[test]
fn flavor_that_nova_refuses_is_not_retried() {
    let refused = "invalid configuration creating resource: Expected HTTP response code [200] when accessing [POST \
                   https://nova.openstack.svc.cluster.local:8774/v2.1/flavors], but got 409 instead";
    let stage = given_up(refused);
    assert_eq!(options(&stage), Value::Null);
    let (status, reason, _) = stage.condition("FlavorsReady");
    assert_eq!([status, reason], ["False", "RefusedByKORC"]);
}
