//! Rotations, day by day.

mod events;

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::glance::GlanceSpec;
use c5c3_api::nova::NovaSpec;
use provider_composer::{Key, ObservedState, Operator, ResourceKind};
use provider_control_plane::rotation::CredentialRotationComposer;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, application_credential};

fn rotation(name: &str) -> Key {
    let kind = ResourceKind::of::<CredentialRotationSpec>();
    Key::new(kind, NAMESPACE, name)
}

fn glance() -> Key {
    Key::new(ResourceKind::of::<GlanceSpec>(), NAMESPACE, "glance")
}

fn spec(interval: u32, ahead: u32, grace: u32) -> Value {
    json!({ "spec": {
        "targetServiceUser": "glance",
        "schedule": { "intervalDays": interval, "preRotationDays": ahead },
        "gracePeriodDays": grace,
    } })
}

/// A settled catalogue, a Glance that runs with its first credential, and a rotation every 10 days, 2 ahead, 1 of grace.
fn begun() -> Stage {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    stage.cluster.put(&glance(), &json!({ "spec": {} }));
    take_up(&mut stage);
    stage.cluster.put(&rotation("glance"), &spec(10, 2, 1));
    stage.settle();
    stage
}

fn handed_out(stage: &Stage) -> String {
    let id = stage.value("glance-keystone-credentials", "application_credential_id");
    id.unwrap()
}

/// Glance runs with what was handed out.
fn take_up(stage: &mut Stage) {
    let id = handed_out(stage);
    stage
        .cluster
        .set_status(&glance(), json!({ "applicationCredential": id }));
}

fn credentials(stage: &Stage) -> Vec<&str> {
    let all = stage.names("ApplicationCredential").into_iter();
    all.filter(|name| name.starts_with("glance-")).collect()
}

fn status(stage: &Stage) -> &Value {
    &stage.cluster.get(&rotation("glance")).unwrap()["status"]
}

fn reference<'a>(stage: &'a Stage, field: &str) -> Option<&'a str> {
    status(stage).get(field)?["name"].as_str()
}

/// The user says that somebody else may know what was made before that time.
fn replace_made_before(stage: &mut Stage, time: &str) {
    let mut changed = stage.cluster.get(&rotation("glance")).unwrap().clone();
    changed["spec"]["replaceMadeBefore"] = json!(time);
    stage.cluster.put(&rotation("glance"), &changed);
}

/// Whether a credential with this ID is valid still.
fn lives(stage: &Stage, id: &str) -> bool {
    credentials(stage).iter().any(|name| {
        let object = stage.cluster.get(&application_credential(name)).unwrap();
        object["status"]["id"] == id && object.pointer("/metadata/deletionTimestamp").is_none()
    })
}

#[test]
fn the_old_credential_goes_only_after_the_new_one_is_in_use_and_the_grace_is_over() {
    let mut stage = begun();
    assert_eq!(reference(&stage, "currentCredentialRef"), Some("glance-1"));
    assert_eq!(status(&stage)["nextRotation"], "2026-02-09T00:00:00Z");
    assert_eq!(status(&stage).get("lastRotation"), None);

    stage.wait(7);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1"]);

    stage.wait(1);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    assert!(handed_out(&stage).starts_with("glance-2-"));
    assert_eq!(reference(&stage, "currentCredentialRef"), Some("glance-2"));
    assert_eq!(reference(&stage, "previousCredentialRef"), Some("glance-1"));
    assert_eq!(status(&stage)["lastRotation"], "2026-02-09T00:00:00Z");
    let (in_use, reason, _) = stage.condition(&rotation("glance"), "CredentialInUse");
    assert_eq!(
        (in_use.as_str(), reason.as_str()),
        ("False", "WaitingForService")
    );

    stage.wait(30);
    stage.settle();
    assert_eq!(
        credentials(&stage),
        ["glance-1", "glance-2"],
        "Glance doesn't use it yet"
    );
    take_up(&mut stage);
    stage.settle();
    // Too late for the grace, and the next rotation is due.
    assert_eq!(credentials(&stage), ["glance-2", "glance-3"]);
    take_up(&mut stage);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-2", "glance-3"]);
    stage.wait(1);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-3"]);
    assert_eq!(stage.condition(&rotation("glance"), "Ready").0, "True");
    insta::assert_yaml_snapshot!(status(&stage));
}

#[test]
fn a_credential_that_somebody_else_may_know_goes_as_soon_as_the_next_is_in_use() {
    let mut stage = begun();
    stage.wait(2);
    replace_made_before(&mut stage, "2026-02-03T00:00:00Z");
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    take_up(&mut stage);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-2"]);
    stage.wait(1);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-2"], "it is replaced once");
}

#[test]
fn a_time_that_is_none_is_told_and_changes_nothing() {
    let mut stage = begun();
    replace_made_before(&mut stage, "yesterday");
    stage.wait(100);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1"]);
    let (scheduled, reason, message) = stage.condition(&rotation("glance"), "RotationScheduled");
    assert_eq!((scheduled.as_str(), reason.as_str()), ("False", "Invalid"));
    assert!(
        message.contains("replaceMadeBefore is \"yesterday\""),
        "{message}"
    );
}

#[test]
fn a_credential_that_cannot_be_made_leaves_the_old_one_in_use() {
    let mut stage = begun();
    stage.wait(9);
    stage.rotate();
    stage.look();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    for _ in 0..3 {
        stage.wait(100);
        stage.look();
        stage.rotate();
    }
    assert!(handed_out(&stage).starts_with("glance-1-"));
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    let (_, reason, _) = stage.condition(&rotation("glance"), "CredentialInUse");
    assert_eq!(reason, "MakingCredential");
}

#[test]
fn missed_rotations_are_made_up_for_by_one() {
    let mut stage = begun();
    stage.wait(95);
    stage.settle();
    take_up(&mut stage);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    stage.wait(1);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-2"]);
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut stage = begun();
    stage.wait(9);
    stage.settle();
    take_up(&mut stage);
    stage.settle();
    stage.wait(-40);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    assert!(handed_out(&stage).starts_with("glance-2-"));
}

#[test]
fn a_lost_status_is_found_again() {
    let mut stage = begun();
    stage.wait(9);
    stage.settle();
    stage.cluster.set_status(&rotation("glance"), json!({}));
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
    assert_eq!(reference(&stage, "currentCredentialRef"), Some("glance-2"));
    assert_eq!(reference(&stage, "previousCredentialRef"), Some("glance-1"));
}

/// What is left of a rotation that is over: objects, what was handed out, how often each Secret was made, the status.
fn outcome(stage: &mut Stage) -> (Vec<Key>, String, Vec<(Key, usize)>, Value) {
    stage.settle();
    take_up(stage);
    stage.settle();
    stage.wait(4);
    stage.settle();
    assert_eq!(credentials(stage), ["glance-2"]);
    let generated = stage.cluster.generated().iter();
    (
        stage.cluster.objects().keys().cloned().collect(),
        handed_out(stage),
        generated
            .map(|(key, times)| (key.clone(), *times))
            .collect(),
        status(stage).clone(),
    )
}

#[test]
fn killed_after_any_write_a_rotation_ends_as_if_nothing_had_happened() {
    let mut undisturbed = begun();
    undisturbed.wait(8);
    let undisturbed = outcome(&mut undisturbed);
    assert!(undisturbed.2.iter().all(|(_, times)| *times == 1));
    let mut deaths = 0;
    for writes in 1.. {
        let mut stage = begun();
        stage.wait(8);
        let old = handed_out(&stage);
        if !stage.settle_until(writes) {
            break;
        }
        deaths += 1;
        assert!(lives(&stage, &old), "Glance runs with {old} still");
        assert_eq!(
            outcome(&mut stage),
            undisturbed,
            "killed after {writes} writes"
        );
    }
    assert!(deaths > 4, "killed {deaths} times only");
}

#[test]
fn what_is_still_on_its_way_through_a_store_is_not_taken_back() {
    let mut stage = Stage::new(&json!({
        "secretStoreRef": { "name": "openbao", "kind": "ClusterSecretStore", "path": "europe/eu-de-1" },
    }));
    stage.settle();
    for _ in 0..6 {
        stage.bring();
        stage.settle();
    }
    stage.cluster.put(&glance(), &json!({ "spec": {} }));
    take_up(&mut stage);
    stage.cluster.put(&rotation("glance"), &spec(10, 2, 1));
    stage.settle();
    stage.wait(8);
    stage.settle();
    let sent = |stage: &Stage| {
        let id = stage.value(
            "glance-keystone-credentials-source",
            "application_credential_id",
        );
        id.unwrap()
    };
    let second = sent(&stage);
    assert!(second.starts_with("glance-2-"), "{second}");
    assert!(
        handed_out(&stage).starts_with("glance-1-"),
        "the store has brought nothing yet"
    );
    stage.cluster.set_status(&rotation("glance"), json!({}));
    stage.settle();
    assert_eq!(sent(&stage), second);
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
}

#[test]
fn deleting_a_rotation_leaves_what_is_in_use() {
    let mut stage = begun();
    stage.wait(9);
    stage.settle();
    stage.cluster.delete(&rotation("glance"));
    stage.settle();
    assert_eq!(
        credentials(&stage),
        ["glance-1", "glance-2"],
        "Glance still runs with the first"
    );
    take_up(&mut stage);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-2"]);
    assert!(handed_out(&stage).starts_with("glance-2-"));
}

#[test]
fn of_two_rotations_of_one_user_the_elder_counts() {
    let mut stage = begun();
    stage.wait(1);
    stage.cluster.put(&rotation("another"), &spec(1, 0, 0));
    stage.settle();
    stage.wait(5);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1"]);
    let (_, reason, message) = stage.condition(&rotation("another"), "RotationScheduled");
    assert_eq!(reason, "AnotherRotation");
    assert!(message.contains("CredentialRotation glance"), "{message}");
}

#[test]
fn a_rotation_that_is_being_deleted_counts_no_more() {
    let mut stage = begun();
    stage.wait(1);
    stage.cluster.put(&rotation("another"), &spec(1, 0, 0));
    stage.cluster.hold(rotation("glance").kind);
    stage.cluster.delete(&rotation("glance"));
    let rotations = CredentialRotationComposer;
    stage
        .cluster
        .reconcile(&rotations, &rotation("another"))
        .unwrap();
    let (scheduled, _, message) = stage.condition(&rotation("another"), "RotationScheduled");
    assert_eq!(scheduled, "True", "{message}");
    stage.wait(1);
    stage.settle();
    assert_eq!(credentials(&stage), ["glance-1", "glance-2"]);
}

#[test]
fn it_is_looked_at_again_when_it_is_time_though_nothing_changes() {
    let stage = begun();
    let subject = stage.cluster.get(&rotation("glance")).unwrap();
    let observed = ObservedState::new(&stage.cluster, stage.cluster.now());
    let answer = CredentialRotationComposer.composed(subject, &observed);
    let wake = answer.unwrap().desired.requeue_at.unwrap();
    assert_eq!(wake.to_string(), "2026-02-09T00:00:00Z");
}

#[test]
fn rotation_says_which_hypervisors_it_waits_for() {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    let nova = Key::new(ResourceKind::of::<NovaSpec>(), NAMESPACE, "nova");
    stage.cluster.put(&nova, &json!({ "spec": {} }));
    let condition = json!({
        "type": "ComputesConfigured", "status": "False", "reason": "WaitingForCompute",
        "message": "waits for nova-compute of hv-pool-a", "observedGeneration": 1,
    });
    let id = stage.value("nova-keystone-credentials", "application_credential_id");
    let status = json!({ "applicationCredential": id, "conditions": [condition] });
    stage.cluster.set_status(&nova, status);
    let mut rotation_of_nova = spec(10, 2, 1);
    rotation_of_nova["spec"]["targetServiceUser"] = json!("nova");
    stage.cluster.put(&rotation("nova"), &rotation_of_nova);
    stage.settle();
    stage.wait(8);
    stage.settle();
    let (_, reason, message) = stage.condition(&rotation("nova"), "CredentialInUse");
    assert_eq!(reason, "WaitingForService");
    let waits = "; nova waits for nova-compute of hv-pool-a";
    assert!(message.ends_with(waits), "{message}");
}

#[rstest]
#[case("nobody")]
#[case("placement")]
fn a_user_that_is_not_there(#[case] user: &str) {
    let mut stage = begun();
    stage.cluster.edit(&rotation("glance"), |object| {
        object["spec"]["targetServiceUser"] = json!(user);
    });
    let before = reference(&stage, "currentCredentialRef").map(str::to_owned);
    stage.settle();
    let (_, reason, message) = stage.condition(&rotation("glance"), "RotationScheduled");
    assert_eq!(reason, "UserNotFound");
    assert!(message.contains(user), "{message}");
    assert_eq!(reference(&stage, "currentCredentialRef"), before.as_deref());
}
