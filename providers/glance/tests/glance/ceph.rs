//! Stores in Ceph: their Secrets, and the Jobs that check their pools.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_openstack_fixtures::Cluster;
use provider_openstack_fixtures::documents::RBD;
use serde_json::{Value, json};

use super::{GLANCE, SEVERAL, given};

#[test]
fn ceph_is_said_to_be_connected_only_when_a_pod_has_seen_it() {
    let mut cluster = given(RBD);
    cluster.compose(&GLANCE, "glance").unwrap();
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").1,
        "WaitingForJob"
    );
    let job = cluster
        .all::<Job>()
        .into_keys()
        .find(|name| name.starts_with("glance-ceph-"))
        .unwrap()
        .to_owned();
    cluster.finish_job(&job, "Failed");
    cluster.compose(&GLANCE, "glance").unwrap();
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!((&*status, &*reason), ("False", "JobFailed"));
    let expected = format!(
        "Job {job} failed (the backoff limit was reached): often Ceph has no pool images, refuses user glance, its key has no capabilities"
    );
    assert!(message.starts_with(&expected), "{message}");

    cluster.secret(
        "glance-ceph-credentials",
        &[
            ("userID", "glance"),
            ("keyring", "right-s3cret"),
            ("ceph.conf", "[global]"),
        ],
    );
    cluster.settle(&GLANCE, "glance");
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").0,
        "True"
    );
}

#[test]
fn ceph_is_connected_when_every_store_in_it_is() {
    let mut cluster = given(SEVERAL);
    cluster.delete::<Secret>("flash-ceph-credentials");
    cluster.settle(&GLANCE, "glance");
    let (status, _, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!(status, "False");
    assert!(message.contains("flash-ceph-credentials"), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
}

#[test]
fn each_pool_is_checked_by_a_job() {
    let mut cluster = given(SEVERAL);
    cluster.compose(&GLANCE, "glance").unwrap();
    let pools: BTreeSet<String> = cluster
        .all::<Job>()
        .into_values()
        .map(|job| {
            let variables = &job["spec"]["template"]["spec"]["containers"][0]["env"];
            variables[1]["value"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(pools, ["flash", "images"].map(str::to_owned).into());
}

#[rstest::rstest]
#[case(&[("userID", "glance"), ("ceph.conf", "[global]")], "Secret glance-ceph-credentials has no value under the key keyring")]
#[case(&[("keyring", "k-s3cret"), ("ceph.conf", "[global]")], "has no value under the key userID")]
#[case(
    &[("userID", "glance"), ("keyring", "[client.glance]\n\tkey =\n"), ("ceph.conf", "[global]")],
    "the keyring in Secret glance-ceph-credentials has no key: put in what `ceph auth get client.glance` prints"
)]
#[case(
    &[("userID", "client.glance"), ("keyring", "k-s3cret"), ("ceph.conf", "[global]")],
    "Ceph's user is client.glance: write it without client."
)]
fn a_secret_without_what_ceph_needs_is_named(
    #[case] values: &[(&str, &str)],
    #[case] expected: &str,
) {
    let mut cluster = given(RBD);
    cluster.secret("glance-ceph-credentials", values);
    cluster.settle(&GLANCE, "glance");
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
    assert!(message.contains(expected), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
}

/// A Glance with one pool or two, which their first Jobs have seen.
fn seen(store: &str) -> Cluster {
    let mut cluster = given(store);
    cluster.settle(&GLANCE, "glance");
    cluster
}

/// The pools that the CronJob checks.
fn checked(cluster: &Cluster) -> Vec<Value> {
    let job = cluster.get::<CronJob>("glance-pools").unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let pools = pod["containers"][0]["env"][0]["value"].as_str().unwrap();
    serde_json::from_str(pools).unwrap()
}

/// Ends a check that found the same of each pool.
fn check(cluster: &mut Cluster, finished: &str, found: Value) {
    let pools = checked(cluster).into_iter().map(|pool| {
        let mut found = found.clone();
        found["id"] = pool["id"].clone();
        found
    });
    let message = Value::from_iter(pools).to_string();
    ended(cluster, "glance-pools-1-a", finished, &message);
    let status = json!({ "lastSuccessfulTime": finished });
    cluster.change::<CronJob>("glance-pools", |job| job["status"] = status);
}

/// Ends a Job's pod with a termination message.
fn ended(cluster: &mut Cluster, name: &str, finished: &str, message: &str) {
    cluster.put::<Pod>(
        name,
        json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "glance", "c5c3.io/task": "pools" } },
            "status": { "containerStatuses": [{
                "name": "glance", "image": "glance", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": 0, "finishedAt": finished, "message": message } },
            }] },
        }),
    );
}

/// What holds of a Glance at a time of the first of February 2026, when the cluster begins.
fn at(cluster: &mut Cluster, time: &str, type_: &str) -> (String, String, String) {
    cluster.wait_until(format!("2026-02-01T{time}Z").parse().unwrap());
    cluster.settle(&GLANCE, "glance");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
    cluster.condition(&GLANCE, "glance", type_)
}

#[test]
fn all_pools_are_checked_by_a_cron_job() {
    let mut cluster = seen(SEVERAL);
    let pools = checked(&cluster);
    let of = |field: &str| -> Vec<Value> { pools.iter().map(|pool| pool[field].clone()).collect() };
    assert_eq!(of("pool"), ["images", "flash"]);
    assert_eq!(of("user"), ["glance", "flash"]);
    let job = &cluster.get::<CronJob>("glance-pools").unwrap()["spec"];
    assert!(
        job["schedule"]
            .as_str()
            .unwrap()
            .ends_with("-59/10 * * * *"),
        "{job}"
    );
    assert_eq!(job["concurrencyPolicy"], "Forbid");
    assert_eq!(job["successfulJobsHistoryLimit"], 1);
    let check = &job["jobTemplate"]["spec"];
    assert_eq!(check["activeDeadlineSeconds"], 300);
    let mounts = &check["template"]["spec"]["containers"][0]["volumeMounts"];
    let mounts = mounts.as_array().unwrap().iter();
    let mounts: Vec<&Value> = mounts.map(|mount| &mount["mountPath"]).collect();
    for folder in ["/etc/ceph/0", "/etc/ceph/1"] {
        assert!(mounts.contains(&&json!(folder)), "{mounts:?}");
    }
    cluster.delete::<Secret>("flash-ceph-credentials");
    cluster.settle(&GLANCE, "glance");
    assert_eq!(
        checked(&cluster).len(),
        1,
        "a pod waits for a Secret that isn't there"
    );
}

#[test]
fn pools_are_checked_as_before_while_a_secret_cannot_be_read() {
    let mut cluster = seen(SEVERAL);
    cluster.set_unreadable::<Secret>("flash-ceph-credentials");
    cluster.compose(&GLANCE, "glance").unwrap();
    assert_eq!(checked(&cluster).len(), 2);
}

#[test]
fn pool_that_is_lost_is_reported_with_the_time_and_the_error() {
    let mut cluster = seen(RBD);
    check(&mut cluster, "2026-02-01T00:10:05Z", json!({}));
    assert_eq!(at(&mut cluster, "00:11:00", "CephConnected").0, "True");
    let before = cluster.get::<Deployment>("glance").unwrap()["spec"].clone();

    let error = json!({ "error": "TimedOut: [errno 110] error connecting to the cluster" });
    let says = |error: &str| {
        format!("user glance doesn't reach pool images of Ceph since 2026-02-01T00:20:05Z{error}")
    };
    for (finished, now) in [
        ("2026-02-01T00:20:05Z", "00:21:00"),
        ("2026-02-01T00:30:05Z", "00:31:00"),
    ] {
        check(&mut cluster, finished, error.clone());
        let (status, reason, message) = at(&mut cluster, now, "CephConnected");
        assert_eq!((&*status, &*reason), ("False", "CephUnreachable"));
        let expected =
            says(": TimedOut: [errno 110] error connecting to the cluster; see `ceph status`");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(at(&mut cluster, now, "CapacityAvailable").0, "Unknown");
    }
    cluster.delete::<Pod>("glance-pools-1-a");
    for now in ["00:32:00", "00:33:00"] {
        let (status, _, message) = at(&mut cluster, now, "CephConnected");
        assert_eq!(status, "False", "{message}");
        assert!(
            message.starts_with(&says("; it is checked again")),
            "{message}"
        );
    }
    check(&mut cluster, "2026-02-01T00:40:05Z", json!({}));
    assert_eq!(at(&mut cluster, "00:41:00", "CephConnected").0, "True");
    assert_eq!(cluster.get::<Deployment>("glance").unwrap()["spec"], before);
}

#[test]
fn pools_are_unknown_when_no_check_has_ended_for_half_an_hour() {
    let mut cluster = seen(RBD);
    assert_eq!(at(&mut cluster, "00:29:00", "CephConnected").0, "True");
    check(
        &mut cluster,
        "2026-02-01T00:30:00Z",
        json!({ "stored": 1, "free": 9 }),
    );
    ended(&mut cluster, "glance-pools-2-b", "2026-02-01T00:45:00Z", "");
    assert_eq!(at(&mut cluster, "00:59:00", "CephConnected").0, "True");
    for type_ in ["CephConnected", "CapacityAvailable"] {
        let (status, _, message) = at(&mut cluster, "01:00:00", type_);
        assert_eq!(status, "Unknown");
        let expected = "no Job of CronJob glance-pools has checked the pools since 2026-02-01T00:30:00Z: `kubectl logs";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[rstest::rstest]
#[case::capacity(json!({ "stored": 84, "free": 16, "quota": 0 }), "True", "")]
#[case::nearly_full(
    json!({ "stored": 850u64 << 30, "free": 150u64 << 30, "quota": 0 }),
    "False",
    "pool images of Ceph has used 85 % of its 1000Gi: add OSDs to the storage cluster, or delete"
)]
#[case::below_its_quota(json!({ "stored": 10, "free": 990, "quota": 100 }), "True", "")]
#[case::near_its_quota(
    json!({ "stored": 90u64 << 30, "free": 910u64 << 30, "quota": 100u64 << 30 }),
    "False",
    "pool images of Ceph has used 90 % of its 100Gi: raise its quota, of a claim by quotaGB"
)]
#[case::in_a_full_ceph(
    json!({ "stored": 10u64 << 30, "free": 0, "quota": 100u64 << 30 }),
    "False",
    "pool images of Ceph has used 100 % of its 10Gi: add OSDs"
)]
#[case::on_osds_that_others_fill(
    json!({ "stored": 10u64 << 30, "free": 20u64 << 30, "quota": 100u64 << 30, "osds": 85 }),
    "False",
    "the OSDs of pool images of Ceph are 85 % full with all their pools: add OSDs"
)]
#[case::on_osds_with_capacity(
    json!({ "stored": 10, "free": 20, "quota": 0, "osds": 84 }),
    "True",
    ""
)]
#[case::on_unknown_osds(json!({ "stored": 10, "free": 20, "quota": 0, "osds": null }), "True", "")]
#[case::not_told(json!({}), "Unknown", "Ceph doesn't tell user glance how full pool images is")]
fn capacity_of_a_pool_is_reported(
    #[case] found: Value,
    #[case] expected: &str,
    #[case] says: &str,
) {
    let mut cluster = seen(RBD);
    check(&mut cluster, "2026-02-01T00:10:05Z", found);
    let (status, reason, message) = at(&mut cluster, "00:11:00", "CapacityAvailable");
    assert_eq!(status, expected, "{message}");
    assert!(message.starts_with(says), "{message}");
    if expected == "False" {
        assert_eq!(reason, "NearlyFull");
    }
}
