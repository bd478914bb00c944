//! Results of runs in the status and its conditions.

use super::*;

#[test]
fn results_are_in_the_status() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let (status_, reason, message) = passed(&cluster);
    assert_eq!((&*status_, &*reason), ("Unknown", "LookupFailed"));
    assert!(
        message.contains("--from=cronjob/tempest-scheduled"),
        "{message}"
    );

    let one = "tempest.api.image.v2.test_images.ListUserImagesTest.test_list_no_params";
    let (class, skipped) = (
        "setUpClass (tempest.api.network.A)",
        "tempest.api.image.v2.B.c",
    );
    let report = json!({
        "passed": 7, "failed": 1, "skipped": 2, "failures": [one], "skips": [class, skipped], "cleaned": true, "left": [],
        "seconds": 2712,
    });
    ends(&mut cluster, "tempest-run-a", &report.to_string());
    let (status_, reason, message) = passed(&cluster);
    assert_eq!((&*status_, &*reason), ("False", "TestsFailed"));
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
    assert_eq!(status_["skipped"], json!([class, skipped]));
    let run = json!({ "finished": "2026-02-01T00:01:00Z", "duration": "45m12s", "release": "2025.2", "results": results });
    assert_eq!(status_["history"], json!([run]));

    // It stays after its pod.
    cluster.delete::<Pod>("tempest-run-a");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(passed(&cluster).1, "TestsFailed");

    ends(&mut cluster, "tempest-run-b", r#"{"passed": 10}"#);
    assert_eq!(passed(&cluster).0, "True");
    assert_eq!(status(&cluster)["failures"], json!(null));
    assert_eq!(status(&cluster)["skipped"], json!(null));
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
    assert_eq!((&*status_, &*reason), ("Unknown", "WaitingForJob"));
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
fn run_without_results_says_what_it_left() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(
        &mut cluster,
        "tempest-run-a",
        r#"{"passed": 10, "cleaned": true}"#,
    );
    let report = r#"{"error": "timed out", "cleaned": false, "left": ["server a"]}"#;
    ends(&mut cluster, "tempest-run-b", report);
    assert_eq!(passed(&cluster).1, "TestsNotRun");
    let (status_, _, message) = cluster.condition(&TEMPEST, "tempest", "CleanedUp");
    assert_eq!(status_, "False");
    assert!(
        message.starts_with("the last run could not delete server a of the domain"),
        "{message}"
    );

    // A run that creates nothing doesn't say.
    ends(&mut cluster, "tempest-run-c", r#"{"error": "timed out"}"#);
    let later = cluster.condition(&TEMPEST, "tempest", "CleanedUp");
    assert_eq!((later.0.as_str(), later.2), ("False", message));
}

#[rstest::rstest]
#[case::all(
    r#"{"skipped": 12, "cleaned": true}"#,
    "12 of 12 tests were skipped: none shows that a service works, so correct the reasons in the log, or choose other tests; see \
     `kubectl logs -n openstack tempest-run-a`"
)]
#[case::for_lack_of_a_network(
    r#"{"passed": 80, "skipped": 7, "lacking": "the cloud has no\nexternal network: create one"}"#,
    "7 of 87 tests were skipped: the cloud has no external network: create one; see `kubectl logs -n openstack tempest-run-a`"
)]
fn run_whose_tests_were_skipped_has_not_passed(#[case] report: &str, #[case] told: &str) {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-a", report);
    let (status_, reason, message) = passed(&cluster);
    assert_eq!(
        (status_.as_str(), reason.as_str(), message.as_str()),
        ("False", "TestsSkipped", told)
    );
    assert!(status(&cluster)["results"]["skippedTests"].as_u64() > Some(0));
}

#[rstest::rstest]
#[case::some_were_skipped(r#"{"passed": 80, "skipped": 7, "lacking": null}"#)]
#[case::none_needed_the_network(
    r#"{"passed": 80, "lacking": "the cloud has no external network"}"#
)]
fn run_with_passed_tests_has_passed(#[case] report: &str) {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-a", report);
    assert_eq!(passed(&cluster).0, "True");
}

#[test]
fn failed_tests_count_more_than_skipped_ones() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let report = r#"{"failed": 1, "skipped": 7, "failures": ["a"], "lacking": "the cloud has no external network"}"#;
    ends(&mut cluster, "tempest-run-a", report);
    assert_eq!(passed(&cluster).1, "TestsFailed");
}

#[rstest::rstest]
#[case::named(
    r#"{"passed": 10, "cleaned": false, "left": ["server tempest-9359c282-a", "port\n1"]}"#,
    "server tempest-9359c282-a, port 1"
)]
#[case::of_an_earlier_version(r#"{"passed": 10, "cleaned": false}"#, "something")]
fn run_that_left_something_has_not_passed(#[case] report: &str, #[case] left: &str) {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    ends(&mut cluster, "tempest-run-a", report);
    let (status_, reason, message) = passed(&cluster);
    assert_eq!((&*status_, &*reason), ("False", "NotCleanedUp"));
    let logs = "see `kubectl logs -n openstack tempest-run-a`";
    assert_eq!(
        message,
        format!("10 of 10 tests passed and none failed, but the run left {left}; {logs}")
    );
    let (status_, reason, message) = cluster.condition(&TEMPEST, "tempest", "CleanedUp");
    assert_eq!((&*status_, &*reason), ("False", "NotCleanedUp"));
    let of = "of the domain tempest-9359c282; the next one tries again";
    assert_eq!(
        message,
        format!("the last run could not delete {left} {of}; {logs}")
    );
    assert_eq!(cluster.condition(&TEMPEST, "tempest", "Ready").0, "True");

    ends(
        &mut cluster,
        "tempest-run-b",
        r#"{"passed": 10, "cleaned": true}"#,
    );
    assert_eq!(passed(&cluster).0, "True");
    assert_eq!(
        cluster.condition(&TEMPEST, "tempest", "CleanedUp").0,
        "True"
    );
}

#[test]
fn failed_tests_count_more_than_what_is_left() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let report = r#"{"failed": 1, "failures": ["a"], "cleaned": false, "left": ["server a"]}"#;
    ends(&mut cluster, "tempest-run-a", report);
    assert_eq!(passed(&cluster).1, "TestsFailed");
}

#[test]
fn what_a_pod_says_is_bounded() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    let failures = vec!["\u{1b}[31m".repeat(5000); 100];
    ends(
        &mut cluster,
        "tempest-run-a",
        &json!({ "failed": 100, "failures": failures, "skips": failures, "left": failures, "cleaned": false }).to_string(),
    );
    for field in ["failures", "skipped"] {
        let names = status(&cluster)[field].as_array().unwrap();
        assert_eq!(names.len(), 20, "{field}");
        for name in names.iter().filter_map(Value::as_str) {
            assert!(name.chars().count() <= 1000 && !name.contains(char::is_control));
        }
    }
    for condition in ["TestsPassed", "CleanedUp"] {
        let (.., message) = cluster.condition(&TEMPEST, "tempest", condition);
        assert!(message.len() < 1200, "{condition}");
    }
}
