//! What Glance's pods complete before they end, and what stays until then.

use std::time::Duration;

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_kinds::{Manifest, mariadb};
use k8s_openapi::api::apps::v1::Deployment;
use provider_composer::Custom;
use serde_json::json;

use super::{FILE, GLANCE, given};

/// What is interrupted leaves an image that stays in `saving` or `importing`.
#[test]
fn glance_completes_uploads_and_imports_before_its_pods_end() {
    let mut cluster = given(FILE);
    cluster.settle(&GLANCE, "glance");
    let api = cluster.get::<Deployment>("glance").unwrap();
    let pod = &api["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 15 + 3600 + 15);
    let command = pod["containers"][0]["command"].as_array().unwrap().iter();
    let mut command = command.skip_while(|word| **word != "--worker-reload-mercy");
    assert_eq!(command.nth(1).unwrap(), "3600", "uwsgi waits as long");
}

/// An upload ends with a change of the database.
#[test]
fn former_user_of_the_database_stays_until_uploads_of_former_pods_have_ended() {
    let mut cluster = given(FILE);
    cluster.settle(&GLANCE, "glance");
    let rotation = json!({
        "spec": { "targetServiceUser": "glance", "rotationType": "databaseUser" },
        "status": { "nextCredentialRef": { "name": "glance-2" } },
    });
    cluster.put::<Custom<CredentialRotationSpec>>("glance", rotation);
    let rolled = cluster.now();
    for _ in 0..8 {
        cluster.compose(&GLANCE, "glance").unwrap();
        cluster.simulate();
        cluster.complete_rollout("glance", rolled);
    }
    let ended = rolled + Duration::from_secs(15 + 3600 + 15);
    cluster.wait_until(ended - Duration::from_secs(1));
    cluster.compose(&GLANCE, "glance").unwrap();
    let users = cluster.all::<Manifest<mariadb::User>>().into_keys();
    assert_eq!(
        users.collect::<Vec<_>>(),
        ["glance", "glance-credentials-2"]
    );
    cluster.wait_until(ended);
    cluster.compose(&GLANCE, "glance").unwrap();
    let users = cluster.all::<Manifest<mariadb::User>>().into_keys();
    assert_eq!(users.collect::<Vec<_>>(), ["glance-credentials-2"]);
}
