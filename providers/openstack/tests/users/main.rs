//! Users of databases and message buses that replace each other.

mod jobs;
mod sharing;

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::neutron::NeutronSpec;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{Custom, Key, Resource};
use provider_composer_testing::killed::Scene;
use provider_openstack_fixtures::{Cluster, Complete, NAMESPACE};
use rstest::rstest;
use serde_json::{Value, json};

const NEUTRON: Complete = Complete;
const DATABASE: &str = "databaseUser";
const BUS: &str = "messagingUser";

/// A running service, of whose two databases and buses each has a user.
fn running() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    let password = [("password", "s3cret")];
    cluster.secret("neutron-cell1-db-credentials", &password);
    let bus = [("username", "neutron-cell1"), ("password", "s3cret")];
    cluster.secret("neutron-cell1-rabbitmq-credentials", &bus);
    cluster.put::<Custom<NeutronSpec>>(
        "neutron",
        json!({ "spec": { "release": "2025.1", "ovn": {}, "tls": { "issuerRef": { "name": "ca" } } } }),
    );
    cluster.settle(&NEUTRON, "neutron");
    cluster
}

/// Begins a rotation to the second user.
fn begin_rotation(cluster: &mut Cluster, type_: &str) {
    rotate(
        cluster,
        type_,
        json!({ "nextCredentialRef": { "name": "neutron-2" } }),
    );
}

/// A rotation with this status, of this type.
fn rotate(cluster: &mut Cluster, type_: &str, status: Value) {
    let spec = json!({ "targetServiceUser": "neutron", "rotationType": type_ });
    let rotation = json!({ "spec": spec, "status": status });
    cluster.put::<Custom<CredentialRotationSpec>>("neutron", rotation);
}

fn names<T: Resource>(cluster: &Cluster) -> Vec<String> {
    cluster.all::<T>().into_keys().map(str::to_owned).collect()
}

fn users(cluster: &Cluster, type_: &str) -> Vec<String> {
    match type_ {
        DATABASE => names::<Manifest<mariadb::User>>(cluster),
        _ => names::<Manifest<rabbitmq::User>>(cluster),
    }
}

/// The Secret with the configuration that a Deployment's pods mount.
fn config(cluster: &Cluster) -> Option<String> {
    let deployment = cluster.get::<Deployment>("neutron")?;
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array();
    let mut secrets = volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["secret"]["secretName"].as_str());
    let config = secrets.find(|name| name.contains("-config-"));
    config.map(str::to_owned)
}

/// The user's names in the configuration that a Deployment's pods mount.
fn logins(cluster: &Cluster, type_: &str) -> Vec<String> {
    let text = config(cluster).and_then(|config| cluster.value(&config, "neutron.conf"));
    let text = text.unwrap_or_default();
    let scheme = match type_ {
        DATABASE => "mysql+pymysql://",
        _ => "rabbit://",
    };
    let urls = text.lines().filter_map(|line| line.split_once(scheme));
    urls.filter_map(|(_, url)| Some(url.split_once(':')?.0.to_owned()))
        .collect()
}

fn status<'a>(cluster: &'a Cluster, type_: &str) -> &'a Value {
    let field = match type_ {
        DATABASE => "databaseUsers",
        _ => "messagingUsers",
    };
    cluster
        .get::<Custom<NeutronSpec>>("neutron")
        .map_or(&Value::Null, |neutron| &neutron["status"][field])
}

const FIRST: [&str; 2] = ["neutron", "neutron-cell1"];
const SECOND: [&str; 2] = ["neutron-cell1-credentials-2", "neutron-credentials-2"];
const BOTH: [&str; 4] = [FIRST[0], FIRST[1], SECOND[0], SECOND[1]];

#[rstest]
#[case::database(DATABASE, &["neutron_cell1", "neutron"], &["neutron_cell1.2", "neutron.2"])]
#[case::bus(BUS, &["neutron"], &["neutron%2E2"])]
fn rotation_gives_pods_the_next_user_and_deletes_the_one_before(
    #[case] type_: &str,
    #[case] first: &[&str],
    #[case] second: &[&str],
) {
    let mut cluster = running();
    assert_eq!(users(&cluster, type_), FIRST);
    assert_eq!(
        *status(&cluster, type_),
        json!({ "numbers": [1], "inUse": 1 })
    );
    assert_eq!(logins(&cluster, type_), first);

    begin_rotation(&mut cluster, type_);
    for _ in 0..3 {
        // No operator creates the user in its server.
        cluster.compose(&NEUTRON, "neutron").unwrap();
        assert_eq!(logins(&cluster, type_), first);
        assert_ne!(status(&cluster, type_)["inUse"], 2);
    }
    assert_eq!(users(&cluster, type_), BOTH);
    assert_eq!(*status(&cluster, type_), json!({ "numbers": [1, 2] }));
    assert_eq!(cluster.condition(&NEUTRON, "neutron", "Ready").0, "True");

    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(logins(&cluster, type_), second);
    assert_eq!(users(&cluster, type_), SECOND);
    assert_eq!(
        *status(&cluster, type_),
        json!({ "numbers": [2], "inUse": 2 })
    );
    assert_eq!(cluster.condition(&NEUTRON, "neutron", "Ready").0, "True");

    let before = names::<Secret>(&cluster);
    let next = json!({ "nextCredentialRef": { "name": "neutron-3" } });
    rotate(&mut cluster, type_, next);
    cluster.settle(&NEUTRON, "neutron");
    let third = SECOND.map(|name| name.replace('2', "3"));
    assert_eq!(users(&cluster, type_), third);
    let generated =
        |name: &&String| name.ends_with("credentials-2") || name.ends_with("credentials-3");
    let kind = if type_ == DATABASE { "db" } else { "rabbitmq" };
    let expected = |number| {
        ["neutron-cell1", "neutron"].map(|part| format!("{part}-{kind}-credentials-{number}"))
    };
    assert_eq!(
        before.iter().filter(generated).cloned().collect::<Vec<_>>(),
        expected(2)
    );
    let after = names::<Secret>(&cluster);
    assert_eq!(
        after.iter().filter(generated).cloned().collect::<Vec<_>>(),
        expected(3)
    );
    for name in expected(3) {
        let secret = cluster.get::<Secret>(&name).unwrap();
        assert_eq!(secret["immutable"], true, "pods have this password");
    }
}

#[rstest]
fn users_stay_while_a_pod_or_job_may_have_their_passwords(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    begin_rotation(&mut cluster, type_);
    for _ in 0..3 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
    }
    // The users become ready, and the pods of the API don't.
    cluster.simulate();
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let rolling = cluster.get::<Deployment>("neutron").unwrap()["status"].clone();
    for _ in 0..4 {
        cluster.simulate();
        cluster.change::<Deployment>("neutron", |api| api["status"] = rolling.clone());
        cluster.compose(&NEUTRON, "neutron").unwrap();
        assert_eq!(users(&cluster, type_), BOTH);
    }
    cluster.simulate();
    let labels = cluster.get::<Deployment>("neutron").unwrap()["metadata"]["labels"].clone();
    let job = json!({ "metadata": { "labels": labels }, "spec": {}, "status": { "ready": 1 } });
    cluster.put::<Job>("neutron-task", job.clone());
    for _ in 0..4 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        assert_eq!(users(&cluster, type_), BOTH, "a Job runs");
        cluster.put::<Job>("neutron-task", job.clone());
    }
    cluster.delete::<Job>("neutron-task");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
}

#[rstest]
fn users_stay_until_terminating_pods_are_gone(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    begin_rotation(&mut cluster, type_);
    let now = cluster.now();
    for _ in 0..8 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        cluster.simulate();
        cluster.complete_rollout("neutron", now);
    }
    let composed = cluster.compose(&NEUTRON, "neutron").unwrap();
    assert_eq!(users(&cluster, type_), BOTH);
    let gone = cluster.now() + SignedDuration::from_secs(75);
    assert_eq!(composed.desired.requeue_at, Some(gone));
    cluster.wait(SignedDuration::from_secs(75));
    cluster.compose(&NEUTRON, "neutron").unwrap();
    assert_eq!(users(&cluster, type_), SECOND);
}

#[rstest]
fn users_stay_as_long_as_a_rotation_names_them(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    let named = |name: &str| json!({ "name": name });
    rotate(
        &mut cluster,
        type_,
        json!({ "nextCredentialRef": named("neutron-2") }),
    );
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let grace = json!({ "currentCredentialRef": named("neutron-2"), "previousCredentialRef": named("neutron-1") });
    rotate(&mut cluster, type_, grace);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), BOTH);
    assert_eq!(
        *status(&cluster, type_),
        json!({ "numbers": [1, 2], "inUse": 2 })
    );
    rotate(
        &mut cluster,
        type_,
        json!({ "currentCredentialRef": named("neutron-2") }),
    );
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
}

#[rstest]
fn what_cannot_be_read_deletes_no_user(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    begin_rotation(&mut cluster, type_);
    cluster.settle(&NEUTRON, "neutron");
    let before = names::<Secret>(&cluster);
    for secret in ["neutron-db-credentials", "neutron-rabbitmq-credentials"] {
        cluster.delete::<Secret>(secret);
    }
    for _ in 0..3 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        cluster.simulate();
    }
    assert_eq!(users(&cluster, type_), SECOND);
    let kept = before
        .into_iter()
        .filter(|name| name.ends_with("-credentials-2"));
    let after = names::<Secret>(&cluster);
    assert!(
        kept.into_iter().all(|name| after.contains(&name)),
        "{after:?}"
    );
}

#[rstest]
fn users_stay_while_it_is_unknown_which_files_pods_have(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    begin_rotation(&mut cluster, type_);
    cluster.set_readable(ConfigMap::KIND, false);
    for _ in 0..12 {
        // It may fail, as ConfigMaps can't be applied now.
        let _ = cluster.compose(&NEUTRON, "neutron");
        cluster.simulate();
        assert_ne!(status(&cluster, type_)["inUse"], 2);
    }
    let left = users(&cluster, type_);
    assert!(FIRST.iter().all(|user| left.contains(&(*user).to_owned())));
    cluster.set_readable(ConfigMap::KIND, true);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
    assert_eq!(status(&cluster, type_)["inUse"], 2);
}

#[rstest]
fn rotation_waits_while_it_is_unknown_which_users_there_are(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    begin_rotation(&mut cluster, type_);
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let named = |name: &str| json!({ "name": name });
    let grace = json!({ "currentCredentialRef": named("neutron-2"), "previousCredentialRef": named("neutron-1") });
    rotate(&mut cluster, type_, grace);
    cluster.settle(&NEUTRON, "neutron");
    let field = match type_ {
        DATABASE => "databaseUsers",
        _ => "messagingUsers",
    };
    let is_in_use = |cluster: &Cluster| {
        let composed = cluster.answer(&NEUTRON, "neutron").unwrap();
        composed.status[field]["inUse"].clone()
    };
    assert_eq!(is_in_use(&cluster), 2);
    let other = match type_ {
        DATABASE => Key::of::<Manifest<mariadb::Grant>>(NAMESPACE, "another"),
        _ => Key::of::<Manifest<rabbitmq::Permission>>(NAMESPACE, "another"),
    };
    cluster.cluster().set_readable(&other, false);
    assert_eq!(is_in_use(&cluster), Value::Null);
}

#[test]
fn user_of_an_external_server_is_not_rotated() {
    let mut cluster = running();
    let external = [("password", "s3cret"), ("host", "db.example.com")];
    for part in FIRST {
        cluster.secret(&format!("{part}-db-credentials"), &external);
    }
    cluster.settle(&NEUTRON, "neutron");
    rotate(
        &mut cluster,
        DATABASE,
        json!({ "nextCredentialRef": { "name": "neutron-2" } }),
    );
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, DATABASE), [""; 0]);
    assert_eq!(*status(&cluster, DATABASE), Value::Null);
    assert!(
        !names::<Secret>(&cluster)
            .iter()
            .any(|name| name.ends_with("db-credentials-2"))
    );
}

/// A User as mariadb-operator 0.38 writes it for MariaDB's views: it has no password.
fn system_user() -> Value {
    json!({ "spec": {
        "mariaDbRef": { "name": "openstack-db", "namespace": "openstack", "waitForIt": true },
        "name": "mariadb.sys",
        "host": "localhost",
        "maxUserConnections": 20,
        "cleanupPolicy": "Skip",
        "passwordPlugin": {},
    } })
}

/// A Permission as the messaging topology operator 1.17 takes it, of the User of this name.
fn permission_by_reference(user: &str) -> Value {
    json!({ "spec": {
        "vhost": "/",
        "userReference": { "name": user },
        "permissions": { "read": ".*" },
        "rabbitmqClusterReference": { "name": "openstack-rabbitmq" },
    } })
}

fn exclusive(type_: &str) -> &'static str {
    match type_ {
        DATABASE => "DatabaseUsersExclusive",
        _ => "MessagingUsersExclusive",
    }
}

#[test]
fn replaced_user_is_deleted_in_mariadb_and_the_present_one_stays_with_the_database() {
    let mut cluster = running();
    rotate(
        &mut cluster,
        DATABASE,
        json!({ "nextCredentialRef": { "name": "neutron-2" } }),
    );
    for _ in 0..3 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
    }
    let policies = cluster.all::<Manifest<mariadb::User>>().into_values();
    let policies: Vec<&Value> = policies
        .map(|user| &user["spec"]["cleanupPolicy"])
        .collect();
    assert_eq!(policies, ["Delete", "Delete", "Skip", "Skip"]);
}
