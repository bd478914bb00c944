//! Backends, their members and the keys of Ceph.

use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Pod;

use super::*;

#[test]
fn backend_has_members_with_its_own_key_only() {
    let cluster = running();
    let pod = members(&cluster, "cinder-st-pool-b-volume");
    assert_eq!(
        cluster
            .get::<StatefulSet>("cinder-st-pool-b-volume")
            .unwrap()["spec"]["replicas"],
        2
    );
    let env = pod["containers"][0]["env"].as_array().unwrap();
    let host = json!({
        "name": "OS_DEFAULT__HOST",
        "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } },
    });
    assert!(env.contains(&host), "{env:?}");
    let shared = section(&cluster, &pod, "DEFAULT");
    for line in ["cluster = cinder", "enabled_backends = st-pool-b"] {
        assert!(shared.lines().any(|own| own == line), "{shared}");
    }
    assert_eq!(section(&cluster, &pod, "st-pool-a"), "");
    assert_eq!(
        file(&cluster, &pod, "st-pool-b.client.cinder-b.keyring").as_deref(),
        Some("[client.cinder-b]\n\tkey = cinder-b-s3cret\n")
    );
    assert_eq!(
        file(&cluster, &pod, "st-pool-b.conf").as_deref(),
        Some(
            "[global]\nmon_host = ceph-cinder-st-pool-b\n\n[client.cinder-b]\nkeyring = \
             /etc/ceph/st-pool-b.client.cinder-b.keyring\n"
        )
    );
    assert_eq!(
        file(&cluster, &pod, "st-pool-a.client.cinder-a.keyring"),
        None
    );
    // Backups read the volumes of all backends.
    let backup = members(&cluster, "cinder-backup");
    for name in [
        "st-pool-a.client.cinder-a.keyring",
        "st-pool-b.client.cinder-b.keyring",
        "_backup.keyring",
    ] {
        assert!(file(&cluster, &backup, name).is_some(), "{name}");
    }
}

#[test]
fn backend_without_a_key_leaves_the_others_alone() {
    let mut cluster = given();
    cluster.delete::<Secret>("ceph-cinder-st-pool-b");
    cluster.settle(&CINDER, "cinder");
    let waits = "waits for Secret ceph-cinder-st-pool-b with Ceph's configuration and key";
    let expected = format!("st-pool-a: Ready; st-pool-b: {waits}; backup: Ready");
    let unready = |message: &str| {
        let reason = "WaitingForSecret".to_owned();
        ("False".to_owned(), reason, message.to_owned())
    };
    assert_eq!(condition(&cluster, "CephConnected"), unready(&expected));
    assert_eq!(condition(&cluster, "VolumeReady"), unready(waits));
    let backends = &cluster.get::<Custom<CinderSpec>>("cinder").unwrap()["status"]["backends"];
    assert_eq!(backends[0]["status"], "Ready");
    assert_eq!(backends[1]["status"], waits);
    let volumes = cluster.all::<StatefulSet>();
    assert!(volumes.contains_key("cinder-st-pool-a-volume"));
    assert!(!volumes.contains_key("cinder-st-pool-b-volume"));
    // Backups would lack the key of some volumes.
    assert!(!volumes.contains_key("cinder-backup"));
    assert_eq!(condition(&cluster, "APIReady"), ready());
    assert_eq!(hypervisor_keys(&cluster), ["cinder-a-s3cret"]);
}

#[test]
fn hypervisors_keep_the_keys_of_volumes_that_servers_may_have() {
    let mut cluster = running();
    let secret = cluster.get::<Secret>("cinder-compute").unwrap();
    assert_eq!(secret["metadata"]["labels"]["c5c3.io/agents"], "cinder");
    let both = ["cinder-a-s3cret", "cinder-b-s3cret"];
    assert_eq!(hypervisor_keys(&cluster), both);
    cluster.delete::<Secret>("ceph-cinder-st-pool-b");
    cluster.settle(&CINDER, "cinder");
    assert_eq!(hypervisor_keys(&cluster), both);
    // libvirt finds the key of each backend under the UUID that Cinder tells Nova.
    let status = &cluster.get::<Custom<CinderSpec>>("cinder").unwrap()["status"]["backends"];
    let uuid = status[0]["secretUuid"].as_str().unwrap();
    let key = cluster.value("cinder-compute", &format!("ceph-key-{uuid}"));
    assert_eq!(key.as_deref(), Some("cinder-a-s3cret"));
    change(&mut cluster, |cinder| {
        let backends = cinder["spec"]["backends"].as_array_mut();
        backends.unwrap().truncate(1);
    });
    assert_eq!(hypervisor_keys(&cluster), both);
}

#[test]
fn key_that_disappears_leaves_members_running() {
    let mut cluster = running();
    let before = members(&cluster, "cinder-st-pool-b-volume");
    cluster.delete::<Secret>("ceph-cinder-st-pool-b");
    cluster.settle(&CINDER, "cinder");
    assert_eq!(members(&cluster, "cinder-st-pool-b-volume"), before);
    assert!(file(&cluster, &before, "cinder.conf").is_some());
}

#[rstest::rstest]
#[case::keyring(
    &[("userID", "a"), ("keyring", "[client.a]\n"), ("ceph.conf", "[global]\n")],
    "the keyring in Secret ceph-cinder-st-pool-a has no key: put in what `ceph auth get client.a` prints"
)]
#[case::user(
    &[("userID", "a b"), ("keyring", "[client.a b]\nkey = a\n"), ("ceph.conf", "[global]\n")],
    "Ceph's user is a b: choose one of letters, digits, -, _ and ."
)]
fn invalid_key_is_refused(#[case] values: &[(&str, &str)], #[case] message: &str) {
    let mut cluster = given();
    cluster.secret("ceph-cinder-st-pool-a", values);
    cluster.settle(&CINDER, "cinder");
    let (status, reason, said) = condition(&cluster, "CephConnected");
    assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
    assert_eq!(
        said,
        format!("st-pool-a: {message}; st-pool-b: Ready; backup: Ready")
    );
}

#[test]
fn cinder_without_a_backend_runs_and_says_so() {
    let mut cluster = running();
    change(&mut cluster, |cinder| {
        cinder["spec"]["backends"] = json!([]);
        cinder["spec"]["backup"] = Value::Null;
    });
    let (status, reason, _) = condition(&cluster, "VolumeReady");
    assert_eq!((&*status, &*reason), ("False", "NoBackends"));
    assert_eq!(condition(&cluster, "Ready"), ready());
    let sets = cluster.all::<StatefulSet>().into_keys();
    assert_eq!(sets.filter(|name| name.starts_with("cinder")).count(), 0);
}

#[test]
fn option_of_a_backend_is_in_its_section() {
    let mut cluster = running();
    change(&mut cluster, |cinder| {
        cinder["spec"]["backends"][0]["options"] =
            json!({ "rbd_flatten_volume_from_snapshot": "true" });
        cinder["spec"]["backends"][0]["secretUuid"] = json!("6f1d0c3a-51a8-4c9e-9d53-2a7f5f0f6a11");
    });
    let pod = members(&cluster, "cinder-st-pool-a-volume");
    let own = section(&cluster, &pod, "st-pool-a");
    for line in [
        "rbd_flatten_volume_from_snapshot = true",
        "rbd_secret_uuid = 6f1d0c3a-51a8-4c9e-9d53-2a7f5f0f6a11",
    ] {
        assert!(own.lines().any(|other| other == line), "{own}");
    }
}

#[test]
fn pool_that_is_lost_is_reported_of_its_backend_alone() {
    let mut cluster = running();
    let job = cluster.get::<CronJob>("cinder-pools").unwrap();
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let pools = pod["containers"][0]["env"][0]["value"].as_str().unwrap();
    let mut found: Value = serde_json::from_str(pools).unwrap();
    let users = found.as_array().unwrap().iter().map(|pool| &pool["user"]);
    assert_eq!(Vec::from_iter(users), ["cinder-a", "cinder-b", "backup"]);
    found[1]["error"] = json!("TimedOut: error connecting to the cluster");
    cluster.put::<Pod>(
        "cinder-pools-1-a",
        json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "cinder", "c5c3.io/task": "pools" } },
            "status": { "containerStatuses": [{
                "name": "cinder", "image": "cinder", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": {
                    "exitCode": 0, "finishedAt": "2026-02-01T00:10:00Z", "message": found.to_string(),
                } },
            }] },
        }),
    );
    cluster.settle(&CINDER, "cinder");
    let lost =
        "user cinder-b doesn't reach pool volumes of Ceph since 2026-02-01T00:10:00Z: TimedOut";
    let (status, reason, message) = condition(&cluster, "CephConnected");
    assert_eq!((&*status, &*reason), ("False", "CephUnreachable"));
    let expected = format!("st-pool-a: Ready; st-pool-b: {lost}");
    assert!(message.starts_with(&expected), "{message}");
    assert!(message.ends_with("; backup: Ready"), "{message}");
    let backends = &cluster.get::<Custom<CinderSpec>>("cinder").unwrap()["status"]["backends"];
    assert_eq!(backends[0]["status"], "Ready");
    let status = backends[1]["status"].as_str().unwrap();
    assert!(status.starts_with(lost), "{status}");
    assert_eq!(condition(&cluster, "Ready"), ready());
}
