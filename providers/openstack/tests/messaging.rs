//! The message bus of a service.

use c5c3_api::neutron::NeutronSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::rabbitmq::{Permission, RabbitmqCluster, User, Vhost};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_openstack_fixtures::{Cluster, MessagingOnly};
use serde_json::{Value, json};

const NEUTRON: MessagingOnly = MessagingOnly;
const SECRET: &str = "neutron-rabbitmq-credentials";

fn given(messaging: Value, secret: &[(&str, &str)]) -> Cluster {
    let mut cluster = Cluster::default();
    let neutron = json!({
        "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
        "kind": "Neutron",
        "metadata": { "name": "neutron", "namespace": "openstack" },
        "spec": { "release": "2025.2", "ovn": {}, "messaging": messaging },
    });
    cluster.put_document::<Custom<NeutronSpec>>(&neutron.to_string());
    cluster.secret(SECRET, secret);
    cluster
}

/// A RabbitMQ in this cluster, with ready objects.
fn managed() -> Cluster {
    let credentials = [("username", "neutron"), ("password", "s3cret")];
    let mut cluster = given(json!({}), &credentials);
    cluster.put::<Manifest<RabbitmqCluster>>("openstack-rabbitmq", json!({ "spec": {} }));
    cluster.settle(&NEUTRON, "neutron");
    cluster
}

/// What a file of its configuration says.
fn said(cluster: &Cluster, file: &str) -> Option<String> {
    let secrets = cluster.all::<Secret>();
    let config = secrets.keys().find(|name| name.contains("-config-"))?;
    cluster.value(config, file)
}

fn ready(cluster: &Cluster) -> (String, String, String) {
    cluster.condition(&NEUTRON, "neutron", "MessagingReady")
}

#[test]
fn virtual_host_has_a_user_with_all_permissions() {
    let cluster = managed();
    assert_eq!(ready(&cluster).0, "True");
    let here = json!({ "name": "openstack-rabbitmq" });
    assert_eq!(
        cluster.get::<Manifest<Vhost>>("neutron").unwrap()["spec"],
        json!({ "name": "neutron", "rabbitmqClusterReference": here })
    );
    assert_eq!(
        cluster.get::<Manifest<User>>("neutron").unwrap()["spec"],
        json!({ "importCredentialsSecret": { "name": SECRET }, "rabbitmqClusterReference": here })
    );
    assert_eq!(
        cluster.get::<Manifest<Permission>>("neutron").unwrap()["spec"],
        json!({
            "vhost": "neutron",
            "user": "neutron",
            "permissions": { "configure": ".*", "write": ".*", "read": ".*" },
            "rabbitmqClusterReference": here,
        })
    );
    assert_eq!(
        said(&cluster, "neutron.conf").unwrap(),
        "[DEFAULT]\n\
         transport_url = rabbit://neutron:s3cret@openstack-rabbitmq.openstack.svc:5672/neutron\n\
         \n\
         [oslo_concurrency]\n\
         lock_path = /tmp\n\
         \n\
         [oslo_messaging_rabbit]\n\
         rabbit_quorum_queue = true\n\
         rabbit_transient_quorum_queue = true\n\
         use_queue_manager = true\n"
    );
    assert_eq!(
        said(&cluster, "place").unwrap(),
        "openstack-rabbitmq.openstack.svc:5672/neutron"
    );
}

#[rstest::rstest]
#[case::private(&[("ca.crt", "authority")], "/etc/neutron/config/messaging-ca.crt", Some("authority"))]
#[case::public(&[("tls.crt", "certificate")], "/etc/ssl/certs/ca-certificates.crt", None)]
fn services_check_the_certificate_of_an_encrypted_bus(
    #[case] certificate: &[(&str, &str)],
    #[case] file: &str,
    #[case] authority: Option<&str>,
) {
    let mut cluster = managed();
    cluster.secret("openstack-rabbitmq-tls", certificate);
    cluster.change::<Manifest<RabbitmqCluster>>("openstack-rabbitmq", |bus| {
        bus["spec"]["tls"] = json!({ "secretName": "openstack-rabbitmq-tls" });
    });
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        said(&cluster, "neutron.conf").unwrap(),
        format!(
            "[DEFAULT]\n\
             transport_url = rabbit://neutron:s3cret@openstack-rabbitmq.openstack.svc:5671/neutron\n\
             \n\
             [oslo_concurrency]\n\
             lock_path = /tmp\n\
             \n\
             [oslo_messaging_rabbit]\n\
             rabbit_quorum_queue = true\n\
             rabbit_transient_quorum_queue = true\n\
             ssl = true\n\
             ssl_ca_file = {file}\n\
             use_queue_manager = true\n"
        )
    );
    assert_eq!(said(&cluster, "messaging-ca.crt").as_deref(), authority);
}

#[rstest::rstest]
#[case::bus("openstack-rabbitmq", "RabbitmqCluster openstack-rabbitmq: no room")]
#[case::vhost("neutron", "Vhost neutron: no room")]
fn each_part_is_waited_for(#[case] name: &str, #[case] expected: &str) {
    let mut cluster = managed();
    let conditions = |type_: &str| json!([{ "type": type_, "status": "False", "reason": "Full", "message": "no room" }]);
    match name {
        "neutron" => cluster.change::<Manifest<Vhost>>(name, |made| {
            made["status"]["conditions"] = conditions("Ready");
        }),
        _ => cluster.change::<Manifest<RabbitmqCluster>>(name, |bus| {
            bus["status"]["conditions"] = conditions("ClusterAvailable");
        }),
    }
    cluster.settle(&NEUTRON, "neutron");
    let (status, reason, message) = ready(&cluster);
    assert_eq!((&*status, &*reason), ("False", "WaitingForMessaging"));
    assert!(message.contains(expected), "{message}");
}

#[test]
fn password_that_rabbitmqs_operator_did_not_take_is_reported() {
    let mut cluster = managed();
    let changed = [("username", "neutron"), ("password", "an0ther")];
    cluster.secret(SECRET, &changed);
    cluster.settle(&NEUTRON, "neutron");
    let (status, reason, message) = ready(&cluster);
    assert_eq!((&*status, &*reason), ("False", "PasswordNotTaken"));
    assert!(
        message.contains("delete User and Permission neutron"),
        "{message}"
    );

    cluster.secret("neutron-user-credentials", &changed);
    cluster.settle(&NEUTRON, "neutron");
    assert!(
        said(&cluster, "neutron.conf")
            .unwrap()
            .contains(":an0ther@")
    );
}

#[test]
fn password_is_the_imported_one_where_rabbitmqs_operator_makes_no_copy() {
    let mut cluster = managed();
    cluster.change::<Manifest<User>>("neutron", |user| {
        user["status"]["credentials"] = json!({ "name": SECRET });
    });
    cluster.delete::<Secret>("neutron-user-credentials");
    cluster.secret(SECRET, &[("username", "neutron"), ("password", "an0ther")]);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(ready(&cluster).0, "True");
    let config = said(&cluster, "neutron.conf").unwrap();
    assert!(config.contains(":an0ther@"), "{config}");
}

#[test]
fn user_without_credentials_is_waited_for() {
    let mut cluster = managed();
    cluster.change::<Manifest<User>>("neutron", |user| {
        user["status"]["credentials"] = Value::Null;
    });
    cluster.settle(&NEUTRON, "neutron");
    let (status, reason, message) = ready(&cluster);
    assert_eq!((&*status, &*reason), ("False", "WaitingForMessaging"));
    assert_eq!(message, "waits for the credentials of User neutron");
}

#[test]
fn resources_of_rabbitmq_stay_without_their_secret() {
    let mut cluster = managed();
    cluster.delete::<Secret>(SECRET);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(ready(&cluster).1, "WaitingForSecret");
    assert!(cluster.get::<Manifest<Vhost>>("neutron").is_some());
    assert!(cluster.get::<Manifest<User>>("neutron").is_some());
    assert!(cluster.get::<Manifest<Permission>>("neutron").is_some());
}

#[rstest::rstest]
#[case::hosts(
    json!({ "hosts": ["one.example.com", "[2001:db8::1]:5673"], "vhost": "a/b" }),
    &[("username", "me@x"), ("password", "p:/%")],
    "rabbit://me%40x:p%3A%2F%25@one.example.com:5672,me%40x:p%3A%2F%25@[2001:db8::1]:5673/a%2Fb"
)]
#[case::secret(
    json!({}),
    &[("password", "hush"), ("host", "bus.example.com"), ("port", "5671")],
    "rabbit://neutron:hush@bus.example.com:5671/neutron"
)]
#[case::key(
    json!({ "hosts": ["bus.example.com"], "secretRef": { "name": SECRET, "key": "rabbit" } }),
    &[("rabbit", "hush")],
    "rabbit://neutron:hush@bus.example.com:5672/neutron"
)]
#[case::encrypted(
    json!({ "hosts": ["bus.example.com"] }),
    &[("password", "hush"), ("ca.crt", "authority")],
    "rabbit://neutron:hush@bus.example.com:5671/neutron"
)]
fn nothing_is_created_in_an_external_bus(
    #[case] messaging: Value,
    #[case] secret: &[(&str, &str)],
    #[case] url: &str,
) {
    let mut cluster = given(messaging, secret);
    cluster.settle(&NEUTRON, "neutron");
    let conf = said(&cluster, "neutron.conf").unwrap();
    assert!(conf.contains(&format!("transport_url = {url}\n")), "{conf}");
    assert!(cluster.all::<Manifest<Vhost>>().is_empty());
    assert!(cluster.all::<Manifest<User>>().is_empty());
    assert!(cluster.all::<Manifest<Permission>>().is_empty());
}

#[rstest::rstest]
#[case(json!({}), &[("username", "neutron")], "has no value under the key password")]
#[case(json!({}), &[("password", "hush")], "has no value under the key username")]
#[case(json!({}), &[("password", "hush"), ("host", "a"), ("port", "many")], "key port of Secret")]
#[case(
    json!({ "clusterRef": { "name": "bus" }, "secretRef": { "name": SECRET, "key": "rabbit" } }),
    &[("username", "neutron"), ("rabbit", "hush")],
    "RabbitMQ's operator reads passwords under password"
)]
fn a_secret_that_lacks_something_is_told(
    #[case] messaging: Value,
    #[case] secret: &[(&str, &str)],
    #[case] expected: &str,
) {
    let mut cluster = given(messaging, secret);
    cluster.settle(&NEUTRON, "neutron");
    let (status, reason, message) = ready(&cluster);
    assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
    assert!(message.contains(expected), "{message}");
    assert!(!message.contains("hush"), "{message}");
    assert!(cluster.all::<Manifest<User>>().is_empty());
}
