//! Databases and virtual hosts that another resource of the same kind uses.

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::mariadb::{self, Database, MariaDb};
use c5c3_kinds::rabbitmq::{self, RabbitmqCluster, Vhost};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use provider_composer::{Custom, Key, Resource, ResourceKind};
use provider_composer_testing::killed::Scene;
use provider_openstack_fixtures::{Cluster, NAMESPACE, TOY, Toy, ToySpec, documents};
use rstest::rstest;
use serde_json::{Value, json};

/// What to do for a database and a virtual host of which a resource has no object.
const NAME: [&str; 2] = [
    "name another in database.database",
    "name another in messaging.vhost",
];
/// What to do for each of which it has one.
const READ: &str = "before you delete anything, read \"Run two services of one kind in a namespace\" in docs/services.md";

/// A running Toy, and a minute later a second one that names no database and no virtual host of its own either.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.credentials(&TOY);
    cluster.keystone(true);
    cluster.put_document::<Custom<ToySpec>>(documents::TOY);
    cluster.settle(&Toy, "toy");
    cluster.wait(SignedDuration::from_mins(1));
    let certificate = [("tls.crt", "certificate"), ("tls.key", "tls-s3cret")];
    cluster.secret("second-tls", &certificate);
    let second = documents::TOY.replace("name: toy,", "name: second,");
    cluster.put_document::<Custom<ToySpec>>(&second);
    cluster
}

/// Has a Toy name a database and a virtual host.
fn name(cluster: &mut Cluster, toy: &str, name: &str) {
    cluster.change::<Custom<ToySpec>>(toy, |toy| {
        toy["spec"]["database"]["database"] = json!(name);
        toy["spec"]["messaging"]["vhost"] = json!(name);
    });
}

/// All objects that there are.
fn keys(cluster: &mut Cluster) -> Vec<Key> {
    cluster.cluster().objects().keys().cloned().collect()
}

fn place<T: Resource>(cluster: &Cluster, object: &str) -> Option<String> {
    let object = cluster.get::<T>(object)?;
    object["spec"]["name"].as_str().map(str::to_owned)
}

/// What both objects of a Toy are of in their servers.
fn places(cluster: &Cluster, toy: &str) -> [Option<String>; 2] {
    [
        place::<Manifest<Database>>(cluster, toy),
        place::<Manifest<Vhost>>(cluster, toy),
    ]
}

fn named(name: &str) -> [Option<String>; 2] {
    [name, name].map(|name| Some(name.to_owned()))
}

/// Checks that the second Toy doesn't use what the first one uses, and says what to do for its database and its virtual host.
fn assert_refused(cluster: &Cluster, remedies: [&str; 2]) {
    let places = [
        (
            "DatabaseReady",
            "Database toy of Toy toy already uses the database toy of MariaDB openstack-db",
        ),
        (
            "MessagingReady",
            "Vhost toy of Toy toy already uses the virtual host toy of RabbitMQ openstack-rabbitmq",
        ),
    ];
    for ((condition, used), remedy) in places.into_iter().zip(remedies) {
        assert_eq!(
            cluster.condition(&Toy, "second", condition),
            (
                "False".to_owned(),
                "DataShared".to_owned(),
                format!("{used}: {remedy}")
            )
        );
    }
    assert_eq!(cluster.condition(&Toy, "second", "Stalled").0, "True");
}

fn assert_ready(cluster: &mut Cluster, toy: &str) {
    cluster.settle(&Toy, toy);
    let (status, _, message) = cluster.condition(&Toy, toy, "Ready");
    assert_eq!(status, "True", "{toy}: {message}");
}

#[test]
fn second_resource_of_a_kind_does_not_use_the_database_and_virtual_host_of_the_first() {
    let mut cluster = given();
    cluster.settle(&Toy, "second");
    assert_refused(&cluster, NAME);
    assert_eq!(places(&cluster, "second"), [None, None]);
    let jobs = cluster.all::<Job>();
    assert!(jobs.keys().all(|job| job.starts_with("toy")), "{jobs:?}");
    assert!(cluster.get::<Deployment>("second").is_none());
    assert_ready(&mut cluster, "toy");
    assert_eq!(places(&cluster, "toy"), named("toy"));

    name(&mut cluster, "second", "other");
    assert_ready(&mut cluster, "second");
    assert_eq!(places(&cluster, "second"), named("other"));
    assert_ready(&mut cluster, "toy");
}

/// Two running Toys with one database and one virtual host, as an earlier version of the operator leaves them.
fn sharing() -> Cluster {
    let mut cluster = given();
    name(&mut cluster, "second", "other");
    assert_ready(&mut cluster, "second");
    let set = |object: &mut Value| object["spec"]["name"] = json!("toy");
    cluster.change::<Manifest<Database>>("second", set);
    cluster.change::<Manifest<Vhost>>("second", set);
    name(&mut cluster, "second", "toy");
    cluster
}

#[rstest]
#[case::that_runs(1, true)]
#[case::between_two_tries(0, false)]
fn migration_of_a_refused_resource_stays_only_while_it_runs(
    #[case] ready: i32,
    #[case] stays: bool,
) {
    let mut cluster = sharing();
    let jobs = cluster.all::<Job>();
    let mut names = jobs.keys().filter(|job| job.starts_with("second"));
    let job = names.next().unwrap().to_string();
    cluster.change::<Job>(&job, |job| {
        job["status"] = json!({ "active": 1, "ready": ready });
    });
    cluster.settle(&Toy, "second");
    assert_eq!(cluster.get::<Job>(&job).is_some(), stays);
}

#[test]
fn resource_with_the_older_objects_goes_on_where_two_have_objects() {
    let mut cluster = sharing();
    cluster.settle(&Toy, "second");
    assert_refused(&cluster, [READ; 2]);
    assert_eq!(
        places(&cluster, "second"),
        named("toy"),
        "nothing is deleted"
    );
    assert!(cluster.get::<Deployment>("second").is_some());
    assert_ready(&mut cluster, "toy");
}

#[test]
fn resource_that_names_what_a_younger_one_uses_is_refused() {
    let mut cluster = given();
    name(&mut cluster, "second", "other");
    assert_ready(&mut cluster, "second");
    name(&mut cluster, "toy", "other");
    cluster.settle(&Toy, "toy");
    let (status, reason, _) = cluster.condition(&Toy, "toy", "DatabaseReady");
    assert_eq!([&*status, &*reason], ["False", "DataShared"]);
    assert_eq!(places(&cluster, "toy"), named("toy"));
    assert_ready(&mut cluster, "second");

    name(&mut cluster, "toy", "toy");
    assert_ready(&mut cluster, "toy");
}

#[test]
fn refused_resource_keeps_its_users_after_a_rotation() {
    let mut cluster = given();
    let servers = ["database", "messaging"];
    for server in servers {
        let secret = format!("second-{server}");
        cluster.secret(&secret, &[("username", "second"), ("password", "s3cret")]);
        cluster.change::<Custom<ToySpec>>("second", |toy| {
            toy["spec"][server] = json!({ "secretRef": { "name": secret } });
        });
    }
    name(&mut cluster, "second", "other");
    assert_ready(&mut cluster, "second");
    for server in servers {
        let rotation = json!({
            "spec": { "targetServiceUser": "second", "rotationType": format!("{server}User") },
            "status": { "nextCredentialRef": { "name": "second-2" } },
        });
        cluster.put::<Custom<CredentialRotationSpec>>(server, rotation);
    }
    assert_ready(&mut cluster, "second");
    let before = keys(&mut cluster);
    for kind in [
        Manifest::<mariadb::User>::KIND,
        Manifest::<mariadb::Grant>::KIND,
        Manifest::<rabbitmq::User>::KIND,
        Manifest::<rabbitmq::Permission>::KIND,
    ] {
        let user = Key::new(kind, NAMESPACE, "second-credentials-2");
        assert!(before.contains(&user), "{user}");
    }

    name(&mut cluster, "second", "toy");
    cluster.settle(&Toy, "second");
    assert_refused(&cluster, NAME);
    assert_eq!(keys(&mut cluster), before);
}

#[rstest]
#[case::database(Manifest::<Database>::KIND, "DatabaseReady")]
#[case::virtual_host(Manifest::<Vhost>::KIND, "MessagingReady")]
fn resource_keeps_all_it_has_while_it_is_unknown_what_others_use(
    #[case] kind: ResourceKind,
    #[case] condition: &str,
) {
    let mut cluster = given();
    let before = keys(&mut cluster);
    cluster.set_readable(kind, false);
    cluster.settle(&Toy, "toy");
    let (status, reason, _) = cluster.condition(&Toy, "toy", condition);
    assert_eq!([&*status, &*reason], ["Unknown", "LookupFailed"]);
    assert_eq!(keys(&mut cluster), before);

    cluster.set_readable(kind, true);
    assert_ready(&mut cluster, "toy");
}

#[test]
fn field_that_is_removed_from_a_database_by_hand_is_restored() {
    let mut cluster = given();
    cluster.change::<Manifest<Database>>("toy", |database| {
        let spec = database["spec"].as_object_mut();
        spec.unwrap().remove("cleanupPolicy");
    });
    assert_ready(&mut cluster, "toy");
    let database = cluster.get::<Manifest<Database>>("toy").unwrap();
    assert_eq!(database["spec"]["cleanupPolicy"], "Skip");
}

/// Others name objects as they like, and labels of another tool say nothing.
#[test]
fn objects_that_no_operator_composed_refuse_no_resource() {
    let mut cluster = given();
    name(&mut cluster, "second", "other");
    let labels = json!({ "app.kubernetes.io/name": "toy", "app.kubernetes.io/instance": "third" });
    let server = json!({ "name": "openstack-db" });
    let database = json!({
        "metadata": { "labels": labels },
        "spec": { "mariaDbRef": server, "name": "other" },
    });
    cluster.put::<Manifest<Database>>("third", database);
    assert_ready(&mut cluster, "second");
}

#[test]
fn resources_of_a_kind_may_have_one_name_in_several_servers() {
    let mut cluster = given();
    let ready = json!([
        { "type": "Ready", "status": "True" },
        { "type": "ClusterAvailable", "status": "True" },
    ]);
    let server = json!({ "spec": {}, "status": { "conditions": ready } });
    cluster.put::<Manifest<MariaDb>>("db-b", server.clone());
    cluster.put::<Manifest<RabbitmqCluster>>("bus-b", server);
    cluster.change::<Custom<ToySpec>>("second", |toy| {
        toy["spec"]["database"] = json!({ "clusterRef": { "name": "db-b" } });
        toy["spec"]["messaging"] = json!({ "clusterRef": { "name": "bus-b" } });
    });
    assert_ready(&mut cluster, "second");
    assert_eq!(places(&cluster, "second"), named("toy"));
}
