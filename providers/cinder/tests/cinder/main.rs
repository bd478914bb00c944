//! A Cinder from its resource to running pods, in a small cluster in memory.

#![cfg(test)]

mod backends;
mod deletion;
mod mistakes;
mod purge;
mod upgrade;

use c5c3_api::cinder::CinderSpec;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_cinder::Cinder;
use provider_composer::Custom;
use provider_openstack_fixtures::{Cluster, assert_recovers, shown};
use serde_json::{Value, json};

const CINDER: Cinder = Cinder;

/// A Secret with Ceph's configuration and the key of a user.
fn ceph(cluster: &mut Cluster, secret: &str, user: &str) {
    let keyring = format!("[client.{user}]\n\tkey = {user}-s3cret\n");
    cluster.secret(
        secret,
        &[
            ("userID", user),
            ("userKey", "ceph-s3cret"),
            ("keyring", &keyring),
            ("ceph.conf", &format!("[global]\nmon_host = {secret}\n")),
        ],
    );
}

/// Cinder with two backends, backups in a third pool, and all that it waits for.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    ceph(&mut cluster, "ceph-cinder-st-pool-a", "cinder-a");
    ceph(&mut cluster, "ceph-cinder-st-pool-b", "cinder-b");
    ceph(&mut cluster, "ceph-backup", "backup");
    let backend = |name: &str| {
        let secret = format!("ceph-cinder-{name}");
        json!({ "name": name, "rbd": { "pool": "volumes", "cephSecretRef": { "name": secret } } })
    };
    let cinder = json!({
        "apiVersion": "cinder.openstack.c5c3.io/v1alpha1",
        "kind": "Cinder",
        "metadata": { "name": "cinder", "namespace": "openstack", "uid": "1234" },
        "spec": {
            "release": "2025.2",
            "tls": { "issuerRef": { "name": "ca" } },
            "volume": { "replicas": 2 },
            "backup": { "rbd": { "pool": "backups", "cephSecretRef": { "name": "ceph-backup" } } },
            "imageVolumeCache": { "maxSizeGb": 500, "projectId": "0a1b", "userId": "8f9c" },
            "backends": [backend("st-pool-a"), backend("st-pool-b")],
            "defaultVolumeType": "st-pool-a",
        },
    });
    cluster.put_document::<Custom<CinderSpec>>(&cinder.to_string());
    cluster
}

fn change(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.change::<Custom<CinderSpec>>("cinder", change);
    cluster.settle(&CINDER, "cinder");
}

fn running() -> Cluster {
    let mut cluster = given();
    cluster.settle(&CINDER, "cinder");
    assert_eq!(condition(&cluster, "Ready"), ready());
    cluster
}

fn ready() -> (String, String, String) {
    ("True".to_owned(), "Ready".to_owned(), String::new())
}

fn condition(cluster: &Cluster, type_: &str) -> (String, String, String) {
    cluster.condition(&CINDER, "cinder", type_)
}

/// What a Cinder is refused with.
fn refused(cluster: &mut Cluster) -> String {
    let refused = cluster.compose(&CINDER, "cinder").err();
    refused
        .map(|failure| failure.to_string())
        .unwrap_or_default()
}

/// The pod that a Deployment or StatefulSet runs.
fn pod(controller: Option<&Value>) -> Value {
    controller.map_or(Value::Null, |object| {
        object["spec"]["template"]["spec"].clone()
    })
}

fn members(cluster: &Cluster, name: &str) -> Value {
    pod(cluster.get::<StatefulSet>(name))
}

/// A file that pods see.
fn file(cluster: &Cluster, pod: &Value, name: &str) -> Option<String> {
    let volumes = pod["volumes"].as_array()?;
    let config = volumes.iter().find(|volume| volume["name"] == "config")?;
    cluster.value(config["secret"]["secretName"].as_str()?, name)
}

/// A section of the configuration that pods see.
fn section(cluster: &Cluster, pod: &Value, name: &str) -> String {
    let text = file(cluster, pod, "cinder.conf").unwrap_or_default();
    let mut sections = text.split("\n\n");
    let head = format!("[{name}]\n");
    let found = sections.find_map(|section| section.strip_prefix(&head));
    found.unwrap_or_default().trim().to_owned()
}

/// The tag of the image of each Deployment and StatefulSet of Cinder.
fn progress(cluster: &Cluster) -> Vec<(String, String)> {
    let deployments = cluster.all::<Deployment>().into_iter();
    let sets = cluster.all::<StatefulSet>().into_iter();
    let all = deployments.chain(sets.filter(|(name, _)| name.starts_with("cinder")));
    let tag = |object: &Value| {
        let image = pod(Some(object))["containers"][0]["image"].clone();
        let image = image.as_str().unwrap_or_default();
        image.rsplit(':').next().unwrap_or_default().to_owned()
    };
    all.map(|(name, object)| (name.to_owned(), tag(object)))
        .collect()
}

#[test]
fn cinder_recovers_from_kills_of_its_operator() {
    assert_recovers(&CINDER, "cinder", given);
}

#[test]
fn cinder_is_composed() {
    let mut cluster = given();
    insta::assert_yaml_snapshot!(shown(&cluster.settle(&CINDER, "cinder")));
}

/// Otherwise a rollout ends backups and copies of images.
#[rstest::rstest]
#[case::volume("cinder-st-pool-a-volume", 15 * 60)]
#[case::backup("cinder-backup", 2 * 60 * 60)]
fn members_complete_their_work_before_they_are_killed(#[case] name: &str, #[case] work: i64) {
    let pod = members(&running(), name);
    let variables = pod["containers"][0]["env"].as_array().unwrap();
    let mut variables = variables.iter();
    let timeout = variables
        .find(|variable| variable["name"] == "OS_DEFAULT__GRACEFUL_SHUTDOWN_TIMEOUT")
        .and_then(|variable| variable["value"].as_str());
    assert_eq!(timeout, Some(work.to_string().as_str()));
    let grace = pod["terminationGracePeriodSeconds"].as_i64();
    assert!(grace.is_some_and(|grace| grace > work), "{grace:?}");
}

/// Otherwise they work on until the end of the grace period: process 1 ignores SIGTERM until it handles it.
#[rstest::rstest]
fn members_end_at_once_while_they_start(
    #[values("cinder-st-pool-a-volume", "cinder-backup")] name: &str,
) {
    let pod = members(&running(), name);
    assert_eq!(pod["shareProcessNamespace"], true, "{pod}");
}

/// The keys by which servers use the volumes.
fn hypervisor_keys(cluster: &Cluster) -> Vec<String> {
    let secret = cluster.get::<Secret>("cinder-compute");
    let data = secret.and_then(|secret| secret["data"].as_object());
    let names = data.into_iter().flat_map(|data| data.keys());
    let names = names.filter(|name| name.starts_with("ceph-key-"));
    let mut keys: Vec<String> = names
        .filter_map(|name| cluster.value("cinder-compute", name))
        .collect();
    keys.sort();
    keys
}

/// All programs find the driver by Python's own search. The password has characters that would end a URL.
#[test]
fn programs_lock_by_rows_of_the_database() {
    let mut cluster = given();
    cluster.secret("cinder-db-credentials", &[("password", "a/b#c")]);
    cluster.settle(&CINDER, "cinder");
    for pod in [
        pod_of_api(&cluster),
        pod(cluster.get::<Deployment>("cinder-scheduler")),
        members(&cluster, "cinder-st-pool-a-volume"),
        members(&cluster, "cinder-backup"),
    ] {
        assert_eq!(
            section(&cluster, &pod, "coordination"),
            "backend_url = rows://"
        );
        let container = &pod["containers"][0];
        let named = |list: &str, name: &str| {
            let mut list = container[list].as_array().unwrap().iter();
            list.find(|one| one["name"] == name).cloned().unwrap()
        };
        let path = "/etc/cinder/locks/c5c3_locks.dist-info";
        assert_eq!(named("volumeMounts", "locks")["mountPath"], path);
        let found = format!("/etc/cinder/locks:{path}");
        assert_eq!(named("env", "PYTHONPATH")["value"], found.as_str());
        assert_eq!(
            file(&cluster, &pod, "entry_points.txt").as_deref(),
            Some("[tooz.backends]\nrows = c5c3_locks:Driver\n")
        );
        let driver = file(&cluster, &pod, "c5c3_locks.py").unwrap_or_default();
        assert!(driver.contains("\nclass Driver("), "{driver}");
    }
}

#[test]
fn release_before_2025_2_has_no_section_of_glance() {
    let mut cluster = given();
    change(&mut cluster, |cinder| {
        cinder["spec"]["release"] = json!("2025.1");
    });
    let api = pod_of_api(&cluster);
    assert_eq!(section(&cluster, &api, "glance"), "");
    let authority = "glance_ca_certificates_file = /etc/cinder/config/keystone-ca.crt";
    let shared = section(&cluster, &api, "DEFAULT");
    assert!(shared.lines().any(|line| line == authority), "{shared}");
}

/// Other programs aren't replaced for it, and a Cinder that doesn't say so stays as it is.
#[test]
fn backups_in_ceph_leave_as_many_snapshots_as_the_cinder_says() {
    let mut cluster = running();
    let lines = |cluster: &Cluster| {
        let pods = [members(cluster, "cinder-backup"), pod_of_api(cluster)];
        pods.map(|pod| {
            let shared = section(cluster, &pod, "DEFAULT");
            let line = shared.lines().find(|line| line.contains("snapshots"));
            line.map(str::to_owned)
        })
    };
    assert_eq!(lines(&cluster), [None, None]);
    change(&mut cluster, |cinder| {
        cinder["spec"]["backup"]["snapshots"] = json!(1);
    });
    let line = "backup_ceph_max_snapshots = 1".to_owned();
    assert_eq!(lines(&cluster), [Some(line), None]);
}

#[test]
fn backups_go_to_a_bucket() {
    let mut cluster = running();
    cluster.secret(
        "bucket",
        &[
            ("accessKey", "backups"),
            ("secretKey", "bucket-s3cret"),
            ("ca.crt", "store authority"),
        ],
    );
    change(&mut cluster, |cinder| {
        cinder["spec"]["backup"] = json!({ "s3": {
            "endpoint": "https://s3.example.com",
            "bucket": "volumes",
            "secretRef": { "name": "bucket" },
        } });
    });
    let pod = members(&cluster, "cinder-backup");
    let shared = section(&cluster, &pod, "DEFAULT");
    let lines: Vec<&str> = shared
        .lines()
        .filter(|line| line.starts_with("backup_"))
        .collect();
    assert_eq!(
        lines,
        [
            "backup_driver = cinder.backup.drivers.s3.S3BackupDriver",
            "backup_max_operations = 5",
            "backup_s3_block_size = 1048576",
            "backup_s3_ca_cert_file = /etc/cinder/config/backup-ca.crt",
            "backup_s3_endpoint_url = https://s3.example.com",
            "backup_s3_store_access_key = backups",
            "backup_s3_store_bucket = volumes",
            "backup_s3_store_secret_key = bucket-s3cret",
        ]
    );
    assert_eq!(
        file(&cluster, &pod, "backup-ca.crt").as_deref(),
        Some("store authority")
    );
    // The other programs don't get the keys.
    let api = pod_of_api(&cluster);
    assert!(!section(&cluster, &api, "DEFAULT").contains("backup_"));
}

#[test]
fn programs_that_convert_images_have_ephemeral_storage_for_them() {
    let cluster = running();
    let limit =
        |pod: &Value| pod["containers"][0]["resources"]["limits"]["ephemeral-storage"].clone();
    assert_eq!(limit(&pod_of_api(&cluster)), "4Gi");
    for name in ["cinder-st-pool-a-volume", "cinder-backup"] {
        assert_eq!(limit(&members(&cluster, name)), "2052Gi", "{name}");
    }
}

fn pod_of_api(cluster: &Cluster) -> Value {
    pod(cluster.get::<Deployment>("cinder"))
}

#[test]
fn members_run_a_new_release_before_the_api() {
    let mut cluster = running();
    cluster.change::<Custom<CinderSpec>>("cinder", |cinder| {
        cinder["spec"]["release"] = json!("2026.1");
    });
    let old = progress(&cluster)[0].1.clone();
    let mut seen: Vec<Vec<String>> = Vec::new();
    for _ in 0..20 {
        cluster.compose(&CINDER, "cinder").unwrap();
        let jobs = cluster.all::<Job>();
        let mut now: Vec<String> = progress(&cluster)
            .into_iter()
            .filter(|(_, tag)| *tag != old)
            .map(|(name, _)| name)
            .collect();
        let online = |name: &&str| name.starts_with("cinder-db-online");
        let online = jobs.into_keys().filter(online);
        now.extend(online.map(|_| "db-online".to_owned()));
        now.sort();
        if !now.is_empty() && seen.last() != Some(&now) {
            seen.push(now);
        }
        cluster.simulate();
    }
    let new = |stage: usize| {
        let before = if stage == 0 {
            &[][..]
        } else {
            &seen[stage - 1]
        };
        let added = seen[stage].iter().filter(|name| !before.contains(name));
        added.cloned().collect::<Vec<_>>()
    };
    let stages: Vec<Vec<String>> = (0..seen.len()).map(new).collect();
    assert_eq!(
        stages,
        [
            vec!["cinder-scheduler"],
            vec!["cinder-st-pool-a-volume", "cinder-st-pool-b-volume"],
            vec!["cinder-backup"],
            vec!["cinder"],
            vec!["db-online"],
        ]
    );
}
