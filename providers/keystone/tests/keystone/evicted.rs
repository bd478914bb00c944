//! What becomes of a Job whose pod is evicted, for instance because its node is drained.

use k8s_openapi::api::batch::v1::Job;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, job, migrating, ready, release, running};

fn spec(cluster: &Cluster, job: &str) -> Value {
    let job = cluster.get::<Job>(job);
    job.map_or(Value::Null, |job| job["spec"].clone())
}

#[test]
fn migration_has_two_hours_to_end_and_no_second_pod_before() {
    let (cluster, sync) = migrating().unwrap();
    let migration = spec(&cluster, &sync);
    assert_eq!(migration["podReplacementPolicy"], "Failed");
    let pod = &migration["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 7200);
    assert!(
        pod["shareProcessNamespace"].is_null(),
        "only process 1 ignores SIGTERM"
    );
    let annotations = &migration["template"]["metadata"]["annotations"];
    assert_eq!(
        annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"],
        "false"
    );
}

#[test]
fn job_that_migrates_nothing_has_no_second_pod_either_and_ends_soon() {
    let cluster = running(MANAGED);
    let bootstrap = spec(&cluster, &job(&cluster, "bootstrap"));
    assert_eq!(bootstrap["podReplacementPolicy"], "Failed");
    let template = &bootstrap["template"];
    assert!(template["spec"]["terminationGracePeriodSeconds"].is_null());
    assert!(template["metadata"]["annotations"].is_null());
}

/// Kubernetes counts a pod that terminates as neither active nor ready.
#[test]
fn migration_whose_pod_terminates_is_not_replaced_by_another() {
    let (mut cluster, sync) = migrating().unwrap();
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 0, "ready": 0, "terminating": 1 });
    });
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        cluster.all::<Job>().into_keys().collect::<Vec<_>>(),
        [sync.as_str()]
    );
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "WaitingForJob");
    let expected = format!(
        "waits for Job {sync}, whose pod terminates: `kubectl get pods -n openstack -l job-name={sync} -o wide` shows its node"
    );
    assert!(message.starts_with(&expected), "{message}");

    cluster.change::<Job>(&sync, |job| job["status"]["terminating"] = json!(0));
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(!cluster.all::<Job>().contains_key(sync.as_str()));
}

/// A Job's name changes with every field of its spec.
#[test]
fn migration_that_an_earlier_operator_has_done_is_not_repeated() {
    let mut cluster = running(MANAGED);
    let sync = job(&cluster, "db-sync");
    let mut earlier = cluster.get::<Job>(&sync).unwrap().clone();
    let fields = earlier["spec"].as_object_mut().unwrap();
    fields.remove("podReplacementPolicy").unwrap();
    cluster.delete::<Job>(&sync);
    cluster.put::<Job>("keystone-db-sync-00000000", earlier);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    let mut names: Vec<&str> = cluster.all::<Job>().into_keys().collect();
    names.retain(|name| name.starts_with("keystone-db-sync-"));
    assert_eq!(names, ["keystone-db-sync-00000000"]);
}
