//! Deletion of a Cinder and of its backends: pods go before what they use.

use c5c3_api::cinder::CinderSpec;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{CINDER, condition, ready, running};

#[test]
fn deleted_cinder_keeps_its_users_until_its_pods_are_gone() {
    let mut cluster = running();
    cluster.hold::<StatefulSet>();
    cluster.tear_down(&CINDER, "cinder");
    let users = |cluster: &Cluster| {
        [
            cluster.get::<Manifest<mariadb::User>>("cinder").cloned(),
            cluster.get::<Manifest<rabbitmq::User>>("cinder").cloned(),
        ]
    };
    for user in users(&cluster) {
        let metadata = user.map(|user| user["metadata"].clone());
        let metadata = metadata.expect("a user is deleted before the pods");
        assert_eq!(metadata.get("deletionTimestamp"), None);
    }
    assert_eq!(cluster.get::<Deployment>("cinder-scheduler"), None);
    let (status, reason, message) = condition(&cluster, "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Deleting"));
    let members = [
        "cinder-backup",
        "cinder-st-pool-a-volume",
        "cinder-st-pool-b-volume",
    ];
    for name in members {
        assert!(
            message.contains(&format!("StatefulSet {name}")),
            "{message}"
        );
        cluster.release::<StatefulSet>(name);
    }
    cluster.tear_down(&CINDER, "cinder");
    assert_eq!(cluster.get::<Custom<CinderSpec>>("cinder"), None);
    assert_eq!(users(&cluster), [None, None]);
}

#[test]
fn backend_that_is_added_again_waits_for_its_former_pods() {
    let mut cluster = running();
    let name = "cinder-st-pool-b-volume";
    let all = cluster.get::<Custom<CinderSpec>>("cinder").unwrap()["spec"]["backends"].clone();
    let set = |cluster: &mut Cluster, backends: Value| {
        cluster.change::<Custom<CinderSpec>>("cinder", |cinder| {
            cinder["spec"]["backends"] = backends;
        });
        cluster.settle(&CINDER, "cinder");
    };
    cluster.hold::<StatefulSet>();
    set(&mut cluster, json!([all[0]]));
    let former = cluster.get::<StatefulSet>(name).unwrap();
    assert!(former["metadata"]["deletionTimestamp"].is_string());
    set(&mut cluster, all.clone());
    let (status, _, message) = condition(&cluster, "Ready");
    let waits = format!("waits for StatefulSet {name}, whose former pods terminate");
    assert_eq!(status, "False");
    assert!(message.contains(&waits), "{message}");
    cluster.release::<StatefulSet>(name);
    cluster.settle(&CINDER, "cinder");
    assert_eq!(condition(&cluster, "Ready"), ready());
    let again = cluster.get::<StatefulSet>(name).unwrap();
    assert_eq!(again["metadata"].get("deletionTimestamp"), None);
}
