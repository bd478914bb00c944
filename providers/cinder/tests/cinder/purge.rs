//! The CronJob that purges rows that Cinder has marked as deleted.

use c5c3_api::cinder::CinderSpec;
use c5c3_api::credential_rotation::CredentialRotationSpec;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{CINDER, change, condition, ready, refused, running};

const PURGE: &str = "cinder-purge";
const RUN: &str = "cinder-purge-1";
const POOLS: &str = "cinder-pools";
const CHECK: &str = "cinder-pools-1";

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

/// Reports the Jobs of the CronJob that aren't over.
fn report(cluster: &mut Cluster, active: &Value) {
    cluster.change::<CronJob>(PURGE, |job| job["status"] = json!({ "active": active }));
}

/// The pod of each try mounts the files that the run began with, and hangs without them until the Job's deadline.
#[test]
fn files_of_a_purge_stay_until_it_is_over() {
    let mut cluster = running();
    let before = files(&cluster);
    report(&mut cluster, &json!([{ "name": RUN }]));
    cluster.secret("cinder-db-credentials", &[("password", "another-s3cret")]);
    cluster.settle(&CINDER, "cinder");
    assert_ne!(files(&cluster), before);
    assert!(cluster.get::<Secret>(&before).is_some());

    report(&mut cluster, &json!([]));
    cluster.settle(&CINDER, "cinder");
    assert!(cluster.get::<Secret>(&before).is_none());
}

/// Starts a Job with the present template of the CronJob.
fn start_run(cluster: &mut Cluster) {
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    let spec = job["spec"]["jobTemplate"]["spec"].clone();
    let status = json!({ "ready": 1, "startTime": "2026-02-01T02:00:00Z" });
    cluster.put::<Job>(RUN, json!({ "spec": spec, "status": status }));
    report(cluster, &json!([{ "name": RUN }]));
}

/// Asks for the second user of the database.
fn begin_rotation(cluster: &mut Cluster) {
    let spec = json!({ "targetServiceUser": "cinder", "rotationType": "databaseUser" });
    let status = json!({ "nextCredentialRef": { "name": "cinder-2" } });
    let rotation = json!({ "spec": spec, "status": status });
    cluster.put::<Custom<CredentialRotationSpec>>("cinder", rotation);
}

fn users(cluster: &Cluster) -> &Value {
    let cinder = cluster.get::<Custom<CinderSpec>>("cinder").unwrap();
    &cinder["status"]["databaseUsers"]
}

/// The Job's next connection, and its next try, log in as the former user.
#[rstest::rstest]
#[case::is_read(true, "started at 2026-02-01T02:00:00Z and ")]
#[case::is_not_found_yet(false, "")]
fn rotation_waits_for_a_purge_that_may_have_the_former_user_and_reports_it(
    #[case] is_there: bool,
    #[case] started: &str,
) {
    let mut cluster = running();
    match is_there {
        true => start_run(&mut cluster),
        false => report(&mut cluster, &json!([{ "name": RUN }])),
    }
    begin_rotation(&mut cluster);
    cluster.settle(&CINDER, "cinder");
    assert_eq!(*users(&cluster), json!({ "numbers": [1, 2] }));
    let message = format!(
        "waits for Job {RUN} of CronJob {PURGE}, which {started}may have the former users: it ends within 6 hours; to end it now, \
         run `kubectl delete job -n openstack {RUN}`"
    );
    let reported = ("False".to_owned(), "WaitingForJob".to_owned(), message);
    assert_eq!(condition(&cluster, "DatabaseUsersReplaced"), reported);
    assert_eq!(condition(&cluster, "Ready"), ready());

    report(&mut cluster, &json!([]));
    cluster.settle(&CINDER, "cinder");
    assert_eq!(*users(&cluster), json!({ "numbers": [2], "inUse": 2 }));
}

/// Each run of a large database may begin as the one before it ends.
#[test]
fn rotation_does_not_wait_for_a_purge_that_has_the_present_user() {
    let mut cluster = running();
    let before = files(&cluster);
    begin_rotation(&mut cluster);
    for _ in 0..50 {
        if files(&cluster) != before {
            break;
        }
        cluster.compose(&CINDER, "cinder").unwrap();
        cluster.simulate();
    }
    assert_ne!(files(&cluster), before);
    start_run(&mut cluster);
    cluster.settle(&CINDER, "cinder");
    assert_eq!(*users(&cluster), json!({ "numbers": [2], "inUse": 2 }));
    assert!(cluster.get::<Secret>(&before).is_none());
    assert!(cluster.get::<Secret>(&files(&cluster)).is_some());
}

/// It has no user, and another one begins every ten minutes.
#[test]
fn rotation_does_not_wait_for_a_check_of_pools() {
    let mut cluster = running();
    let job = cluster.get::<CronJob>(POOLS).unwrap();
    let spec = job["spec"]["jobTemplate"]["spec"].clone();
    let check = json!({ "spec": spec, "status": { "ready": 1 } });
    cluster.put::<Job>(CHECK, check);
    let status = json!({ "active": [{ "name": CHECK }] });
    cluster.change::<CronJob>(POOLS, |job| job["status"] = status);
    begin_rotation(&mut cluster);
    cluster.settle(&CINDER, "cinder");
    assert_eq!(*users(&cluster), json!({ "numbers": [2], "inUse": 2 }));
}
