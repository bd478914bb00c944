//! A Tempest from its resource to results, in a small cluster in memory.

use c5c3_api::tempest::TempestSpec;
use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use provider_composer::{Custom, Operator, Resource};
use provider_openstack_fixtures::{Cluster, shown};
use provider_tempest::Tempest;
use serde_json::{Value, json};

const TEMPEST: Tempest = Tempest;

const DOCUMENT: &str = r#"
kind: Tempest
metadata: { name: tempest, namespace: openstack, uid: "1234" }
spec:
  release: "2025.2"
  schedule: "0 2 * * *"
  keystone:
    authUrl: https://keystone.openstack.svc.cluster.local:5000/v3
    appCredentialRef: { name: tempest-app-credential-secret }
  tests:
    services: [compute, image]
    includeRegex: "tempest\\.(api|scenario)"
    excludeRegex: "\n$(touch /tmp/a)'\"; [auth]\nuse_dynamic_credentials = false #$$"
  resources: { limits: { memory: 4Gi } }
  dependsOn:
    - { kind: Keystone, name: keystone, condition: Ready }
"#;

fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    credential(&mut cluster, "1f2e");
    cluster.put_document::<Custom<TempestSpec>>(DOCUMENT);
    cluster.keystone(true);
    cluster
}

fn credential(cluster: &mut Cluster, id: &str) {
    cluster.secret(
        "tempest-app-credential-secret",
        &[
            ("application_credential_id", id),
            ("application_credential_secret", "app-s3cret"),
        ],
    );
}

fn change(cluster: &mut Cluster, spec: &Value) {
    cluster.change::<Custom<TempestSpec>>("tempest", |tempest| {
        for (field, value) in spec.as_object().into_iter().flatten() {
            tempest["spec"][field] = value.clone();
        }
    });
}

fn passed(cluster: &Cluster) -> (String, String, String) {
    cluster.condition(&TEMPEST, "tempest", "TestsPassed")
}

fn scheduled(cluster: &Cluster) -> &Value {
    cluster.all::<CronJob>()["tempest-scheduled"]
}

fn status(cluster: &Cluster) -> &Value {
    &cluster.all::<Custom<TempestSpec>>()["tempest"]["status"]
}

/// The names of the Jobs that run the tests once.
fn jobs(cluster: &Cluster) -> Vec<String> {
    cluster
        .all::<Job>()
        .into_keys()
        .map(str::to_owned)
        .collect()
}

/// A pod of the CronJob, with this state of its container.
fn pod(cluster: &mut Cluster, name: &str, phase: &str, state: &Value) {
    let labels =
        &scheduled(cluster)["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"];
    let pod = json!({
        "metadata": { "labels": labels },
        "status": { "phase": phase, "containerStatuses": [{
            "name": "tempest", "image": "a", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        }] },
    });
    cluster.put::<Pod>(name, pod);
}

/// A run that ends now with this termination message.
fn ends(cluster: &mut Cluster, name: &str, message: &str) {
    cluster.wait(SignedDuration::from_mins(1));
    let finished = cluster.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let state = json!({ "terminated": { "exitCode": 0, "reason": "Completed", "finishedAt": finished, "message": message } });
    pod(cluster, name, "Succeeded", &state);
    cluster.settle(&TEMPEST, "tempest");
}

#[test]
fn all_that_tempest_is_made_of() {
    let mut cluster = given();
    let answer = cluster.settle(&TEMPEST, "tempest");
    let ready = cluster.condition(&TEMPEST, "tempest", "Ready");
    assert_eq!(ready.0, "True", "{ready:?}");
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn no_secret_is_in_a_config_map_and_no_pod_has_a_token() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    for (name, map) in cluster.all::<ConfigMap>() {
        assert!(!map.to_string().contains("s3cret"), "{name}");
    }
    let pods = cluster.all::<Job>().into_values();
    let pods = pods.map(|job| &job["spec"]["template"]["spec"]);
    let scheduled = &scheduled(&cluster)["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    for pod in pods.chain([scheduled]) {
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert!(!pod.to_string().contains("touch"), "nor what a user writes");
    }
}

#[test]
fn extra_configuration_with_a_secret_is_in_a_secret() {
    let mut cluster = given();
    change(
        &mut cluster,
        &json!({ "extraConfig": { "identity": { "admin_password": "user-s3cret" } } }),
    );
    cluster.settle(&TEMPEST, "tempest");
    let of = |name: &&str| name.starts_with("tempest-config-");
    assert_eq!(cluster.all::<ConfigMap>().into_keys().filter(of).count(), 0);
    assert_eq!(cluster.all::<Secret>().into_keys().filter(of).count(), 1);
}

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
        &json!({ "schedule": "0 3 * * *", "resources": {} }),
    );
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster), first, "the same is tested");

    for changed in [
        json!({ "release": "2026.1" }),
        json!({ "tests": { "services": ["image"] } }),
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
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "WaitingForKeystone")
    );
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
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("Unknown", "WaitingForPod")
    );
    assert_eq!(
        message,
        "waits for Pod tempest-scheduled-1-a, which runs tests"
    );

    cluster.delete::<Pod>("tempest-scheduled-1-a");
    cluster.settle(&TEMPEST, "tempest");
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
fn results_are_in_the_status() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let (status_, reason, message) = passed(&cluster);
    assert_eq!(
        (status_.as_str(), reason.as_str()),
        ("Unknown", "LookupFailed")
    );
    assert!(
        message.contains("--from=cronjob/tempest-scheduled"),
        "{message}"
    );

    let one = "tempest.api.image.v2.test_images.ListUserImagesTest.test_list_no_params";
    let report = json!({ "passed": 7, "failed": 1, "skipped": 2, "failures": [one], "cleaned": true, "seconds": 2712 });
    ends(&mut cluster, "tempest-run-a", &report.to_string());
    let (status_, reason, message) = passed(&cluster);
    assert_eq!(
        (status_.as_str(), reason.as_str()),
        ("False", "TestsFailed")
    );
    assert_eq!(
        message,
        format!(
            "1 of 10 tests failed, for instance {one}; see `kubectl logs -n openstack tempest-run-a`"
        )
    );
    assert_eq!(cluster.condition(&TEMPEST, "tempest", "Ready").0, "True");
    assert_eq!(
        cluster.condition(&TEMPEST, "tempest", "CleanedUp").0,
        "True"
    );
    let results =
        json!({ "passedTests": 7, "failedTests": 1, "skippedTests": 2, "totalTests": 10 });
    let status_ = status(&cluster);
    assert_eq!(status_["lastRun"], "2026-02-01T00:01:00Z");
    assert_eq!(status_["lastDuration"], "45m12s");
    assert_eq!(status_["results"], results);
    assert_eq!(status_["failures"], json!([one]));
    let run = json!({ "finished": "2026-02-01T00:01:00Z", "duration": "45m12s", "release": "2025.2", "results": results });
    assert_eq!(status_["history"], json!([run]));

    // It stays after its pod.
    cluster.delete::<Pod>("tempest-run-a");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(passed(&cluster).1, "TestsFailed");

    ends(
        &mut cluster,
        "tempest-run-b",
        &json!({ "passed": 10, "cleaned": false }).to_string(),
    );
    assert_eq!(passed(&cluster).0, "True");
    assert_eq!(
        cluster.condition(&TEMPEST, "tempest", "CleanedUp").1,
        "NotCleanedUp"
    );
    assert_eq!(status(&cluster)["failures"], json!(null));
    for run in 0..20 {
        ends(
            &mut cluster,
            &format!("tempest-run-{run}"),
            &json!({ "passed": run + 1 }).to_string(),
        );
    }
    let history = status(&cluster)["history"].as_array().unwrap();
    let newest = history
        .iter()
        .map(|run| run["results"]["passedTests"].as_u64());
    assert_eq!(
        newest.collect::<Vec<_>>(),
        (11..=20).rev().map(Some).collect::<Vec<_>>()
    );
}

#[test]
fn tests_of_an_earlier_spec_prove_nothing() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(
        &mut cluster,
        "tempest-run-a",
        &json!({ "passed": 10 }).to_string(),
    );
    assert_eq!(passed(&cluster).0, "True");
    change(&mut cluster, &json!({ "release": "2026.1" }));
    cluster.compose(&TEMPEST, "tempest").unwrap();
    let (status_, reason, message) = passed(&cluster);
    assert_eq!(
        (status_.as_str(), reason.as_str()),
        ("Unknown", "WaitingForJob")
    );
    assert!(
        message.starts_with("waits for Job tempest-run-"),
        "{message}"
    );
    assert_eq!(
        status(&cluster)["results"]["passedTests"],
        10,
        "the last run's"
    );
}

#[test]
fn tests_of_a_spec_that_is_back_run_again() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-a", r#"{"passed": 10}"#);
    for release in ["2026.1", "2025.2"] {
        change(&mut cluster, &json!({ "release": release }));
        cluster.compose(&TEMPEST, "tempest").unwrap();
        assert_eq!(passed(&cluster).0, "Unknown", "{release}");
    }
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-b", r#"{"passed": 10}"#);
    assert_eq!(passed(&cluster).0, "True");
}

#[test]
fn message_has_the_first_failed_tests() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let report = json!({ "failed": 4, "failures": ["a", "b", "c", "d"] });
    ends(&mut cluster, "tempest-run-a", &report.to_string());
    assert_eq!(
        passed(&cluster).2,
        "4 of 4 tests failed, for instance a, b, c; see `kubectl logs -n openstack tempest-run-a`"
    );
}

#[rstest::rstest]
#[case(
    r#"{"refused": "spec.tests.includeRegex is not a valid regular expression"}"#,
    "Invalid",
    "spec.tests.includeRegex is not a valid regular expression"
)]
#[case(
    r#"{"error": "HTTP Error 401: Unauthorized\nnext"}"#,
    "TestsNotRun",
    "the last run ended without results: HTTP Error 401: Unauthorized next; see `kubectl logs -n openstack tempest-run-a`"
)]
#[case(
    "Killed",
    "TestsNotRun",
    "the last run ended without results: its container ended with 0 (Completed); see `kubectl logs -n openstack tempest-run-a`"
)]
#[case(
    r#"{"passed": -1}"#,
    "TestsNotRun",
    "the last run ended without results: its container ended with 0 (Completed); see `kubectl logs -n openstack tempest-run-a`"
)]
fn run_without_results_is_told_with_why(
    #[case] message: &str,
    #[case] reason: &str,
    #[case] told: &str,
) {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-a", message);
    assert_eq!(
        passed(&cluster),
        ("False".to_owned(), reason.to_owned(), told.to_owned())
    );
    assert_eq!(status(&cluster)["results"], json!(null));
    assert_eq!(status(&cluster)["history"], json!(null));
}

#[test]
fn what_a_pod_says_is_bounded() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let failures = vec!["\u{1b}[31m".repeat(5000); 100];
    ends(
        &mut cluster,
        "tempest-run-a",
        &json!({ "failed": 100, "failures": failures }).to_string(),
    );
    let failures = status(&cluster)["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 20);
    for name in failures.iter().filter_map(Value::as_str) {
        assert!(name.chars().count() <= 1000 && !name.contains(char::is_control));
    }
    assert!(passed(&cluster).2.len() < 1200);
}

#[test]
fn application_credential_is_in_use_until_no_pod_has_it() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "1f2e");
    pod(
        &mut cluster,
        "tempest-scheduled-1-a",
        "Running",
        &json!({ "running": {} }),
    );
    credential(&mut cluster, "3d4c");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "1f2e");
    cluster.delete::<Pod>("tempest-scheduled-1-a");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "3d4c");
}

#[test]
fn unknown_pods_start_nothing() {
    let mut cluster = given();
    cluster.unreadable.insert(Pod::KIND);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(jobs(&cluster).len(), 0);
    assert_eq!(passed(&cluster).1, "LookupFailed");
}

#[rstest::rstest]
#[case(json!({ "schedule": "0 0 30 2 *" }), "Invalid", "schedule \"0 0 30 2 *\" is never due: write minute")]
#[case(
    json!({ "release": null, "image": { "tag": "main" } }),
    "ReleaseUnknown",
    "the image's tag main doesn't say which OpenStack release it is: give release, for instance 2025.2"
)]
#[case(
    json!({ "extraConfig": { "auth": { "use_dynamic_credentials": "false" } } }),
    "OwnedByOperator",
    "extraConfig sets [auth] use_dynamic_credentials, and the operator owns it: use nothing: each run has an administrator"
)]
#[case(
    json!({ "extraConfig": { "service_available": { "nova": "false" } } }),
    "OwnedByOperator",
    "use tests.services, and leave it out of extraConfig"
)]
#[case(
    json!({ "extraConfig": { "compute": { "image_ref": "a\u{7}" } } }),
    "InvalidConfiguration",
    "extraConfig gives [compute] image_ref a value with a control character: leave it out"
)]
fn a_mistake_is_told_with_what_to_do(
    #[case] mistake: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut cluster = given();
    change(&mut cluster, &mistake);
    let failure = cluster.compose(&TEMPEST, "tempest").err().unwrap();
    assert_eq!(failure.reason().to_string(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
}

/// A newer Tempest tests an older release.
#[test]
fn any_version_of_tempest_tests_any_release() {
    let mut cluster = given();
    change(
        &mut cluster,
        &json!({ "release": "2025.2", "image": { "tag": "47.0.0" } }),
    );
    let answer = cluster.settle(&TEMPEST, "tempest");
    let labels = answer
        .desired
        .objects
        .values()
        .map(|object| &object["metadata"]["labels"]);
    assert!(labels.clone().count() > 1);
    for labels in labels {
        assert_eq!(labels["app.kubernetes.io/version"], "2025.2");
    }
}

#[test]
fn operator_reads_pods_and_changes_none() {
    let pods = TEMPEST
        .uses()
        .into_iter()
        .filter(|used| used.kind == Pod::KIND);
    let access: Vec<_> = pods.map(|used| used.access).collect();
    assert_eq!(access, [provider_composer::Access::Reads]);
}
