//! What users get wrong, and what they are told.

use std::collections::BTreeMap;

use crate::stage::{NAMESPACE, Stage, first, given, secret, without_control_planes};
use provider_composer::Owner;
use provider_composer_testing::secret_with;
use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::json;

#[test]
fn nothing_can_be_without_keystone() {
    let mut stage = Stage::new(json!({ "services": { "keystone": { "enabled": false } } }));
    stage.simulate();
    let (_, reason, message) = stage.condition("Ready");
    assert_eq!(reason, "KeystoneDisabled");
    assert!(message.contains("enable it"), "{message}");
    assert!(stage.nodes().is_empty());
}

#[test]
fn requests_of_the_database_above_its_limits_are_refused_with_their_field() {
    let resources =
        json!({ "requests": { "memory": "8Gi", "cpu": 2 }, "limits": { "memory": "4Gi" } });
    let mut stage = Stage::running(json!({}));
    let before = stage.object(Node::MariaDb).cloned();
    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": { "resources": resources } }));
    stage.simulate();
    let (status, reason, message) = stage.condition("Ready");
    assert_eq!([&*status, &*reason], ["False", "Invalid"]);
    assert_eq!(
        message,
        "spec.infrastructure.mariadb.resources: requests.memory 8Gi is above limits.memory 4Gi: raise the limit or lower the request"
    );
    assert_eq!(stage.object(Node::MariaDb).cloned(), before);
}

#[test]
fn a_control_plane_without_services_has_no_infrastructure() {
    let off = json!({ "enabled": false });
    let services = [
        "keystone",
        "glance",
        "placement",
        "nova",
        "neutron",
        "cinder",
    ];
    let services: serde_json::Map<_, _> = services
        .map(|name| (name.to_owned(), off.clone()))
        .into_iter()
        .collect();
    let stage = Stage::running(json!({ "services": services, "korc": off }));
    assert_eq!(stage.nodes(), Default::default());
}

#[rstest]
#[case::line_break(("password", "s3cret\n"), "InvalidSecret", "line break")]
#[case::empty(("password", ""), "InvalidSecret", "no value under the key password")]
#[case::other_key(("passwort", "s3cret"), "InvalidSecret", "no value under the key password")]
fn a_secret_that_cannot_be_used_is_named(
    #[case] value: (&str, &str),
    #[case] expected: &str,
    #[case] why: &str,
) {
    let mut stage = Stage::new(json!({}));
    stage
        .cluster
        .put(&secret("glance-db-credentials"), &secret_with(&[value]));
    stage.simulate();
    let (_, reason, message) = stage.condition("GlanceReady");
    assert_eq!(reason, expected, "{message}");
    assert!(
        message.contains("glance-db-credentials") && message.contains(why),
        "{message}"
    );
    assert!(!message.contains("s3cret"), "{message}");
    assert!(stage.object(Node::Glance).is_none());
    assert!(stage.object(Node::Cinder).is_some(), "others go ahead");

    stage
        .cluster
        .put(&secret("glance-db-credentials"), &given("s3cret"));
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    let stored = stage.cluster.get(&secret("glance-db-credentials")).unwrap();
    assert_eq!(
        stored["data"],
        given("s3cret")["data"],
        "a user's Secret stays as it is"
    );
    assert!(
        !stage
            .cluster
            .generated()
            .contains_key(&secret("glance-db-credentials"))
    );
}

#[test]
fn generated_passwords_that_pods_have_cannot_be_edited() {
    let stage = Stage::running(json!({}));
    let is_immutable = |name: &str| {
        let secret = stage.cluster.get(&secret(name)).unwrap();
        secret["immutable"] == true
    };
    assert!(is_immutable("glance-db-credentials"));
    assert!(is_immutable("neutron-rabbitmq-credentials"));
    let admin = is_immutable("keystone-admin-credentials");
    assert!(!admin, "a Job sets another password in Keystone");
}

#[test]
fn object_of_another_owner_is_not_taken_over() {
    let mut stage = Stage::new(json!({}));
    let key = Node::MariaDb
        .step()
        .keys(crate::stage::NAMESPACE)
        .next()
        .unwrap();
    let theirs = json!({ "spec": { "replicas": 1, "image": "theirs" } });
    stage.cluster.put(&key, &theirs);
    stage.simulate();
    let (_, reason, message) = stage.condition("InfrastructureReady");
    assert_eq!(reason, "NameTaken");
    assert!(message.contains("MariaDB openstack-db"), "{message}");
    assert_eq!(stage.object(Node::MariaDb).unwrap()["spec"], theirs["spec"]);
    assert!(stage.object(Node::RabbitMq).is_some());
    assert!(stage.object(Node::Keystone).is_none());

    stage.cluster.delete(&key);
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn object_of_another_control_plane_is_named_with_it_and_outlives_this_one() {
    let mut stage = Stage::new(json!({}));
    let labels = Owner {
        kind: "ControlPlane".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: "other".to_owned(),
    };
    let labels: BTreeMap<&str, &str> = labels.labels().into();
    let theirs = json!({ "metadata": { "labels": labels }, "spec": { "replicas": 1 } });
    stage.cluster.put(&first(Node::MariaDb), &theirs);
    stage.simulate();
    let (_, reason, message) = stage.condition("InfrastructureReady");
    assert_eq!(reason, "NameTaken");
    let sentence = "MariaDB openstack-db exists already and is composed for ControlPlane other: delete that ControlPlane, or create \
                    this ControlPlane in another namespace";
    assert!(message.contains(sentence), "{message}");

    let key = stage.key.clone();
    stage.cluster.delete(&key);
    for _ in 0..64 {
        stage.settle();
    }
    assert!(stage.cluster.get(&key).is_none());
    let left = stage.object(Node::MariaDb).unwrap();
    assert_eq!(left["metadata"]["labels"], theirs["metadata"]["labels"]);
    assert_eq!(left["spec"], theirs["spec"]);
}

#[test]
fn what_cannot_be_read_is_neither_made_anew_nor_deleted() {
    let mut stage = Stage::running(json!({}));
    let before = stage.observed();
    let key = Node::Keystone
        .step()
        .keys(crate::stage::NAMESPACE)
        .next()
        .unwrap();
    stage.cluster.set_readable(&key, false);
    stage.settle();
    assert_eq!(stage.condition("KeystoneReady").0, "Unknown");
    crate::stage::assert_same(
        &without_control_planes(stage.observed()),
        &without_control_planes(before),
    );
    stage.cluster.set_readable(&key, true);
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn a_node_that_exists_changes_though_its_needs_are_unready() {
    let mut stage = Stage::running(json!({}));
    stage.held.insert(Node::MariaDb);
    stage.grant();
    stage.want(|spec| spec["services"] = json!({ "glance": { "replicas": 5 } }));
    stage.simulate();
    assert_eq!(stage.object(Node::Glance).unwrap()["spec"]["replicas"], 5);
    assert_eq!(stage.condition("Ready").1, "WaitingForMariaDB");
    assert_eq!(stage.condition("GlanceReady").0, "True");
}
