//! The catalogue, step by step, and what can go wrong with it.

use provider_openstack_fixtures::difference;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{Stage, application_credential, korc, secret};

/// Everything but Secrets, whole, and the keys of Secrets.
fn shown(stage: &Stage) -> Value {
    let objects = stage.cluster.objects().iter();
    let shown = objects.filter(|(key, _)| key.kind.kind != "ControlPlane");
    let object = |(key, object): (&_, &std::sync::Arc<Value>)| -> (String, Value) {
        let name = format!("{key}");
        let body = match object.get("data") {
            Some(data) => {
                let keys: Vec<&String> = data.as_object().unwrap().keys().collect();
                json!({ "keys": keys })
            }
            None => object["spec"].clone(),
        };
        (name, body)
    };
    shown.map(object).collect::<serde_json::Map<_, _>>().into()
}

/// A catalogue that is complete.
fn complete() -> Stage {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    stage
}

#[test]
fn everything_of_a_catalogue() {
    let stage = complete();
    insta::assert_yaml_snapshot!(shown(&stage));
    insta::assert_yaml_snapshot!(stage.keystone.borrow().answer);
}

#[test]
fn through_a_store_under_a_path_of_its_own() {
    let mut stage = Stage::new(&json!({
        "secretStoreRef": { "name": "openbao", "kind": "ClusterSecretStore", "path": "europe/eu-de-1" },
    }));
    stage.settle();
    assert_eq!(
        stage.ready().1,
        "WaitingForSecret",
        "the store has brought nothing yet"
    );
    for _ in 0..6 {
        stage.bring();
        stage.settle();
    }
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert_eq!(
        stage.names("PushSecret"),
        ["glance-keystone-credentials", "nova-keystone-credentials"],
        "whoever reads the store mustn't have the password of an administrator"
    );
    insta::assert_yaml_snapshot!(difference(&shown(&complete()), &shown(&stage)));
}

#[test]
fn a_second_look_writes_nothing() {
    let mut stage = complete();
    let (before, calls) = (stage.cluster.writes(), stage.keystone.borrow().calls);
    stage.look();
    assert_eq!(stage.cluster.writes(), before);
    assert_eq!(stage.keystone.borrow().calls, calls);
}

#[test]
fn each_step_waits_for_what_it_needs() {
    let mut stage = Stage::new(&json!({}));
    stage.look();
    assert_eq!(stage.names("Service"), [""; 0]);
    assert_eq!(stage.names("ApplicationCredential"), [""; 0]);
    assert_eq!(stage.ready().1, "WaitingForKORC");

    for (kind, plural, name) in [
        ("Domain", "domains", "default"),
        ("Project", "projects", "service"),
        ("Project", "projects", "admin"),
        ("Role", "roles", "admin"),
        ("Role", "roles", "member"),
        ("Role", "roles", "reader"),
        ("Role", "roles", "service"),
    ] {
        stage.make(&korc(kind, plural, name));
    }
    stage.look();
    assert_eq!(stage.names("Service"), [""; 0]);
    stage.make(&korc("User", "users", "admin"));
    stage.look();
    assert_eq!(stage.names("Service"), ["glance", "nova"]);
    assert_eq!(stage.names("ApplicationCredential"), ["k-orc"]);

    stage.make(&korc("User", "users", "glance"));
    stage.look();
    assert_eq!(stage.keystone.borrow().answer.roles["glance-9"].len(), 1);
    stage.look();
    stage.look();
    let credentials = stage.names("ApplicationCredential");
    assert_eq!(
        credentials,
        ["glance-1", "k-orc"],
        "Nova's user isn't there"
    );
    stage.make(&application_credential("glance-1"));
    stage.look();
    assert!(
        stage
            .value("glance-keystone-credentials", "application_credential_id")
            .is_some()
    );
    assert!(
        stage
            .value("nova-keystone-credentials", "application_credential_id")
            .is_none()
    );
}

#[test]
fn korc_works_with_the_password_until_it_has_a_credential_of_its_own() {
    let mut stage = Stage::new(&json!({}));
    stage.look();
    let clouds = stage.value("k-orc-clouds", "clouds.yaml").unwrap();
    assert!(clouds.contains("pa55word"));
    stage.settle();
    let clouds = stage.value("k-orc-clouds", "clouds.yaml").unwrap();
    assert!(!clouds.contains("pa55word") && clouds.contains("v3applicationcredential"));
    let bootstrap = stage.value("k-orc-bootstrap-clouds", "clouds.yaml");
    assert!(bootstrap.unwrap().contains("pa55word"));
}

#[test]
fn a_keystone_that_does_not_answer_takes_nothing_away() {
    let mut stage = complete();
    let before = shown(&stage);
    stage.keystone.borrow_mut().is_up = false;
    stage.look();
    assert_eq!(shown(&stage), before);
    assert_eq!(stage.ready().0, "Unknown");
}

#[rstest]
#[case("keystone-admin-credentials")]
#[case("glance-keystone-user")]
#[case("glance-keystone-credentials")]
#[case("glance-credential-1")]
#[case("k-orc-credential")]
#[case("k-orc-clouds")]
#[case("k-orc-glance-clouds")]
fn a_secret_that_cannot_be_read_takes_nothing_away(#[case] name: &str) {
    let mut stage = complete();
    let before = shown(&stage);
    stage.cluster.set_readable(&secret(name), false);
    stage.look();
    assert_eq!(shown(&stage), before);
    let (status, reason, _) = stage.condition(&stage.control_plane, "Ready");
    assert_eq!((&*status, &*reason), ("False", "LookupFailed"));
}

#[test]
fn credentials_that_cannot_be_listed_take_nothing_away() {
    let mut stage = complete();
    let before = shown(&stage);
    let key = application_credential("glance-1");
    stage.cluster.set_readable(&key, false);
    stage.look();
    assert_eq!(shown(&stage), before);
    stage.cluster.set_readable(&key, true);
    stage.settle();
    assert_eq!(shown(&stage), before);
}

#[rstest]
#[case::missing(
    None,
    "WaitingForSecret",
    "keystone-admin-credentials with the password"
)]
#[case::no_key(Some(vec![("user", "x")]), "InvalidSecret", "password")]
#[case::line_break(Some(vec![("password", "pa55word\n")]), "InvalidSecret", "line break")]
#[case::empty(Some(vec![("password", "")]), "InvalidSecret", "no value under the key password")]
fn a_password_that_is_no_good(
    #[case] values: Option<Vec<(&str, &str)>>,
    #[case] reason: &str,
    #[case] word: &str,
) {
    let mut stage = Stage::new(&json!({}));
    stage.cluster.delete(&secret("keystone-admin-credentials"));
    if let Some(values) = values {
        stage.put_secret("keystone-admin-credentials", &values);
    }
    stage.look();
    let (status, seen, message) = stage.ready();
    assert_eq!((status.as_str(), seen.as_str()), ("False", reason));
    assert!(
        message.contains(word) && !message.contains("pa55word"),
        "{message}"
    );
    assert!(stage.value("k-orc-clouds", "clouds.yaml").is_none());
}

#[test]
fn passwords_of_any_letters_survive_the_clouds_yaml() {
    for password in [
        "yes", "0x1F", "1e3", "null", "~", "a: b #c", "'\"\\", "{x}", "- a", " pad ", "é√",
    ] {
        let mut stage = Stage::new(&json!({}));
        stage.put_secret("keystone-admin-credentials", &[("password", password)]);
        stage.look();
        let clouds = stage.value("k-orc-clouds", "clouds.yaml").unwrap();
        let read: Value = serde_saphyr::from_str(&clouds).unwrap();
        assert_eq!(
            read["clouds"]["openstack"]["auth"]["password"], password,
            "{clouds}"
        );
    }
}

#[test]
fn secret_of_another_owner_is_never_overwritten() {
    let mut stage = Stage::new(&json!({}));
    stage.put_secret(
        "glance-keystone-credentials",
        &[("application_credential_id", "mine")],
    );
    stage.settle();
    assert_eq!(
        stage
            .value("glance-keystone-credentials", "application_credential_id")
            .unwrap(),
        "mine"
    );
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "NameTaken");
    assert!(message.contains("glance-keystone-credentials"), "{message}");
}

#[test]
fn the_users_own_clouds_yaml_is_used_as_it_is() {
    let reference = json!({ "secretName": "mine", "cloudName": "region-a" });
    let mut stage = Stage::new(&json!({ "korc": { "cloudCredentialsRef": reference } }));
    stage.look();
    assert_eq!(stage.ready().1, "WaitingForSecret");
    stage.put_secret("mine", &[("clouds.yaml", "clouds: {}")]);
    stage.settle();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert!(!stage.names("Secret").contains(&"k-orc-clouds"));
    assert_eq!(stage.names("ApplicationCredential"), ["glance-1", "nova-1"]);
    let domain = stage.cluster.get(&korc("Domain", "domains", "default"));
    assert_eq!(domain.unwrap()["spec"]["cloudCredentialsRef"], reference);
}

#[test]
fn only_what_is_listed_is_imported_and_referred_to() {
    let mut stage = Stage::new(&json!({ "korc": { "bootstrapResources": [] } }));
    stage.settle();
    assert_eq!(stage.ready().0, "True");
    for kind in ["Domain", "Project", "Role"] {
        assert_eq!(stage.names(kind), [""; 0]);
    }
    let user = stage.cluster.get(&korc("User", "users", "glance")).unwrap();
    assert_eq!(user["spec"]["resource"].get("domainRef"), None);
}

#[test]
fn catalogue_of_another_owner_is_left_alone() {
    let mut stage = Stage::new(&json!({ "korc": { "enabled": false } }));
    stage.settle();
    assert_eq!(stage.names("Secret"), ["keystone-admin-credentials"]);
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "WaitingForSecret");
    assert!(message.contains("glance-keystone-credentials"), "{message}");
    for name in ["glance", "nova"] {
        let pair = [
            ("application_credential_id", "1"),
            ("application_credential_secret", "s"),
        ];
        stage.put_secret(&format!("{name}-keystone-credentials"), &pair);
    }
    stage.settle();
    assert_eq!(stage.ready().0, "True");
}

#[test]
fn switching_the_catalogue_off_takes_nothing_away() {
    let mut stage = complete();
    let before = shown(&stage);
    let key = stage.control_plane.clone();
    stage.cluster.edit(&key, |object| {
        object["spec"]["korc"] = json!({ "enabled": false })
    });
    stage.settle();
    assert_eq!(shown(&stage), before);
}

#[test]
fn what_korc_gives_up_on_is_said() {
    let mut stage = Stage::new(&json!({}));
    stage.look();
    let key = korc("Domain", "domains", "default");
    let status = json!({ "conditions": [{
        "type": "Progressing", "status": "False", "reason": "UnrecoverableError",
        "message": "found more than one", "observedGeneration": 1,
    }] });
    stage.cluster.set_status(&key, status);
    stage.look();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "RefusedByKORC");
    assert!(message.contains("found more than one"), "{message}");
}

#[test]
fn condition_of_korc_that_cannot_be_understood_is_unknown() {
    let mut stage = Stage::new(&json!({}));
    stage.look();
    let key = korc("Domain", "domains", "default");
    let status = json!({ "conditions": [{ "type": "Progressing", "status": 1 }] });
    stage.cluster.set_status(&key, status);
    stage.look();
    let (_, reason, message) = stage.ready();
    assert_eq!(reason, "LookupFailed");
    assert!(
        message.contains("the condition Progressing of"),
        "{message}"
    );
}

#[test]
fn the_credential_that_korc_deletes_with_goes_last() {
    let mut stage = complete();
    for kind in [
        "ApplicationCredential",
        "Service",
        "User",
        "Endpoint",
        "Domain",
        "Project",
        "Role",
    ] {
        let keys: Vec<_> = stage.cluster.objects().keys().cloned().collect();
        if let Some(key) = keys.iter().find(|key| key.kind.kind == kind) {
            stage.cluster.hold(key.kind);
        }
    }
    let control_plane = stage.control_plane.clone();
    stage.cluster.delete(&control_plane);
    stage.look();
    let leaves = |stage: &Stage, name: &str| {
        let object = stage.cluster.get(&application_credential(name));
        object.is_some_and(|object| object.pointer("/metadata/deletionTimestamp").is_some())
    };
    assert!(leaves(&stage, "glance-1") && !leaves(&stage, "k-orc"));
    let clouds = stage.value("k-orc-glance-clouds", "clouds.yaml");
    assert!(clouds.is_some(), "K-ORC needs it to delete the credential");
    let keys: Vec<_> = stage.cluster.objects().keys().cloned().collect();
    for key in keys.iter().filter(|key| **key != control_plane) {
        stage.cluster.release(key);
    }
    stage.look();
    assert!(leaves(&stage, "k-orc"));
    stage.cluster.release(&application_credential("k-orc"));
    stage.look();
    assert!(stage.cluster.get(&korc("User", "users", "admin")).is_some());
    let clouds = stage.value("k-orc-clouds", "clouds.yaml").unwrap();
    assert!(
        clouds.contains("pa55word"),
        "K-ORC can't log in with a credential that is deleted: {clouds}"
    );
    stage.korc();
    stage.look();
    stage.look();
    assert!(stage.cluster.get(&control_plane).is_none());
    let left = stage.names("Secret");
    assert_eq!(
        left,
        [
            "glance-keystone-user",
            "keystone-admin-credentials",
            "nova-keystone-user"
        ]
    );
}
