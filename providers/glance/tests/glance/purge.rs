//! The CronJob that purges rows that Glance has marked as deleted, and what Glance says of its Jobs.

use c5c3_api::glance::GlanceSpec;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{FILE, GLANCE, given};

const PURGE: &str = "glance-purge";

fn settled(deleted_rows: Value) -> Cluster {
    let mut cluster = given(FILE);
    change(&mut cluster, deleted_rows);
    cluster
}

fn change(cluster: &mut Cluster, deleted_rows: Value) {
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["deletedRows"] = deleted_rows;
    });
    cluster.settle(&GLANCE, "glance");
}

fn purged(cluster: &mut Cluster) -> (String, String, String) {
    cluster.settle(&GLANCE, "glance");
    cluster.condition(&GLANCE, "glance", "DeletedRowsPurged")
}

/// What the script is called with.
fn arguments(cluster: &Cluster) -> Vec<String> {
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let words = pod["containers"][0]["command"].as_array().unwrap();
    assert_eq!(words[..2], ["python3", "-c"]);
    let words = words[3..].iter().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

#[test]
fn rows_of_images_stay_unless_the_spec_has_days_for_them() {
    let file = "/etc/glance/config/glance-api.conf";
    let mut cluster = settled(json!({}));
    assert_eq!(arguments(&cluster), [file, "90:(?!images$).*"]);
    change(&mut cluster, json!({ "purgeImagesAfterDays": 3650 }));
    let expected = [file, "90:(?!images$).*", "3650:images"];
    assert_eq!(arguments(&cluster), expected);
}

#[test]
fn purge_has_the_schedule_and_the_age_of_the_spec() {
    let cluster = settled(json!({ "schedule": "30 3 * * 6", "purgeAfterDays": 7 }));
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    assert_eq!(job["spec"]["schedule"], "30 3 * * 6");
    assert_eq!(job["spec"]["concurrencyPolicy"], "Forbid");
    assert_eq!(arguments(&cluster)[1], "7:(?!images$).*");
}

#[test]
fn purge_whose_pod_is_evicted_has_no_second_pod_before_it_has_ended() {
    let cluster = settled(json!({}));
    let job = cluster.get::<CronJob>(PURGE).unwrap();
    let spec = &job["spec"]["jobTemplate"]["spec"];
    assert_eq!(spec["podReplacementPolicy"], "Failed");
    assert!(spec["template"]["spec"]["terminationGracePeriodSeconds"].is_null());
}

#[test]
fn purge_that_is_off_is_deleted_and_says_nothing() {
    let mut cluster = settled(json!({}));
    assert!(cluster.get::<CronJob>(PURGE).is_some());
    change(&mut cluster, json!({ "enabled": false }));
    assert!(cluster.get::<CronJob>(PURGE).is_none());
    let glance = cluster.get::<Custom<GlanceSpec>>("glance").unwrap();
    let conditions = glance["status"]["conditions"].as_array().unwrap();
    let mut types = conditions.iter().map(|condition| &condition["type"]);
    assert!(types.all(|type_| type_ != "DeletedRowsPurged"));
}

#[test]
fn purge_stays_while_a_secret_is_missing() {
    let mut cluster = settled(json!({}));
    cluster.delete::<Secret>("glance-keystone-credentials");
    cluster.compose(&GLANCE, "glance").unwrap();
    assert!(cluster.get::<CronJob>(PURGE).is_some());
}

#[test]
fn purge_schedule_that_is_never_due_is_refused() {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["deletedRows"] = json!({ "schedule": "0 2 31 2 *" });
    });
    let refused = cluster.compose(&GLANCE, "glance").err().unwrap();
    let says = "deletedRows.schedule \"0 2 31 2 *\" is never due: write";
    assert!(refused.to_string().starts_with(says), "{refused}");
}

/// The cluster begins on the first of February 2026. The purge is due at two o'clock every night.
#[rstest::rstest]
#[case::waits_for_the_first(json!({}), "2026-02-01T01:00:00Z", "Unknown")]
#[case::runs_for_the_first_time(
    json!({ "lastScheduleTime": "2026-02-01T02:00:00Z", "active": [{ "name": "glance-purge-1" }] }),
    "2026-02-01T02:01:00Z",
    "Unknown"
)]
#[case::failed(json!({ "lastScheduleTime": "2026-02-01T02:00:00Z" }), "2026-02-01T03:00:00Z", "False")]
#[case::succeeded(
    json!({ "lastScheduleTime": "2026-02-01T02:00:00Z", "lastSuccessfulTime": "2026-02-01T02:03:00Z" }),
    "2026-02-01T03:00:00Z",
    "True"
)]
#[case::runs_again(
    json!({
        "lastScheduleTime": "2026-02-02T02:00:00Z",
        "lastSuccessfulTime": "2026-02-01T02:03:00Z",
        "active": [{ "name": "glance-purge-2" }],
    }),
    "2026-02-02T02:01:00Z",
    "True"
)]
#[case::failed_after_a_success(
    json!({ "lastScheduleTime": "2026-02-02T02:00:00Z", "lastSuccessfulTime": "2026-02-01T02:03:00Z" }),
    "2026-02-02T03:00:00Z",
    "False"
)]
#[case::is_overdue(
    json!({ "lastScheduleTime": "2026-02-01T02:00:00Z", "lastSuccessfulTime": "2026-02-01T02:03:00Z" }),
    "2026-02-03T02:00:00Z",
    "False"
)]
#[case::never_ran(json!({}), "2026-02-02T02:00:00Z", "False")]
fn purge_is_reported_by_its_last_job(
    #[case] status: Value,
    #[case] now: &str,
    #[case] expected: &str,
) {
    let mut cluster = settled(json!({}));
    cluster.change::<CronJob>(PURGE, |job| job["status"] = status);
    cluster.wait_until(now.parse().unwrap());
    let (found, reason, message) = purged(&mut cluster);
    assert_eq!(found, expected, "{message}");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
    if expected == "False" {
        assert_eq!(reason, "JobFailing");
        for part in [
            "no Job of CronJob glance-purge has succeeded",
            "`kubectl logs -n openstack -l app.kubernetes.io/name=glance,c5c3.io/task=purge --tail=-1`",
            "`kubectl create job -n openstack --from=cronjob/glance-purge glance-purge-now`",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
