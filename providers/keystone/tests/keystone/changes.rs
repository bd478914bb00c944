//! What changes around a Keystone that runs.

use std::collections::BTreeSet;

use c5c3_api::keystone::KeystoneSpec;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::stage::{KEYSTONE, MANAGED, configuration, given, job, release, running, tasks};

#[test]
fn a_changed_option_rolls_the_pods_and_nothing_else_does() {
    let mut cluster = running(MANAGED);
    let template = |cluster: &Cluster| {
        cluster.get::<Deployment>("keystone").unwrap()["spec"]["template"].clone()
    };
    let before = template(&cluster);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["replicas"] = json!(5)
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(template(&cluster), before);

    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["extraConfig"] = json!({ "DEFAULT": { "debug": "true" } });
    });
    let configs = |cluster: &Cluster| {
        let secrets = cluster.all::<Secret>().into_keys();
        secrets
            .filter(|name| name.starts_with("keystone-config-"))
            .count()
    };
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_ne!(template(&cluster), before);
    assert_eq!(
        configs(&cluster),
        2,
        "pods of the older revision still need theirs"
    );
    let jobs = tasks(&cluster).len();
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(configs(&cluster), 1);
    assert_eq!(
        tasks(&cluster).len(),
        jobs,
        "an option is no reason to migrate again"
    );
}

#[test]
fn what_runs_stays_when_something_it_needs_is_gone() {
    let mut cluster = running(MANAGED);
    let before = cluster.get::<Deployment>("keystone").unwrap()["spec"].clone();
    let configs = cluster.all::<Secret>().len();
    cluster.delete::<Secret>("keystone-db-credentials");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        cluster.get::<Deployment>("keystone").unwrap()["spec"],
        before
    );
    assert_eq!(cluster.all::<Secret>().len(), configs - 1);
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "Ready");
    assert_eq!(reason, "WaitingForSecret");
    assert_eq!(
        message,
        "waits for Secret keystone-db-credentials with user and password of the database"
    );
}

#[test]
fn a_password_is_written_as_it_is_or_refused() {
    let mut cluster = given(MANAGED);
    let mut given = |password: &str| {
        let account = [("username", "keystone"), ("password", password)];
        cluster.secret("keystone-db-credentials", &account);
        cluster.settle(&KEYSTONE, "keystone");
        cluster.condition(&KEYSTONE, "keystone", "DatabaseReady")
    };
    for refused in ["p@ss", "100%"] {
        let (status, reason, message) = given(refused);
        assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
        assert!(
            message.contains("choose a password without @ and %"),
            "{message}"
        );
    }
    assert_eq!(given("a/b:c?d#e=f&$g h").0, "True");
    let config = configuration(&cluster);
    assert!(config.contains("//keystone:a/b:c?d#e=f&$$g h@"), "{config}");
}

#[test]
fn nothing_goes_when_secrets_cannot_be_read() {
    let mut cluster = running(MANAGED);
    let before: BTreeSet<String> = cluster
        .all::<Secret>()
        .into_keys()
        .map(str::to_owned)
        .collect();
    cluster.set_readable(Secret::KIND, false);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.set_readable(Secret::KIND, true);
    // What can't be listed can't be pruned either; here the fixture prunes as if it could.
    let mounted = ["keystone-fernet-keys", "keystone-credential-keys"];
    for name in mounted {
        assert!(
            before.contains(name) && cluster.get::<Secret>(name).is_some(),
            "{name} is gone"
        );
    }
    assert!(cluster.get::<Deployment>("keystone").is_some());
}

#[test]
fn a_new_admin_password_is_set_and_nothing_else() {
    let mut cluster = running(MANAGED);
    let before = job(&cluster, "bootstrap");
    let deployment = cluster.get::<Deployment>("keystone").cloned();
    cluster.secret(
        "keystone-admin-credentials",
        &[("password", "another-s3cret")],
    );
    cluster.settle(&KEYSTONE, "keystone");
    assert_ne!(job(&cluster, "bootstrap"), before);
    assert_eq!(cluster.get::<Deployment>("keystone").cloned(), deployment);
}

#[test]
fn a_renewed_certificate_rolls_the_pods() {
    let mut cluster = running(MANAGED);
    let before = cluster.get::<Deployment>("keystone").unwrap()["spec"].clone();
    cluster.secret(
        "keystone-tls",
        &[("tls.crt", "renewed"), ("tls.key", "new-s3cret")],
    );
    cluster.settle(&KEYSTONE, "keystone");
    assert_ne!(
        cluster.get::<Deployment>("keystone").unwrap()["spec"],
        before
    );
}

#[test]
fn what_users_add_is_read_under_the_name_that_it_has_now() {
    let mut cluster = given(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["extraConfig"] = json!({
            "DEFAULT": { "rpc_thread_pool_size": "8" },
            "cache": { "dead_timeout": "1", "hashclient_dead_timeout": "2" },
            "oslo_messaging_notifications": { "driver": "log\nnoop" },
        });
    });
    cluster.settle(&KEYSTONE, "keystone");
    let text = configuration(&cluster);
    assert!(text.contains("executor_thread_pool_size = 8\n"), "{text}");
    assert!(text.contains("hashclient_dead_timeout = 2\n"), "{text}");
    assert!(!text.contains("\ndead_timeout"), "{text}");
    assert!(text.contains("driver = log\ndriver = noop\n"), "{text}");
}

#[test]
fn a_fork_may_read_what_upstream_does_not() {
    let mut cluster = given(MANAGED);
    let extra = |cluster: &mut Cluster, option: &str, value: &str| {
        cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
            keystone["spec"]["image"] = json!({ "fork": "sap" });
            keystone["spec"]["extraConfig"] = json!({ "token": { option: value } });
        });
    };
    extra(&mut cluster, "of_the_fork", "1");
    cluster.settle(&KEYSTONE, "keystone");
    assert!(configuration(&cluster).contains("of_the_fork = 1\n"));
    extra(&mut cluster, "expiration", "1h");
    assert!(cluster.compose(&KEYSTONE, "keystone").is_err());
}

#[test]
fn services_that_wait_for_each_other_are_told() {
    let mut cluster = given(MANAGED);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["dependsOn"] = json!([{ "kind": "Glance", "name": "glance" }]);
    });
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "Ready");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (
            "WaitingForGlance",
            "waits for Glance glance, which doesn't exist"
        )
    );

    cluster.put::<Custom<c5c3_api::glance::GlanceSpec>>(
        "glance",
        json!({ "spec": { "dependsOn": [{ "kind": "Keystone", "name": "keystone" }] } }),
    );
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(
        failure.to_string(),
        "dependsOn has a cycle, Keystone keystone -> Glance glance -> Keystone keystone: remove one of these dependencies"
    );
}

#[test]
fn dependency_of_another_kind_is_refused_with_the_kinds_that_there_are() {
    let mut cluster = given(MANAGED);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["dependsOn"] = json!([{ "kind": "MariaDB", "name": "openstack-db" }]);
    });
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(
        failure.to_string(),
        "dependsOn names the kind MariaDB, which nothing can wait for: name one of Keystone, Glance, Placement, Nova, Neutron, \
         Cinder, Cortex, OVNCluster"
    );
}

#[test]
fn credentials_are_encrypted_anew_before_an_old_key_goes() {
    let mut cluster = running(MANAGED);
    let first = cluster.value("keystone-credential-keys", "1").unwrap();
    cluster.wait(SignedDuration::from_hours(24 * 40));
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        cluster.value("keystone-credential-keys", "1"),
        Some(first.clone())
    );
    assert!(
        !tasks(&cluster).contains("recrypt"),
        "not all pods have the new key yet"
    );
    cluster.wait(SignedDuration::from_mins(2));
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let recrypt = job(&cluster, "recrypt");
    cluster.finish_job(&recrypt, "Failed");
    for _ in 0..3 {
        cluster.wait(SignedDuration::from_hours(24 * 40));
        cluster.compose(&KEYSTONE, "keystone").unwrap();
        cluster.wait(SignedDuration::from_mins(2));
        cluster.compose(&KEYSTONE, "keystone").unwrap();
        for name in cluster
            .all::<Job>()
            .into_keys()
            .filter(|name| name.contains("recrypt"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            cluster.finish_job(&name, "Failed");
        }
    }
    assert_eq!(
        cluster.value("keystone-credential-keys", "1"),
        Some(first),
        "nothing was encrypted anew"
    );
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "CredentialKeysReady");
    assert_eq!(reason, "JobFailed");

    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        answer.desired.requeue_at,
        Some(cluster.now() + SignedDuration::from_mins(10)),
        "it is tried again"
    );
    cluster.wait(SignedDuration::from_mins(10));
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(cluster.value("keystone-credential-keys", "1"), None);
    assert!(
        cluster.get::<Secret>("keystone-credential-key-1").is_some(),
        "the key itself is never deleted"
    );
}

/// After a restore of an old backup, whose credentials need such a key.
#[test]
fn credentials_are_encrypted_anew_with_all_keys_once_the_secret_of_the_pods_is_lost() {
    let mut cluster = running(MANAGED);
    let first = cluster.value("keystone-credential-keys", "1").unwrap();
    for _ in 0..2 {
        cluster.wait(SignedDuration::from_hours(24 * 40));
        cluster.compose(&KEYSTONE, "keystone").unwrap();
        cluster.wait(SignedDuration::from_mins(2));
        cluster.settle(&KEYSTONE, "keystone");
    }
    assert_eq!(cluster.value("keystone-credential-keys", "1"), None);
    cluster.delete::<Secret>("keystone-credential-keys");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(cluster.value("keystone-credential-keys", "1"), Some(first));
    assert!(!tasks(&cluster).contains("recrypt"));

    let pause = SignedDuration::from_mins(2);
    assert_eq!(
        answer.desired.requeue_at,
        Some(cluster.now() + pause),
        "when all pods have the keys"
    );
    cluster.wait(pause);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(tasks(&cluster).contains("recrypt"));
    cluster.set_readable(StatefulSet::KIND, false);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(
        tasks(&cluster).contains("recrypt"),
        "it goes on while the cache's servers can't be read"
    );
    cluster.set_readable(StatefulSet::KIND, true);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(cluster.value("keystone-credential-keys", "1"), None);
}

#[test]
fn files_of_a_kept_job_stay_until_it_is_over() {
    let mut cluster = running(MANAGED);
    let configs = |cluster: &Cluster| -> Vec<String> {
        let secrets = cluster.all::<Secret>().into_keys();
        let secrets = secrets.filter(|name| name.starts_with("keystone-config-"));
        secrets.map(str::to_owned).collect()
    };
    let before = configs(&cluster);
    cluster.secret(
        "keystone-admin-credentials",
        &[("password", "another-s3cret")],
    );
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let bootstrap = job(&cluster, "bootstrap");
    cluster.change::<Job>(&bootstrap, |job| {
        job["status"] = json!({ "active": 1, "ready": 0, "failed": 1 });
    });
    cluster.delete::<Secret>("keystone-admin-credentials");
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["extraConfig"] = json!({ "DEFAULT": { "debug": "true" } });
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(job(&cluster, "bootstrap"), bootstrap);
    let during = configs(&cluster);
    assert!(during.contains(&before[0]), "{during:?}");

    cluster.finish_job(&bootstrap, "Failed");
    cluster.settle(&KEYSTONE, "keystone");
    let after = configs(&cluster);
    assert!(!after.contains(&before[0]), "{after:?}");
}
