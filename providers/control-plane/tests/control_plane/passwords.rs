//! Passwords in Keystone that replace each other: of services, of the tenant, of the administrator.

use c5c3_api::credential_rotation::CredentialRotationSpec;
use jiff::SignedDuration;
use provider_composer::{Key, ResourceKind};
use provider_control_plane::rotation::CredentialRotationComposer;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, secret};

fn rotation() -> Key {
    let kind = ResourceKind::of::<CredentialRotationSpec>();
    Key::new(kind, NAMESPACE, "password")
}

/// The operator looks at the rotation once. Returns its status, and the fields of this condition.
fn rotate(stage: &mut Stage, condition: &str) -> (Value, [String; 3]) {
    let reconciled = stage
        .cluster
        .reconcile(&CredentialRotationComposer, &rotation());
    reconciled.unwrap();
    let mut status = stage.cluster.get(&rotation()).unwrap()["status"].clone();
    let fields = status.as_object_mut().unwrap();
    fields.remove("observedGeneration");
    fields.remove("conditions");
    let condition = stage.cluster.condition(&rotation(), condition);
    (status, condition.unwrap_or_default())
}

fn value(stage: &Stage, name: &str, key: &str) -> String {
    stage.cluster.value(&secret(name), key).unwrap()
}

/// The password that a clouds.yaml has.
fn login(stage: &Stage, clouds: &str) -> Value {
    let clouds: Value = serde_saphyr::from_str(&value(stage, clouds, "clouds.yaml")).unwrap();
    clouds["clouds"]["openstack"]["auth"]["password"].clone()
}

/// A control plane that runs, and a rotation of a password every 10 days, 2 ahead.
fn begun(user: &str) -> Stage {
    let mut stage = Stage::running(json!({ "access": "Domain" }));
    let spec = json!({
        "targetServiceUser": user,
        "rotationType": "userPassword",
        "schedule": { "intervalDays": 10, "preRotationDays": 2 },
    });
    stage.cluster.put(&rotation(), &json!({ "spec": spec }));
    stage
}

#[rstest]
#[case::service("glance", "glance-keystone-user", "k-orc-glance-clouds")]
#[case::tenant("tenant", "tenant-keystone-user", "production-clouds")]
#[case::administrator("admin", "keystone-admin-credentials", "k-orc-bootstrap-clouds")]
fn password_is_used_once_keystone_has_it(
    #[case] user: &str,
    #[case] first: &str,
    #[case] clouds: &str,
) {
    let mut stage = begun(user);
    let named = |number: u32| json!({ "name": format!("{user}-{number}") });
    let (status, _) = rotate(&mut stage, "CredentialInUse");
    let expected =
        json!({ "currentCredentialRef": named(1), "nextRotation": "2026-02-09T00:00:00Z" });
    assert_eq!(status, expected);
    assert_eq!(login(&stage, clouds), value(&stage, first, "password"));

    stage.cluster.wait(SignedDuration::from_hours(24 * 8));
    let (status, in_use) = rotate(&mut stage, "CredentialInUse");
    let expected = json!({ "currentCredentialRef": named(1), "nextCredentialRef": named(2) });
    assert_eq!(status, expected);
    let message = format!(
        "waits for the control plane to generate password 2 of user {user}; the present one stays in use"
    );
    assert_eq!(in_use, ["False", "MakingCredential", &message]);

    // Keystone and K-ORC do nothing yet.
    stage.settle();
    let second = format!("{first}-2");
    assert_ne!(
        value(&stage, &second, "password"),
        value(&stage, first, "password")
    );
    assert_eq!(login(&stage, clouds), value(&stage, first, "password"));
    let (_, in_use) = rotate(&mut stage, "CredentialInUse");
    let message = format!("waits for Keystone to have password 2 of user {user}");
    assert_eq!(in_use, ["False", "WaitingForKeystone", &message]);

    stage.simulate();
    assert_eq!(login(&stage, clouds), value(&stage, &second, "password"));
    assert_eq!(stage.condition("Ready").0, "True");
    let (status, in_use) = rotate(&mut stage, "CredentialInUse");
    let expected = json!({
        "currentCredentialRef": named(2),
        "lastRotation": "2026-02-09T00:00:00Z",
        "nextRotation": "2026-02-17T00:00:00Z",
    });
    assert_eq!((status, in_use[0].as_str()), (expected, "True"));

    stage.simulate();
    let third = secret(&format!("{first}-3"));
    assert_eq!(stage.cluster.get(&third), None, "it is replaced once");
}

#[test]
fn password_that_may_have_leaked_is_replaced_at_once() {
    let mut stage = begun("glance");
    stage.cluster.wait(SignedDuration::from_hours(24));
    let now = stage.cluster.now().to_string();
    stage.cluster.edit(&rotation(), |rotation| {
        rotation["spec"]["replaceMadeBefore"] = json!(now);
    });
    rotate(&mut stage, "Ready");
    stage.simulate();
    let second = value(&stage, "glance-keystone-user-2", "password");
    assert_eq!(login(&stage, "k-orc-glance-clouds"), second);
}

#[test]
fn password_of_nobody_is_not_rotated() {
    let mut stage = begun("barbican");
    let (_, [status, reason, _]) = rotate(&mut stage, "RotationScheduled");
    assert_eq!([&*status, &*reason], ["False", "UserNotFound"]);
}

#[test]
fn user_stays_while_its_passwords_cannot_be_listed() {
    let mut stage = begun("glance");
    rotate(&mut stage, "Ready");
    stage.cluster.wait(SignedDuration::from_hours(24 * 8));
    rotate(&mut stage, "Ready");
    stage.simulate();
    let before = stage.observed();
    let second = secret("glance-keystone-user-2");
    stage.cluster.set_readable(&second, false);
    // A failure is in the status.
    let _ = stage
        .cluster
        .reconcile(&crate::stage::OPERATOR, &stage.key.clone());
    stage.cluster.set_readable(&second, true);
    let after = stage.observed();
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    let user = |all: &std::collections::BTreeMap<String, Value>| {
        let mut users = all
            .iter()
            .filter(|(key, _)| *key == "User glance in openstack.k-orc.cloud");
        users.next().map(|(_, user)| user["spec"].clone())
    };
    assert_eq!(user(&after), user(&before));
}
