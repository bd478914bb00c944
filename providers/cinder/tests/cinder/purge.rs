//! The CronJob that purges rows that Cinder has marked as deleted.

use c5c3_api::cinder::CinderSpec;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{CINDER, change, condition, refused, running};

const PURGE: &str = "cinder-purge";

#[test]
fn rows_are_purged_on_the_schedule_after_the_days_of_the_spec() {
    let mut cluster = running();
    change(&mut cluster, |cinder| {
        cinder["spec"]["deletedRows"] = json!({ "schedule": "@weekly", "purgeAfterDays": 7 });
    });
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    assert_eq!(job["spec"]["schedule"], "@weekly");
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let command = pod["containers"][0]["command"].as_array().unwrap();
    assert_eq!(command[..2], ["python3", "-c"]);
    assert_eq!(command[3..], ["/etc/cinder/config/cinder.conf", "7:.*"]);
    assert_eq!(condition(&cluster, "DeletedRowsPurged").0, "Unknown");
}

#[test]
fn purge_stays_while_a_secret_is_missing_and_is_deleted_when_it_is_off() {
    let mut cluster = running();
    cluster.delete::<Secret>("cinder-keystone-credentials");
    cluster.compose(&CINDER, "cinder").unwrap();
    assert!(cluster.get::<CronJob>(PURGE).is_some());
    change(&mut cluster, |cinder| {
        cinder["spec"]["deletedRows"] = json!({ "enabled": false });
    });
    assert!(cluster.get::<CronJob>(PURGE).is_none());
}

#[test]
fn purge_schedule_that_is_never_due_is_refused() {
    let mut cluster = running();
    cluster.change::<Custom<CinderSpec>>("cinder", |cinder| {
        cinder["spec"]["deletedRows"] = json!({ "schedule": "0 2 31 2 *" });
    });
    let says = "deletedRows.schedule \"0 2 31 2 *\" is never due: write";
    let refused = refused(&mut cluster);
    assert!(refused.starts_with(says), "{refused}");
}

/// The Secret with the files that the purge's pods mount.
fn files(cluster: &Cluster) -> String {
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let mut volumes = pod["volumes"].as_array().unwrap().iter();
    let config = volumes.find(|volume| volume["name"] == "config").unwrap();
    config["secret"]["secretName"].as_str().unwrap().to_owned()
}

/// The pod of each try mounts the files that the run began with, and hangs without them until the Job's deadline.
#[test]
fn files_of_a_purge_stay_until_it_is_over() {
    let mut cluster = running();
    let before = files(&cluster);
    let report = |cluster: &mut Cluster, active: Value| {
        cluster.change::<CronJob>(PURGE, |job| job["status"] = json!({ "active": active }));
    };
    report(&mut cluster, json!([{ "name": "cinder-purge-1" }]));
    cluster.secret("cinder-db-credentials", &[("password", "another-s3cret")]);
    cluster.settle(&CINDER, "cinder");
    assert_ne!(files(&cluster), before);
    assert!(cluster.get::<Secret>(&before).is_some());

    report(&mut cluster, json!([]));
    cluster.settle(&CINDER, "cinder");
    assert!(cluster.get::<Secret>(&before).is_none());
}
