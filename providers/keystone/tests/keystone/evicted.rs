//! What becomes of a Job whose pod is evicted, for instance because its node is drained.

use k8s_openapi::api::batch::v1::Job;
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::stage::{KEYSTONE, MANAGED, given, job, release};

/// A Keystone whose database is migrated for the first time, and the name of that Job.
fn migrating() -> (Cluster, String) {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.simulate();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let sync = job(&cluster, "db-sync");
    (cluster, sync)
}

/// Kubernetes counts a pod that terminates as neither active nor ready.
#[test]
fn migration_whose_pod_terminates_is_not_replaced_by_another() {
    let (mut cluster, sync) = migrating();
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
