//! A rotation of users, from the CredentialRotation to the pods of a service, with a MariaDB, a RabbitMQ and pods that do as they are told.

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::neutron::NeutronSpec;
use c5c3_kinds::{Manifest, mariadb, rabbitmq};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Key, Operator, Resource, ResourceKind};
use provider_composer_testing::{Cluster, secret_with};
use provider_control_plane::rotation::CredentialRotationComposer;
use provider_openstack_fixtures::Complete;
use rstest::rstest;
use serde_json::{Value, json};

const NAMESPACE: &str = "openstack";

fn key<T: Resource>(name: &str) -> Key {
    Key::of::<T>(NAMESPACE, name)
}

fn neutron() -> Key {
    Key::new(ResourceKind::of::<NeutronSpec>(), NAMESPACE, "neutron")
}

fn rotation() -> Key {
    let kind = ResourceKind::of::<CredentialRotationSpec>();
    Key::new(kind, NAMESPACE, "neutron")
}

/// What other operators and Kubernetes do.
fn simulate(cluster: &mut Cluster) {
    let condition = |type_: &str| json!({ "type": type_, "status": "True" });
    let keys: Vec<Key> = cluster.objects().keys().cloned().collect();
    for key in keys {
        let object = cluster.get(&key).unwrap();
        let conditions = match key.kind {
            kind if kind.group == "k8s.mariadb.com" => json!([condition("Ready")]),
            kind if kind.group == "rabbitmq.com" => {
                let from = object["spec"]["importCredentialsSecret"]["name"].as_str();
                let from = from.map(self::key::<Secret>);
                let data = from.and_then(|from| Some(cluster.get(&from)?["data"].clone()));
                let name = format!("{}-user-credentials", key.name);
                if let Some(data) = data {
                    cluster.put(&self::key::<Secret>(&name), &json!({ "data": data }));
                }
                let conditions = [condition("Ready"), condition("ClusterAvailable")];
                let status = json!({ "conditions": conditions, "credentials": { "name": name } });
                cluster.set_status(&key, status);
                continue;
            }
            kind if kind == Job::KIND => json!([condition("Complete")]),
            kind if kind == Deployment::KIND || kind == StatefulSet::KIND => {
                let (all, generation) = (
                    object["spec"]["replicas"].clone(),
                    object["metadata"]["generation"].clone(),
                );
                let status = json!({
                    "observedGeneration": generation,
                    "replicas": all,
                    "updatedReplicas": all,
                    "readyReplicas": all,
                    "availableReplicas": all,
                    "conditions": [condition("Available")],
                });
                cluster.set_status(&key, status);
                continue;
            }
            _ => continue,
        };
        cluster.set_status(&key, json!({ "conditions": conditions }));
    }
}

/// A service that runs with its first users, and a rotation of this type that was just created.
fn begun(type_: &str) -> Cluster {
    let mut cluster = Cluster::default();
    cluster.put(
        &key::<Manifest<mariadb::MariaDb>>("openstack-db"),
        &json!({ "spec": {} }),
    );
    cluster.put(
        &key::<Manifest<rabbitmq::RabbitmqCluster>>("openstack-rabbitmq"),
        &json!({ "spec": {} }),
    );
    for part in ["neutron", "neutron-cell1"] {
        for server in ["db", "rabbitmq"] {
            let secret = key::<Secret>(&format!("{part}-{server}-credentials"));
            let values = [("username", part), ("password", "s3cret")];
            cluster.put(&secret, &secret_with(&values));
        }
    }
    let spec = json!({ "release": "2025.1", "ovn": {}, "tls": { "enabled": false } });
    cluster.put(&neutron(), &json!({ "spec": spec }));
    settle(&mut cluster);
    let spec = json!({
        "targetServiceUser": "neutron",
        "rotationType": type_,
        "schedule": { "intervalDays": 10, "preRotationDays": 2 },
        "gracePeriodDays": 1,
    });
    cluster.put(&rotation(), &json!({ "spec": spec }));
    settle(&mut cluster);
    cluster
}

/// Everybody acts until nothing changes any more, or the operators have written so much and are killed. Whether they were. Whenever
/// somebody has written, each pod can log in.
fn settle_until(cluster: &mut Cluster, writes: usize) -> bool {
    let mut left = writes;
    for _ in 0..64 {
        let before = cluster.writes();
        let operators: [(&dyn Operator, Key); 2] = [
            (&Complete, neutron()),
            (&CredentialRotationComposer, rotation()),
        ];
        for (operator, key) in operators {
            let written = cluster.writes();
            // A failure is in the status.
            let _ = cluster.reconcile_until(operator, &key, left);
            left -= cluster.writes() - written;
            check(cluster);
            if left == 0 {
                return true;
            }
        }
        simulate(cluster);
        check(cluster);
        if cluster.writes() == before {
            return false;
        }
    }
    unreachable!("it never settles");
}

fn settle(cluster: &mut Cluster) {
    assert!(!settle_until(cluster, usize::MAX));
}

/// The names of all users that exist.
fn users(cluster: &Cluster) -> Vec<String> {
    let all = cluster.objects().iter();
    let names = all.filter_map(|(key, object)| match key.kind {
        kind if kind == Manifest::<mariadb::User>::KIND => {
            object["spec"]["name"].as_str().map(str::to_owned)
        }
        kind if kind == Manifest::<rabbitmq::Permission>::KIND => {
            object["spec"]["user"].as_str().map(str::to_owned)
        }
        _ => None,
    });
    names.collect()
}

/// Each user in a configuration that pods mount exists.
fn check(cluster: &Cluster) {
    let all = cluster.objects().iter();
    for (_, deployment) in all.filter(|(key, _)| key.kind == Deployment::KIND) {
        let volumes = deployment["spec"]["template"]["spec"]["volumes"]
            .as_array()
            .unwrap();
        let mounted = volumes
            .iter()
            .filter_map(|volume| volume["secret"]["secretName"].as_str());
        for name in mounted.filter(|name| name.contains("-config-")) {
            let config = cluster.value(&key::<Secret>(name), "neutron.conf").unwrap();
            let urls = config.lines().filter_map(|line| line.split_once("://"));
            for (_, url) in urls {
                let user = url
                    .split_once(':')
                    .unwrap()
                    .0
                    .replace("%2E", ".")
                    .replace("%2D", "-");
                assert!(
                    users(cluster).contains(&user),
                    "{user} is gone: {:?}",
                    users(cluster)
                );
            }
        }
    }
}

fn wait(cluster: &mut Cluster, days: i64) {
    cluster.wait(SignedDuration::from_hours(24 * days));
}

fn status(cluster: &Cluster) -> Value {
    let mut status = cluster.get(&rotation()).unwrap()["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    status
}

/// The objects, how often each Secret was generated, and the rotation's status, once the rotation has ended.
fn outcome(cluster: &mut Cluster) -> (Vec<Key>, Vec<(Key, usize)>, Value) {
    settle(cluster);
    wait(cluster, 3);
    settle(cluster);
    let objects = cluster.objects().keys().cloned().collect();
    let generated = cluster.generated().iter();
    let generated = generated.map(|(key, times)| (key.clone(), *times));
    (objects, generated.collect(), status(cluster))
}

#[test]
fn rotation_begins_with_no_user_while_those_that_a_service_reports_are_not_understood() {
    let mut cluster = begun("databaseUser");
    let mut reported = cluster.get(&neutron()).unwrap()["status"].clone();
    reported["databaseUsers"] = json!({ "numbers": "all" });
    cluster.set_status(&neutron(), reported);
    wait(&mut cluster, 8);
    let _ = cluster.reconcile(&CredentialRotationComposer, &rotation());
    assert_eq!(status(&cluster).get("nextCredentialRef"), None);
    let said = cluster.get(&rotation()).unwrap()["status"]["conditions"].to_string();
    let why = "the users that Neutron neutron reports can't be understood";
    assert!(said.contains(why), "{said}");
}

const SECOND: [&str; 4] = ["neutron_cell1.2", "neutron.2", "neutron", "neutron-cell1"];

#[test]
fn database_users_are_replaced_on_schedule_and_stay_for_the_grace_period() {
    let mut cluster = begun("databaseUser");
    let first = ["neutron", "neutron-cell1", "neutron", "neutron-cell1"];
    assert_eq!(users(&cluster), first);
    wait(&mut cluster, 7);
    settle(&mut cluster);
    assert_eq!(users(&cluster), first);
    wait(&mut cluster, 1);
    settle(&mut cluster);
    assert_eq!(users(&cluster).len(), 6);
    let named = |name: &str| json!({ "name": name });
    assert_eq!(status(&cluster)["currentCredentialRef"], named("neutron-2"));
    assert_eq!(
        status(&cluster)["previousCredentialRef"],
        named("neutron-1")
    );
    wait(&mut cluster, 3);
    settle(&mut cluster);
    assert_eq!(users(&cluster), SECOND);
    assert_eq!(status(&cluster).get("previousCredentialRef"), None);
}

#[test]
fn users_that_somebody_else_may_know_are_replaced_at_once() {
    let mut cluster = begun("databaseUser");
    wait(&mut cluster, 1);
    let now = cluster.now().to_string();
    cluster.edit(&rotation(), |rotation| {
        rotation["spec"]["replaceMadeBefore"] = json!(now)
    });
    settle(&mut cluster);
    assert_eq!(users(&cluster), SECOND);
}

/// Reason and message of the rotation's condition RotationScheduled.
fn scheduled(cluster: &Cluster) -> (String, String) {
    condition(cluster, "RotationScheduled")
}

/// Reason and message of a condition of the rotation.
fn condition(cluster: &Cluster, type_: &str) -> (String, String) {
    let [_, reason, message] = cluster.condition(&rotation(), type_).unwrap();
    (reason, message)
}

#[test]
fn rotation_of_users_that_nobody_has_is_told() {
    let mut cluster = begun("databaseUser");
    cluster.edit(&rotation(), |rotation| {
        rotation["spec"]["targetServiceUser"] = json!("tempest")
    });
    settle(&mut cluster);
    assert_eq!(scheduled(&cluster).0, "UserNotFound");
}

#[test]
fn rotation_tells_which_object_has_the_user_too() {
    let mut cluster = begun("databaseUser");
    let other = key::<Manifest<mariadb::User>>("other");
    cluster.put(&other, &json!({ "spec": { "name": "neutron" } }));
    wait(&mut cluster, 8);
    settle(&mut cluster);
    let message = "User other is of the user neutron too, which a rotation of neutron deletes: give it another user, and the \
                   rotation goes on; until then the present user stays in use";
    assert_eq!(
        scheduled(&cluster),
        ("UserShared".to_owned(), message.to_owned())
    );
    cluster.delete(&other);
    settle(&mut cluster);
    wait(&mut cluster, 4);
    settle(&mut cluster);
    assert_eq!(users(&cluster), SECOND);
    assert_eq!(scheduled(&cluster).0, "Ready");
}

#[test]
fn rotation_waits_for_the_secret_that_tells_how_old_a_user_is() {
    let mut cluster = begun("databaseUser");
    cluster.delete(&key::<Secret>("neutron-db-credentials"));
    settle(&mut cluster);
    assert_eq!(
        scheduled(&cluster),
        (
            "WaitingForSecret".to_owned(),
            "waits for Secret neutron-db-credentials, whose age is that of the credential: a rotation needs the Secret under this name"
                .to_owned()
        )
    );
}

#[rstest]
#[case::database("databaseUser", "databaseUsers", "DatabaseUsersReplaced", "databases")]
#[case::bus(
    "messagingUser",
    "messagingUsers",
    "MessagingUsersReplaced",
    "message buses"
)]
fn rotation_tells_which_job_may_have_the_former_users(
    #[case] type_: &str,
    #[case] field: &str,
    #[case] reported: &str,
    #[case] of: &str,
) {
    let mut cluster = begun(type_);
    wait(&mut cluster, 8);
    settle(&mut cluster);
    let mut status = cluster.get(&neutron()).unwrap()["status"].clone();
    status[field] = json!({ "numbers": [1, 2] });
    let conditions = status["conditions"].as_array_mut().unwrap();
    let message = "waits for Job neutron-purge-1 of CronJob neutron-purge";
    conditions.push(json!({
        "type": reported,
        "status": "False",
        "reason": "WaitingForJob",
        "message": message,
    }));
    cluster.set_status(&neutron(), status);
    let composed = cluster.reconcile(&CredentialRotationComposer, &rotation());
    assert!(composed.is_ok());
    let expected = format!(
        "waits for all pods and Jobs of neutron to run with the users of its {of} that have the number 2; older ones stay until \
         then; neutron {message}"
    );
    assert_eq!(
        condition(&cluster, "CredentialInUse"),
        ("WaitingForService".to_owned(), expected)
    );
}

#[rstest]
#[case::database("databaseUser")]
#[case::bus("messagingUser")]
fn killed_after_any_write_a_rotation_of_users_ends_as_if_nothing_had_happened(#[case] type_: &str) {
    let mut undisturbed = begun(type_);
    wait(&mut undisturbed, 8);
    let undisturbed = outcome(&mut undisturbed);
    assert!(undisturbed.1.iter().all(|(_, times)| *times == 1));
    let mut deaths = 0;
    for writes in 1.. {
        let mut cluster = begun(type_);
        wait(&mut cluster, 8);
        if !settle_until(&mut cluster, writes) {
            break;
        }
        deaths += 1;
        assert_eq!(
            outcome(&mut cluster),
            undisturbed,
            "killed after {writes} writes"
        );
    }
    assert!(deaths > 10, "killed {deaths} times only");
}
