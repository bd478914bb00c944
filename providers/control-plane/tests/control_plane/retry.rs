//! What K-ORC gave up on because it didn't reach an API is tried again.

use jiff::SignedDuration;
use provider_composer::{Key, ResourceKind};
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const REFUSED: &str = "invalid configuration creating resource: Post \"https://nova.openstack.svc.cluster.local:8774/v2.1/flavors\": dial tcp \
                       10.96.6.206:8774: connect: connection refused";
const IMAGE_REFUSED: &str = "invalid configuration creating image: Post \"https://glance.openstack.svc.cluster.local:9292/v2/images\": EOF";
const PROJECT_REFUSED: &str = "invalid configuration creating resource: Post \"https://keystone.openstack.svc.cluster.local:5000/v3/projects\": EOF";
const CHANGE_REFUSED: &str = "invalid configuration updating resource: Patch \"https://keystone.openstack.svc.cluster.local:5000/v3/users/123\": EOF";

fn of_korc(kind: &'static str, plural: &'static str, name: &str) -> Key {
    let kind = ResourceKind::namespaced("openstack.k-orc.cloud", "v1alpha1", kind, plural);
    Key::new(kind, NAMESPACE, name)
}

fn flavor() -> Key {
    of_korc("Flavor", "flavors", "small")
}

/// A control plane with a flavor.
fn with_flavor() -> Stage {
    Stage::running(json!({ "bootstrap": { "flavors": [
        { "name": "small", "vcpus": 1, "ramMB": 512, "diskGB": 1 },
    ] } }))
}

/// A control plane of whose flavor K-ORC says that it gave up.
fn given_up(message: &str) -> Stage {
    let mut stage = with_flavor();
    give_up(&mut stage, &flavor(), message);
    stage
}

/// K-ORC says that it gave up on an object that can't be used.
fn give_up(stage: &mut Stage, key: &Key, message: &str) {
    say(stage, key, "False", message);
}

/// K-ORC says that it gave up on an object, and whether that can be used.
fn say(stage: &mut Stage, key: &Key, available: &str, message: &str) {
    let object = stage.cluster.get(key).unwrap();
    let condition = |type_: &str, status: &str, reason: &str| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "observedGeneration": object["metadata"]["generation"],
        })
    };
    let mut status = object["status"].clone();
    status["conditions"] = json!([
        condition("Available", available, "InvalidConfiguration"),
        condition("Progressing", "False", "InvalidConfiguration"),
    ]);
    stage.cluster.set_status(key, status);
    stage.settle();
}

fn spec<'s>(stage: &'s Stage, key: &Key) -> &'s Value {
    &stage.cluster.get(key).unwrap()["spec"]
}

fn options(stage: &Stage) -> Value {
    spec(stage, &flavor())["managedOptions"].clone()
}

#[test]
fn flavor_whose_api_was_not_reached_is_changed_every_half_minute() {
    let mut stage = given_up(REFUSED);
    let deleting = json!({ "onDelete": "delete" });
    assert_eq!(options(&stage), deleting);

    give_up(&mut stage, &flavor(), REFUSED);
    assert_eq!(options(&stage), deleting, "K-ORC has 30 seconds");
    let (status, reason, message) = stage.condition("FlavorsReady");
    assert_eq!([status, reason], ["False", "WaitingForKORC"]);
    assert!(message.contains("Flavor small"), "{message}");
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

#[test]
fn flavor_whose_options_someone_else_set_stays_as_it_is() {
    let mut stage = with_flavor();
    let detached = json!({ "onDelete": "detach" });
    let set = |flavor: &mut Value| flavor["spec"]["managedOptions"] = detached.clone();
    stage.cluster.edit(&flavor(), set);
    stage.settle();
    assert_eq!(options(&stage), detached);
    stage.simulate();

    give_up(&mut stage, &flavor(), REFUSED);
    assert_eq!(options(&stage), detached);
    assert_eq!(stage.condition("FlavorsReady").1, "RefusedByKORC");
}

#[test]
fn flavor_whose_last_retry_is_in_the_future_or_not_a_time_is_retried() {
    for time in ["2099-01-01T00:00:00Z", "yesterday"] {
        let mut stage = given_up(REFUSED);
        let set = |flavor: &mut Value| {
            flavor["metadata"]["annotations"]["c5c3.io/retried-at"] = json!(time);
        };
        stage.cluster.edit(&flavor(), set);
        give_up(&mut stage, &flavor(), REFUSED);
        assert_eq!(options(&stage), Value::Null, "{time}");
        let metadata = &stage.cluster.get(&flavor()).unwrap()["metadata"];
        let retried = &metadata["annotations"]["c5c3.io/retried-at"];
        assert_eq!(*retried, json!("2026-02-01T00:00:00Z"), "{time}");
    }
}

#[rstest]
#[case::image(of_korc("Image", "images", "debian-12"), IMAGE_REFUSED, "ImagesReady")]
#[case::project(
    of_korc("Project", "projects", "tenant"),
    PROJECT_REFUSED,
    "AccessReady"
)]
fn object_that_stays_in_openstack_is_retried_by_its_name(
    #[case] key: Key,
    #[case] message: &str,
    #[case] condition: &str,
) {
    let mut stage = Stage::running(json!({
        "access": "Domain",
        "bootstrap": { "images": [{
            "name": "debian-12",
            "url": "https://images.example.com/debian-12.raw",
            "checksum": format!("sha256:{}", "0".repeat(64)),
            "diskFormat": "raw",
        }] },
    }));
    let before = spec(&stage, &key).clone();
    give_up(&mut stage, &key, message);
    let mut expected = before.clone();
    expected["resource"]["name"] = json!(key.name);
    assert_eq!(*spec(&stage, &key), expected);

    give_up(&mut stage, &key, message);
    let (_, reason, message) = stage.condition(condition);
    assert_eq!(reason, "WaitingForKORC", "{message}");
    assert!(message.contains(&key.to_string()), "{message}");
    assert!(!message.contains("glance.openstack"), "{message}");

    stage.cluster.wait(SignedDuration::from_secs(30));
    stage.settle();
    assert_eq!(*spec(&stage, &key), before);
}

#[rstest]
#[case::user(of_korc("User", "users", "glance"), "KORCReady")]
#[case::endpoint(of_korc("Endpoint", "endpoints", "glance-internal"), "KORCReady")]
#[case::tenant(of_korc("User", "users", "tenant"), "AccessReady")]
fn change_of_what_exists_is_retried_and_waited_for(#[case] key: Key, #[case] condition: &str) {
    let mut stage = Stage::running(json!({ "access": "Domain" }));
    let before = spec(&stage, &key).clone();
    say(&mut stage, &key, "True", CHANGE_REFUSED);
    assert_ne!(*spec(&stage, &key), before);

    say(&mut stage, &key, "True", CHANGE_REFUSED);
    let (status, _, message) = stage.condition(condition);
    assert_eq!(status, "False");
    assert!(message.contains(&key.to_string()), "{message}");
    assert!(message.contains("is repeated"), "{message}");

    stage.simulate();
    assert_eq!(stage.condition(condition).0, "True");
}
