//! How the database comes to a release, and what stops it.

use c5c3_api::keystone::KeystoneSpec;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use provider_composer::{Custom, Failure};
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::stage::{
    BROWNFIELD, KEYSTONE, MANAGED, given, job, migrating, ready, release, running, tag, tasks,
};

#[test]
fn an_upgrade_expands_rolls_and_contracts() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(tasks(&cluster).contains("db-expand") && !tasks(&cluster).contains("db-migrate"));
    assert_eq!(tag(&cluster), "28.1.0");

    let expand = job(&cluster, "db-expand");
    cluster.finish_job(&expand, "Complete");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(tag(&cluster), "28.1.0");
    let migrate = job(&cluster, "db-migrate");
    cluster.finish_job(&migrate, "Complete");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(tag(&cluster), "29.1.0");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(
        !tasks(&cluster).contains("db-contract"),
        "older pods still run"
    );

    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["release"], "2026.1");
    assert!(tasks(&cluster).contains("db-contract"));
    assert!(!tasks(&cluster).contains("db-expand"));
}

#[test]
fn an_upgrade_can_be_taken_back_until_it_contracts() {
    let mut cluster = running(MANAGED);
    let synced = cluster.get::<Job>(&job(&cluster, "db-sync")).cloned();
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.simulate();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    release(&mut cluster, "2025.2");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["release"], "2025.2");
    assert_eq!(
        cluster.get::<Job>(&job(&cluster, "db-sync")).cloned(),
        synced,
        "an older program can't read a newer schema"
    );
    assert_eq!(tag(&cluster), "28.1.0");

    release(&mut cluster, "2026.1");
    contract(&mut cluster, "2026.1").unwrap();
    release(&mut cluster, "2025.2");
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason().to_string(), "TooLateToGoBack");
    assert!(tasks(&cluster).contains("db-contract"));
}

/// Whether there is the Job that contracts the database to a release.
fn contracts(cluster: &Cluster, release: &str) -> bool {
    let mut jobs = cluster.all::<Job>().into_values();
    jobs.any(|job| {
        let labels = &job["metadata"]["labels"];
        labels["c5c3.io/task"] == "db-contract" && labels["c5c3.io/release"] == release
    })
}

/// Lets an upgrade go on until the Job is there that contracts the database.
fn contract(cluster: &mut Cluster, release: &str) -> Result<(), Failure> {
    while !contracts(cluster, release) {
        cluster.simulate();
        cluster.compose(&KEYSTONE, "keystone")?;
    }
    Ok(())
}

/// The Job that contracted the database to the release before is still there.
#[test]
fn second_upgrade_cannot_be_taken_back_once_it_contracts() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.settle(&KEYSTONE, "keystone");
    assert!(contracts(&cluster, "2026.1"));
    release(&mut cluster, "2026.2");
    contract(&mut cluster, "2026.2").unwrap();
    release(&mut cluster, "2026.1");
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason().to_string(), "TooLateToGoBack");
    assert!(contracts(&cluster, "2026.2"));

    release(&mut cluster, "2026.2");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["release"], "2026.2");
}

/// A control plane takes an upgrade back when another service fails, or when time is up.
#[test]
fn migration_that_runs_when_an_upgrade_is_taken_back_is_not_broken_off() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let expand = job(&cluster, "db-expand");
    cluster.change::<Job>(&expand, |job| {
        job["status"] = json!({ "active": 1, "ready": 1 })
    });
    release(&mut cluster, "2025.2");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(job(&cluster, "db-expand"), expand);
    assert_eq!(tag(&cluster), "28.1.0");

    cluster.finish_job(&expand, "Complete");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(!tasks(&cluster).contains("db-expand"));
}

/// Pods become unready at any time.
#[test]
fn migration_that_contracts_is_not_broken_off_while_a_pod_is_not_ready() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    contract(&mut cluster, "2026.1").unwrap();
    let contract = job(&cluster, "db-contract");
    cluster.change::<Job>(&contract, |job| {
        job["status"] = json!({ "active": 1, "ready": 1 })
    });
    cluster.change::<Deployment>("keystone", |deployment| {
        deployment["status"] =
            json!({ "conditions": [{ "type": "Available", "status": "False" }] });
    });
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(job(&cluster, "db-contract"), contract);
}

#[test]
fn another_image_of_the_release_is_taken_after_an_upgrade() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.settle(&KEYSTONE, "keystone");
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["image"] = json!({ "tag": "29.1.0-p1" });
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(tag(&cluster), "29.1.0-p1");
    assert_eq!(ready(&cluster), "True");
}

fn correct_password(cluster: &mut Cluster) {
    let right = [("username", "keystone"), ("password", "right-s3cret")];
    cluster.secret("keystone-db-credentials", &right);
}

#[test]
fn a_migration_that_fails_says_so_and_the_fix_alone_brings_it_back() {
    let (mut cluster, sync) = migrating().unwrap();
    cluster.finish_job(&sync, "Failed");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    assert!(
        message.contains(&format!("kubectl logs -n openstack job/{sync}")),
        "{message}"
    );

    correct_password(&mut cluster);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_ne!(job(&cluster, "db-sync"), sync);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn a_migration_whose_pod_does_not_start_names_its_image() {
    let (mut cluster, sync) = migrating().unwrap();
    let began = cluster.now();
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 1, "ready": 0, "startTime": began.to_string() });
    });
    let late = began + SignedDuration::from_secs(30);
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(answer.desired.requeue_at.is_some_and(|wake| wake <= late));
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "WaitingForJob");

    cluster.wait_until(late);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "NotStarting");
    assert!(
        message.contains("an image ghcr.io/openstack-control-planes/keystone:28.1.0"),
        "{message}"
    );
}

#[test]
fn slow_pull_of_a_migrations_image_is_stalled_after_ten_minutes() {
    let (mut cluster, sync) = migrating().unwrap();
    let began = cluster.now();
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 1, "ready": 0, "startTime": began.to_string() });
    });
    let deadline = began + SignedDuration::from_mins(10);
    cluster.wait_until(deadline - SignedDuration::from_secs(1));
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(answer.desired.requeue_at, Some(deadline));
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "Reconciling");
    assert_eq!(reason, "NotStarting");

    cluster.wait_until(deadline);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "Stalled");
    assert_eq!(reason, "NotStarting");
}

#[test]
fn pods_that_are_not_ready_name_their_database() {
    let mut cluster = running(MANAGED);
    cluster.change::<Deployment>("keystone", |deployment| {
        deployment["status"] = json!({ "conditions": [
            { "type": "Available", "status": "False" },
            { "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" },
        ] });
    });
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "APIReady");
    assert_eq!((&*status, &*reason), ("False", "Unavailable"));
    assert!(
        message.contains("once the database openstack-db.openstack.svc:3306/keystone takes"),
        "{message}"
    );
    assert!(answer.failed.contains("APIReady") && answer.failed.contains("Ready"));
}

#[test]
fn new_pods_that_do_not_become_ready_are_told_though_older_ones_serve() {
    let mut cluster = running(BROWNFIELD);
    let began = cluster.now();
    cluster.change::<Deployment>("keystone", |deployment| {
        deployment["status"]["conditions"] = json!([
            { "type": "Available", "status": "True" },
            {
                "type": "Progressing",
                "status": "True",
                "reason": "ReplicaSetUpdated",
                "lastUpdateTime": began.to_string(),
            },
        ]);
    });
    let late = began + SignedDuration::from_secs(60);
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(ready(&cluster), "True");
    assert!(answer.desired.requeue_at.is_some_and(|wake| wake <= late));

    cluster.wait_until(late);
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "APIReady");
    assert_eq!((&*status, &*reason), ("False", "NotStarting"));
    assert!(
        message.contains("the database db.example.com:3306/keystone takes the user and password"),
        "{message}"
    );
    assert!(answer.failed.contains("APIReady"));
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "Reconciling");
    assert_eq!(reason, "NotStarting", "the image may still be pulled");

    // Kubernetes gives the rollout up after ten minutes.
    cluster.change::<Deployment>("keystone", |deployment| {
        assert_eq!(deployment["spec"]["progressDeadlineSeconds"], 600);
        deployment["status"]["conditions"][1]["status"] = json!("False");
    });
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "Stalled");
    assert_eq!(reason, "NotStarting");
}

#[test]
fn a_migration_that_fails_is_told_before_it_is_given_up() {
    let mut cluster = given(BROWNFIELD);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let job = job(&cluster, "db-sync");
    for ready in [0, 1] {
        cluster.change::<Job>(&job, |job| {
            job["status"] = json!({ "active": 1, "ready": ready, "failed": 2 });
        });
        let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
        let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
        assert_eq!(reason, "JobFailing", "ready: {ready}");
        let expected = format!("Job {job} has failed 2 of 5 times, and is tried again: often");
        assert!(message.starts_with(&expected), "{message}");
        assert!(answer.failed.contains("DatabaseReady"));
    }
    cluster.finish_job(&job, "Complete");
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn a_migration_that_runs_is_not_broken_off() {
    let (mut cluster, sync) = migrating().unwrap();
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 1, "ready": 1 })
    });
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        cluster.all::<Job>().into_keys().collect::<Vec<_>>(),
        [sync.as_str()]
    );
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "WaitingForJob");
    assert_eq!(message, format!("waits for Job {sync}, which runs"));
}

#[test]
fn a_migration_that_fails_says_what_is_most_often_wrong() {
    let mut cluster = given(BROWNFIELD);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let job = job(&cluster, "db-sync");
    cluster.finish_job(&job, "Failed");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    let expected = format!(
        "Job {job} failed (the backoff limit was reached): often the database db.example.com:3306/keystone can't be reached \
         or refuses user or password, which the Secret of spec.database has; see `kubectl logs -n openstack job/{job}`"
    );
    assert!(message.starts_with(&expected), "{message}");

    correct_password(&mut cluster);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        ready(&cluster),
        "True",
        "the right password alone brings it back"
    );
}
