//! Credentials that Keystone refuses after a restore.

use jiff::SignedDuration;
use serde_json::json;

use crate::stage::Stage;

/// As after a restore of Keystone's database from a backup. K-ORC looks at no credential that it has created.
#[test]
fn credential_that_keystone_has_lost_is_replaced_by_the_next() {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    let handed_out =
        |stage: &Stage| stage.value("glance-keystone-credentials", "application_credential_id");
    let password = stage.value("glance-keystone-user", "password");
    let lost = handed_out(&stage).unwrap();
    stage.keystone.borrow_mut().answer.lost.insert(lost.clone());
    stage.settle();
    assert_eq!(
        handed_out(&stage),
        Some(lost),
        "Keystone may read a member of the database that lacks a new one"
    );

    stage.cluster.wait(SignedDuration::from_mins(10));
    stage.look();
    let (status, reason, message) = stage.ready();
    assert_eq!((&*status, &*reason), ("False", "MakingCredential"));
    let expected = "Keystone refuses ApplicationCredential glance-1, as after a restore of its database: waits for K-ORC to create \
                    glance-2, which replaces it";
    assert_eq!(message, expected);
    assert_eq!(
        stage.names("ApplicationCredential"),
        ["glance-1", "glance-2", "k-orc", "nova-1"]
    );

    stage.settle();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert!(handed_out(&stage).is_some_and(|id| id.starts_with("glance-2-")));
    assert_eq!(
        stage.names("ApplicationCredential"),
        ["glance-2", "k-orc", "nova-1"]
    );
    assert_eq!(stage.value("glance-keystone-user", "password"), password);
}

/// As after a restore of the API server's database: K-ORC takes over by its name what it had created before, with a secret that is gone.
#[test]
fn credential_that_keystone_has_with_another_secret_is_replaced_by_the_next() {
    let mut stage = Stage::new(&json!({}));
    stage.settle();
    let handed_out =
        |stage: &Stage, key: &str| stage.value("glance-keystone-credentials", key).unwrap();
    let id = handed_out(&stage, "application_credential_id");
    let secret = handed_out(&stage, "application_credential_secret");
    let learn = |stage: &Stage, secret: String| {
        let mut known = stage.keystone.borrow_mut();
        known.secrets.insert(id.clone(), secret);
    };
    learn(&stage, secret);
    stage.cluster.wait(SignedDuration::from_mins(10));
    stage.settle();
    assert_eq!(handed_out(&stage, "application_credential_id"), id);

    learn(&stage, "of a Secret that is gone".to_owned());
    stage.cluster.wait(SignedDuration::from_mins(10));
    stage.settle();
    assert_eq!(stage.ready().0, "True", "{:?}", stage.ready());
    assert!(handed_out(&stage, "application_credential_id").starts_with("glance-2-"));
    assert_eq!(
        stage.names("ApplicationCredential"),
        ["glance-2", "k-orc", "nova-1"]
    );
}
