//! What is observed of the pool in Ceph with disks of servers.

use c5c3_api::nova::NovaSpec;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, change, given, job};

/// A Nova whose servers have disks in Ceph.
fn in_ceph() -> Cluster {
    let mut cluster = given();
    cluster.secret(
        "ceph",
        &[
            ("userID", "prod-nova"),
            ("keyring", "[client.prod-nova]\n\tkey = AQ==\n"),
            ("ceph.conf", "[global]\nmon_host = 192.0.2.1\n"),
        ],
    );
    change(&mut cluster, |spec| {
        spec["ephemeral"] =
            json!({ "pool": "prod-ephemeral", "cephSecretRef": { "name": "ceph" } });
    });
    cluster.settle(&NOVA, "nova");
    cluster
}

/// Ceph refuses writes to a pool at its quota, and servers lose the writes to their disks.
#[test]
fn pool_with_disks_of_servers_is_reported_before_it_is_full() {
    let mut cluster = in_ceph();
    assert_eq!(cluster.condition(&NOVA, "nova", "CephConnected").0, "True");
    let check = cluster.get::<CronJob>("nova-pools").unwrap();
    let pod = &check["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let pools = pod["containers"][0]["env"][0]["value"].as_str().unwrap();
    let pools: Value = serde_json::from_str(pools).unwrap();
    assert_eq!(pools[0]["pool"], "prod-ephemeral");
    let found = json!([{
        "id": pools[0]["id"], "stored": 90u64 << 30, "free": 910u64 << 30, "quota": 100u64 << 30,
    }]);
    let finished = "2026-02-01T00:10:05Z";
    cluster.put::<Pod>(
        "nova-pools-1-a",
        json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "nova", "c5c3.io/task": "pools" } },
            "status": { "containerStatuses": [{
                "name": "nova", "image": "nova", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": 0, "finishedAt": finished, "message": found.to_string() } },
            }] },
        }),
    );
    cluster.change::<CronJob>("nova-pools", |check| {
        check["status"] = json!({ "lastSuccessfulTime": finished });
    });
    cluster.wait_until("2026-02-01T00:11:00Z".parse().unwrap());
    cluster.settle(&NOVA, "nova");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "CapacityAvailable");
    assert_eq!((&*status, &*reason), ("False", "NearlyFull"));
    let says = "pool prod-ephemeral of Ceph has used 90 % of its 100Gi: raise its quota";
    assert!(message.starts_with(says), "{message}");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

/// A Nova of an earlier version has had no check.
#[test]
fn nova_stays_ready_while_its_pool_is_first_checked() {
    let mut cluster = in_ceph();
    let first = job(&cluster, "ceph");
    cluster.delete::<Job>(&first);
    cluster.compose(&NOVA, "nova").unwrap();
    let nova = cluster.get::<Custom<NovaSpec>>("nova").unwrap();
    let conditions = nova["status"]["conditions"].to_string();
    assert!(!conditions.contains("CephConnected"), "{conditions}");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}
