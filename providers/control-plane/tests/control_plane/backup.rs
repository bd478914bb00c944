//! Backups of MariaDB.

use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use provider_composer::{Key, ResourceKind};
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const BACKUP: ResourceKind =
    ResourceKind::namespaced("k8s.mariadb.com", "v1alpha1", "Backup", "backups");

/// A control plane that runs, with backups.
fn running(backup: Value) -> Stage {
    Stage::running(json!({ "openStackRelease": "2025.2", "backup": backup }))
}

fn backups(stage: &Stage) -> Vec<(&Key, &Value)> {
    let objects = stage.cluster.objects().iter();
    let backups = objects.filter(|(key, _)| key.kind == BACKUP);
    backups.map(|(key, object)| (key, &**object)).collect()
}

fn claim() -> Key {
    Key::of::<PersistentVolumeClaim>(NAMESPACE, "openstack-db-backup")
}

#[test]
fn backup_is_kept_on_a_volume_that_outlasts_the_control_plane() {
    let mut stage = running(json!({ "keepDays": 30, "storage": { "storageClass": "archive" } }));
    let [(_, backup)] = backups(&stage)[..] else {
        panic!("not one backup");
    };
    insta::assert_yaml_snapshot!(backup["spec"]);
    let volume = &stage.cluster.get(&claim()).unwrap()["spec"];
    assert_eq!(volume["resources"]["requests"]["storage"], "100Gi");
    assert_eq!(volume["storageClassName"], "archive");

    stage.cluster.delete(&stage.key.clone());
    stage.simulate();
    assert!(backups(&stage).is_empty());
    assert!(stage.cluster.get(&claim()).is_some(), "data is lost");
}

#[test]
fn backup_is_kept_in_a_folder_of_its_own_in_a_bucket() {
    let s3 = json!({
        "endpoint": "https://192.0.2.7:9000", "bucket": "backups", "secretRef": { "name": "keys" },
        "caSecretRef": { "name": "authority" },
    });
    let stage = running(json!({ "s3": s3 }));
    let [(_, backup)] = backups(&stage)[..] else {
        panic!("not one backup");
    };
    let uid = &stage.cluster.get(&stage.key).unwrap()["metadata"]["uid"];
    let uid = uid.as_str().unwrap();
    assert!(!uid.is_empty());
    assert_eq!(
        backup["spec"]["storage"],
        json!({ "s3": {
            "bucket": "backups",
            "endpoint": "192.0.2.7:9000",
            "prefix": format!("openstack/{uid}"),
            "accessKeyIdSecretKeyRef": { "name": "keys", "key": "accessKey" },
            "secretAccessKeySecretKeyRef": { "name": "keys", "key": "secretKey" },
            "tls": { "enabled": true, "caSecretKeyRef": { "name": "authority", "key": "ca.crt" } },
        }})
    );
    assert!(stage.cluster.get(&claim()).is_none());
    let policy = stage.cluster.objects().iter();
    let mut policy = policy.filter(|(key, _)| key.name == "connections-openstack-db");
    let egress = policy.next().unwrap().1["spec"]["egress"].to_string();
    assert!(egress.contains("192.0.2.7/32") && egress.contains("9000"));
}

#[test]
fn backup_is_replaced_when_a_field_changes_that_the_operator_would_refuse() {
    let mut stage = running(json!({}));
    let before = backups(&stage)[0].0.clone();
    stage.want(|spec| spec["backup"]["keepDays"] = json!(7));
    stage.simulate();
    let [(after, backup)] = backups(&stage)[..] else {
        panic!("not one backup");
    };
    assert_ne!(before, *after);
    assert_eq!(backup["spec"]["maxRetention"], "168h");
    assert!(stage.cluster.get(&claim()).is_some());
}

#[test]
fn backup_that_does_not_succeed_for_an_interval_is_reported() {
    let mut stage = running(json!({ "schedule": "0 2 * * *" }));
    assert_eq!(stage.condition("BackedUp").1, "WaitingForBackup");
    let name = backups(&stage)[0].0.name.clone();
    let job = Key::of::<CronJob>(NAMESPACE, &name);
    let spec = json!({ "spec": {
        "schedule": "0 2 * * *",
        "jobTemplate": { "spec": { "template": { "spec": { "containers": [] } } } },
    }});
    stage.cluster.put(&job, &spec);
    stage.simulate();
    let (status, _, message) = stage.condition("BackedUp");
    assert_eq!(
        (status.as_str(), message.as_str()),
        (
            "False",
            &*format!("waits for the first Job of CronJob {name}"),
        )
    );

    stage.cluster.wait(SignedDuration::from_hours(48));
    stage.simulate();
    assert_eq!(stage.condition("BackedUp").1, "BackupOverdue");
    assert_eq!(stage.condition("Ready").0, "True", "the cloud serves");

    let now = stage.cluster.now();
    stage
        .cluster
        .set_status(&job, json!({ "lastSuccessfulTime": now.to_string() }));
    stage.simulate();
    assert_eq!(stage.condition("BackedUp").0, "True");
    stage.cluster.wait(SignedDuration::from_hours(24));
    stage.simulate();
    assert_eq!(stage.condition("BackedUp").0, "True", "one may be late");
    stage.cluster.wait(SignedDuration::from_hours(24));
    stage.simulate();
    let (_, reason, message) = stage.condition("BackedUp");
    assert_eq!(reason, "BackupOverdue");
    assert!(message.contains(&now.to_string()), "{message}");
}

#[test]
fn backup_that_is_never_due_is_reported() {
    let stage = running(json!({ "schedule": "0 2 31 2 *" }));
    let (status, reason, message) = stage.condition("BackedUp");
    assert_eq!([&*status, &*reason], ["False", "Invalid"]);
    let says = "backup.schedule \"0 2 31 2 *\" is never due: write";
    assert!(message.starts_with(says), "{message}");
    assert_eq!(stage.condition("Ready").0, "True", "the cloud serves");
}

#[test]
fn backup_of_an_external_database_is_not_composed() {
    let stage = Stage::new(json!({
        "backup": {},
        "infrastructure": { "mariadb": { "external": { "host": "db.example.com" } } },
    }));
    let mut stage = stage;
    stage.simulate();
    assert!(backups(&stage).is_empty());
    assert!(stage.cluster.get(&claim()).is_none());
}
