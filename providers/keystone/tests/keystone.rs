//! A Keystone from its resource to a running API, in a small cluster in memory.

use std::collections::BTreeSet;

use c5c3_api::keystone::KeystoneSpec;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Carried, Custom, Resource};
use provider_keystone::Keystone;
use provider_openstack_fixtures::{Cluster, shown};
use serde_json::json;

const KEYSTONE: Carried<Keystone> = Carried(Keystone);

/// Keystone in the control plane's own MariaDB and Memcached.
const MANAGED: &str = r#"
kind: Keystone
metadata: { name: keystone, namespace: openstack, uid: "1234" }
spec:
  release: "2025.2"
  database: { clusterRef: { name: openstack-db } }
  bootstrap:
    adminPasswordSecretRef: { name: keystone-admin-credentials, key: password }
"#;

/// Keystone as the architecture shows it: one resource with a version, and servers that somebody else runs.
const BROWNFIELD: &str = r#"
kind: Keystone
metadata: { name: keystone, namespace: openstack }
spec:
  replicas: 3
  image: { repository: ghcr.io/c5c3/keystone, tag: "28.0.0" }
  database: { host: db.example.com, secretRef: { name: keystone-db-credentials }, database: keystone }
  cache:
    backend: dogpile.cache.pymemcache
    servers: ["memcached-0.memcached:11211", "memcached-1.memcached"]
  fernet: { rotationSchedule: "0 0 * * 0", maxActiveKeys: 3 }
  federation: { enabled: false }
  tls: { enabled: false }
  bootstrap:
    adminUser: admin
    adminPasswordSecretRef: { name: keystone-admin-credentials, key: password }
    region: RegionOne
"#;

fn given(document: &str) -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.put_document::<Custom<KeystoneSpec>>(document);
    cluster
}

fn running(document: &str) -> Cluster {
    let mut cluster = given(document);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    cluster
}

fn ready(cluster: &Cluster) -> String {
    cluster.condition(&KEYSTONE, "keystone", "Ready").0
}

fn release(cluster: &mut Cluster, release: &str) {
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["release"] = json!(release)
    });
}

fn image(cluster: &Cluster) -> String {
    let deployment = cluster.get::<Deployment>("keystone");
    let image = deployment
        .map(|deployment| &deployment["spec"]["template"]["spec"]["containers"][0]["image"]);
    image
        .and_then(|image| image.as_str())
        .unwrap_or_default()
        .to_owned()
}

/// Tasks of the Jobs that there are.
fn tasks(cluster: &Cluster) -> BTreeSet<String> {
    let jobs = cluster.all::<Job>().into_values();
    jobs.filter_map(|job| {
        job["metadata"]["labels"]["c5c3.io/task"]
            .as_str()
            .map(str::to_owned)
    })
    .collect()
}

/// The name of the first Job of a task; empty where there is none.
fn job(cluster: &Cluster, task: &str) -> String {
    let jobs = cluster.all::<Job>().into_keys();
    let mut names = jobs.filter(|name| name.starts_with(&format!("keystone-{task}-")));
    names.next().unwrap_or_default().to_owned()
}

#[rstest::rstest]
#[case("managed_2025_2", MANAGED, None)]
#[case("managed_2026_1", MANAGED, Some("2026.1"))]
#[case("managed_2026_2", MANAGED, Some("2026.2"))]
#[case("brownfield", BROWNFIELD, None)]
fn all_that_keystone_is_made_of(
    #[case] name: &str,
    #[case] document: &str,
    #[case] wanted: Option<&str>,
) {
    let mut cluster = given(document);
    if let Some(wanted) = wanted {
        release(&mut cluster, wanted);
    }
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    insta::assert_yaml_snapshot!(name, shown(&answer));
}

#[test]
fn keystone_comes_step_by_step() {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "WaitingForDatabase")
    );
    assert_eq!(message, "waits for MariaDB openstack-db");
    assert!(tasks(&cluster).is_empty() && cluster.get::<Deployment>("keystone").is_none());

    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(tasks(&cluster), BTreeSet::from(["db-sync".to_owned()]));
    assert!(
        cluster.get::<Deployment>("keystone").is_none(),
        "an API without tables would answer 500"
    );

    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(cluster.get::<Deployment>("keystone").is_some());
    assert!(tasks(&cluster).contains("bootstrap"));
    assert_eq!(ready(&cluster), "False");
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn composing_again_changes_nothing() {
    let mut cluster = running(MANAGED);
    let first = cluster.compose(&KEYSTONE, "keystone").unwrap();
    let second = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(shown(&first), shown(&second));
}

#[test]
fn no_secret_stands_outside_secrets() {
    let mut cluster = given(MANAGED);
    for _ in 0..10 {
        let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
        cluster.play();
        let others = answer
            .objects
            .iter()
            .filter(|(key, _)| key.kind != Secret::KIND);
        for (key, object) in others {
            assert!(
                !object.to_string().contains("s3cret"),
                "{key} holds a secret"
            );
        }
        assert!(!answer.status.to_string().contains("s3cret"));
    }
}

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
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "InvalidSecret")
        );
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
    cluster.unreadable.insert(Secret::KIND);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.unreadable.clear();
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
fn an_upgrade_expands_rolls_and_contracts() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(tasks(&cluster).contains("db-expand") && !tasks(&cluster).contains("db-migrate"));
    assert_eq!(image(&cluster), "ghcr.io/c5c3/keystone:28.0.0");

    let expand = job(&cluster, "db-expand");
    cluster.finish_job(&expand, "Complete");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(image(&cluster), "ghcr.io/c5c3/keystone:28.0.0");
    let migrate = job(&cluster, "db-migrate");
    cluster.finish_job(&migrate, "Complete");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(image(&cluster), "ghcr.io/c5c3/keystone:29.0.0");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(
        !tasks(&cluster).contains("db-contract"),
        "older pods still run"
    );

    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["release"], "2026.1");
    assert!(tasks(&cluster).contains("db-contract"));
    assert!(!tasks(&cluster).contains("db-expand"));
}

#[test]
fn an_upgrade_can_be_taken_back_until_it_contracts() {
    let mut cluster = running(MANAGED);
    let synced = cluster.get::<Job>(&job(&cluster, "db-sync")).cloned();
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    release(&mut cluster, "2025.2");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["release"], "2025.2");
    assert_eq!(
        cluster.get::<Job>(&job(&cluster, "db-sync")).cloned(),
        synced,
        "an older program can't read a newer schema"
    );
    assert_eq!(image(&cluster), "ghcr.io/c5c3/keystone:28.0.0");

    release(&mut cluster, "2026.1");
    while !tasks(&cluster).contains("db-contract") {
        cluster.play();
        cluster.compose(&KEYSTONE, "keystone").unwrap();
    }
    release(&mut cluster, "2025.2");
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason(), "TooLateToGoBack");
    assert!(tasks(&cluster).contains("db-contract"));
}

#[test]
fn another_image_of_the_release_is_taken_after_an_upgrade() {
    let mut cluster = running(MANAGED);
    release(&mut cluster, "2026.1");
    cluster.settle(&KEYSTONE, "keystone");
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["image"] = json!({ "tag": "29.0.0-p1" });
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(image(&cluster), "ghcr.io/c5c3/keystone:29.0.0-p1");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn a_migration_that_fails_says_so_and_the_fix_alone_brings_it_back() {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let sync = job(&cluster, "db-sync");
    cluster.finish_job(&sync, "Failed");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "JobFailed"));
    assert!(
        message.contains(&format!("kubectl logs -n openstack job/{sync}")),
        "{message}"
    );

    cluster.secret(
        "keystone-db-credentials",
        &[("username", "keystone"), ("password", "right-s3cret")],
    );
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_ne!(job(&cluster, "db-sync"), sync);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn a_migration_whose_pod_does_not_start_names_its_image() {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let sync = job(&cluster, "db-sync");
    let began = cluster.now;
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 1, "ready": 0, "startTime": began.to_string() });
    });
    let late = began + SignedDuration::from_secs(30);
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(answer.wake.is_some_and(|wake| wake <= late));
    let (_, reason, _) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "WaitingForJob");

    cluster.now = late;
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "NotStarting");
    assert!(
        message.contains("an image ghcr.io/c5c3/keystone:28.0.0"),
        "{message}"
    );
}

#[test]
fn pods_that_are_not_ready_name_their_database() {
    let mut cluster = running(MANAGED);
    cluster.change::<Deployment>("keystone", |deployment| {
        deployment["status"] =
            json!({ "conditions": [{ "type": "Available", "status": "False" }] });
    });
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, _, message) = cluster.condition(&KEYSTONE, "keystone", "APIReady");
    assert_eq!(status, "False");
    assert!(
        message.ends_with("reaches database openstack-db.openstack.svc:3306/keystone"),
        "{message}"
    );
}

#[test]
fn a_migration_that_runs_is_not_broken_off() {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.play();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let sync = job(&cluster, "db-sync");
    cluster.change::<Job>(&sync, |job| {
        job["status"] = json!({ "active": 1, "ready": 1 })
    });
    release(&mut cluster, "2026.1");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        cluster.all::<Job>().into_keys().collect::<Vec<_>>(),
        [sync.as_str()]
    );
    let (_, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!(reason, "WaitingForJob");
    assert_eq!(message, format!("waits for Job {sync}, which runs"));
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

#[rstest::rstest]
#[case(json!({ "replicas": 0 }), "Invalid", "replicas is 0")]
#[case(json!({ "release": "2026.2" }), "ReleaseNotReachable", "go to 2026.1 first")]
#[case(json!({ "release": "2025.1" }), "ReleaseNotReachable", "2025.1 is older than 2025.2, which runs")]
#[case(json!({ "release": "2031.1" }), "UnknownRelease", "choose one of 2025.1, 2025.2, 2026.1, 2026.2")]
#[case(json!({ "image": { "tag": "29.0.0" } }), "ReleaseMismatch", "release is 2025.2, and image.tag 29.0.0 is of 2026.1")]
#[case(json!({ "release": null, "image": { "tag": "a1b2c3d" } }), "ReleaseUnknown", "the image's tag a1b2c3d doesn't say")]
#[case(
    json!({ "extraConfig": { "fernet_tokens": { "max_active_keys": "9" } } }),
    "OwnedByOperator",
    "extraConfig sets [fernet_tokens] max_active_keys, and the operator owns it: use fernet"
)]
#[case(
    json!({ "extraConfig": { "database": { "connection": "sqlite://" } } }),
    "OwnedByOperator",
    "[database] connection, and the operator owns it: use database, and leave it out"
)]
#[case(
    json!({ "extraConfig": { "cache": { "memcached_servers": "a:1" } } }),
    "InvalidConfiguration",
    "extraConfig sets [cache] memcached_servers, and keystone 2025.2 has no such option: did you mean memcache_servers?"
)]
#[case(
    json!({ "extraConfig": { "cache": { "memcache_servers": "a:1" } } }),
    "OwnedByOperator",
    "use cache.servers or cache.clusterRef"
)]
#[case(
    json!({ "extraConfig": { "cahce": { "enabled": "false" } } }),
    "InvalidConfiguration",
    "keystone 2025.2 has no section [cahce]: did you mean [cache]?"
)]
#[case(
    json!({ "extraConfig": { "token": { "expiration": "1h" } } }),
    "InvalidConfiguration",
    "extraConfig gives [token] expiration something else than it takes: a whole number"
)]
#[case(
    json!({ "extraConfig": { "token": { "expiration": "1\n2" } } }),
    "InvalidConfiguration",
    "several lines, and it takes one value"
)]
#[case(json!({ "extraConfig": { "token": { "provider": "jws" } } }), "OwnedByOperator", "use nothing: the keys")]
#[case(
    json!({ "extraConfig": { "DEFAULT": { "logfile": "/tmp/a" } } }),
    "OwnedByOperator",
    "extraConfig sets [DEFAULT] log_file, and the operator owns it"
)]
#[case(json!({ "extraConfig": { "oslo_policy": { "policy_file": "a" } } }), "OwnedByOperator", "use policyOverrides")]
#[case(json!({ "extraConfig": { "DEFAULT]\n[x": {} } }), "InvalidConfiguration", "no section's name")]
#[case(json!({ "extraConfig": { "DEFAULT": { "a = b": "c" } } }), "InvalidConfiguration", "no option's name")]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "role:admin or" } } }),
    "InvalidPolicy",
    "the policy rule identity:create_user can't be understood: a check is missing at the end"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:creat_user": "role:admin" } } }),
    "InvalidPolicy",
    "the policies have a rule identity:creat_user, and keystone 2025.2 has no such rule: did you mean identity:create_user?"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "rule:admin_requird" } } }),
    "InvalidPolicy",
    "refers to admin_requird, and keystone 2025.2 has no such rule: did you mean admin_required?"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "rule:lead", "lead": "(rule:identity:create_user)" } } }),
    "InvalidPolicy",
    "the policy rule identity:create_user refers to itself: break the circle"
)]
#[case(
    json!({ "fernet": { "rotationSchedule": "0 0 30 2 *" } }),
    "InvalidSchedule",
    "fernet.rotationSchedule \"0 0 30 2 *\" is never due"
)]
#[case(json!({ "fernet": { "rotationSchedule": "weekly" } }), "Invalid", "\"weekly\" is no schedule")]
#[case(json!({ "fernet": { "maxActiveKeys": 2 } }), "Invalid", "give at least 3")]
fn a_mistake_changes_nothing_and_says_what_to_do(
    #[case] mistake: serde_json::Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut cluster = running(MANAGED);
    let before = cluster.get::<Deployment>("keystone").cloned();
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        for (field, value) in mistake.as_object().unwrap() {
            keystone["spec"][field] = value.clone();
        }
        keystone["spec"]
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
    });
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
    assert_eq!(cluster.get::<Deployment>("keystone").cloned(), before);
    assert_eq!(cluster.condition(&KEYSTONE, "keystone", "Ready").1, reason);
}

/// The text of the configuration file; empty where there is none.
fn configuration(cluster: &Cluster) -> String {
    let secrets = cluster.all::<Secret>().into_keys();
    let mut names = secrets.filter(|name| name.starts_with("keystone-config-"));
    let name = names.next_back();
    name.and_then(|name| cluster.value(name, "keystone.conf"))
        .unwrap_or_default()
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
fn a_migration_that_fails_says_what_is_most_often_wrong() {
    let mut cluster = given(BROWNFIELD);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let job = job(&cluster, "db-sync");
    cluster.finish_job(&job, "Failed");
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "JobFailed"));
    let expected = format!(
        "Job {job} failed (the backoff limit was reached): often the database db.example.com:3306/keystone can't be reached \
         or refuses user or password, which the Secret of spec.database has; see `kubectl logs -n openstack job/{job}`"
    );
    assert!(message.starts_with(&expected), "{message}");

    cluster.secret(
        "keystone-db-credentials",
        &[("username", "keystone"), ("password", "right-s3cret")],
    );
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        ready(&cluster),
        "True",
        "the right password alone brings it back"
    );
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
            "waits for Glance glance, which isn't there"
        )
    );

    cluster.put::<Custom<c5c3_api::glance::GlanceSpec>>(
        "glance",
        json!({ "spec": { "dependsOn": [{ "kind": "Keystone", "name": "keystone" }] } }),
    );
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(
        failure.to_string(),
        "dependsOn goes in a circle, Keystone keystone -> Glance glance -> Keystone keystone: take one of them out"
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
        answer.wake,
        Some(cluster.now + SignedDuration::from_mins(10)),
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
