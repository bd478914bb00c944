//! When tests run: once for each change, by the schedule, and never twice at once.

use super::*;

#[test]
fn tests_run_once_for_what_is_tested() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let first = jobs(&cluster);
    assert_eq!(first.len(), 1);
    cluster.wait(SignedDuration::from_hours(100));
    cluster.settle(&TEMPEST, "tempest");
    change(
        &mut cluster,
        &json!({ "schedule": "0 3 * * *", "resources": {}, "logs": {} }),
    );
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster), first, "the same is tested");

    for changed in [
        json!({ "release": "2026.1" }),
        json!({ "tests": { "services": ["image"] } }),
        json!({ "externalNetwork": "internet" }),
        json!({ "extraConfig": { "compute": { "build_timeout": "600" } } }),
    ] {
        let before = jobs(&cluster);
        change(&mut cluster, &changed);
        cluster.settle(&TEMPEST, "tempest");
        let after = jobs(&cluster);
        assert!(after.len() == 1 && after != before, "{changed}: {after:?}");
    }
}

#[test]
fn tests_wait_for_dependencies() {
    let mut cluster = given();
    cluster.keystone(false);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster).len(), 0);
    assert_eq!(scheduled(&cluster)["spec"]["suspend"], true);
    let (status, reason, message) = cluster.condition(&TEMPEST, "tempest", "Ready");
    assert_eq!((&*status, &*reason), ("False", "WaitingForKeystone"));
    assert_eq!(message, "waits for Keystone keystone to be Ready");

    cluster.keystone(true);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster).len(), 1);
    assert_eq!(scheduled(&cluster)["spec"]["suspend"], json!(null));
}

#[test]
fn suspended_schedule_leaves_one_run_for_each_change() {
    let mut cluster = given();
    change(&mut cluster, &json!({ "suspend": true }));
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(scheduled(&cluster)["spec"]["suspend"], true);
    let first = jobs(&cluster);
    assert_eq!(first.len(), 1);
    change(&mut cluster, &json!({ "release": "2026.1" }));
    cluster.settle(&TEMPEST, "tempest");
    assert_ne!(jobs(&cluster), first);
    change(&mut cluster, &json!({ "suspend": false }));
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(scheduled(&cluster)["spec"]["suspend"], json!(null));
}

/// The next run deletes what the deleted one left.
#[test]
fn deleted_job_runs_again() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let first = jobs(&cluster);
    cluster.delete::<Job>(&first[0]);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster), first);
}

#[test]
fn two_runs_never_overlap() {
    let mut cluster = given();
    cluster.compose(&TEMPEST, "tempest").unwrap();
    assert_eq!(
        scheduled(&cluster)["spec"]["suspend"],
        true,
        "while the first runs"
    );
    cluster.settle(&TEMPEST, "tempest");
    pod(
        &mut cluster,
        "tempest-scheduled-1-a",
        "Running",
        &json!({ "running": {} }),
    );
    change(&mut cluster, &json!({ "release": "2026.1" }));
    cluster.settle(&TEMPEST, "tempest");
    let (status, reason, message) = passed(&cluster);
    assert_eq!((&*status, &*reason), ("Unknown", "WaitingForPod"));
    assert_eq!(
        message,
        "waits for Pod tempest-scheduled-1-a, which runs tests"
    );

    cluster.delete::<Pod>("tempest-scheduled-1-a");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster).len(), 1);
}

/// Between two tries a Job has no pod that runs. The next one mounts the files that the Job began with, and must not meet another run.
#[test]
fn run_of_the_schedule_that_is_tried_again_keeps_its_files_and_delays_others() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let files = |cluster: &Cluster| -> Vec<String> {
        let maps = cluster.all::<ConfigMap>().into_keys();
        let maps = maps.filter(|name| name.starts_with("tempest-config-"));
        maps.map(str::to_owned).collect()
    };
    let before = files(&cluster);
    assert_eq!(before.len(), 1);
    let report = |cluster: &mut Cluster, active: Value| {
        cluster.change::<CronJob>("tempest-scheduled", |job| {
            job["status"] = json!({ "active": active });
        });
    };
    report(&mut cluster, json!([{ "name": "tempest-scheduled-1" }]));
    change(&mut cluster, &json!({ "tests": { "services": ["image"] } }));
    cluster.settle(&TEMPEST, "tempest");
    assert!(files(&cluster).contains(&before[0]));
    let (_, reason, message) = passed(&cluster);
    assert_eq!(reason, "WaitingForJob");
    assert_eq!(
        message,
        "waits until no Job of CronJob tempest-scheduled runs or is tried again"
    );

    report(&mut cluster, json!([]));
    cluster.settle(&TEMPEST, "tempest");
    assert!(!files(&cluster).contains(&before[0]));
    assert_eq!(jobs(&cluster).len(), 1);
}

#[test]
fn missing_credential_keeps_the_schedule() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let before = (
        scheduled(&cluster).clone(),
        jobs(&cluster),
        cluster.all::<ConfigMap>().len(),
    );
    cluster.delete::<Secret>("tempest-app-credential-secret");
    cluster.settle(&TEMPEST, "tempest");
    let after = (
        scheduled(&cluster).clone(),
        jobs(&cluster),
        cluster.all::<ConfigMap>().len(),
    );
    assert_eq!(after, before);
    let (_, reason, message) = cluster.condition(&TEMPEST, "tempest", "Ready");
    assert_eq!(reason, "WaitingForSecret");
    assert_eq!(
        message,
        "waits for Secret tempest-app-credential-secret with the application credential"
    );
}

#[test]
fn unknown_pods_start_nothing() {
    let mut cluster = given();
    cluster.set_readable(Pod::KIND, false);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster).len(), 0);
    assert_eq!(passed(&cluster).1, "LookupFailed");
}
