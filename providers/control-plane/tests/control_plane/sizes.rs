//! Changes of the size of databases, message buses and backups that run.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage, first};

pub(crate) fn running(mut spec: Value) -> Stage {
    spec["openStackRelease"] = json!("2025.2");
    Stage::running(spec)
}

pub(crate) fn with(piece: &str, value: &Value) -> Value {
    json!({ "infrastructure": { piece: value } })
}

/// Replicas, size and class of a MariaDB or a RabbitmqCluster.
pub(crate) fn size(stage: &Stage, node: Node) -> (u64, String, Option<String>) {
    let spec = &stage.object(node).unwrap()["spec"];
    let volumes = match node {
        Node::MariaDb => &spec["storage"],
        _ => &spec["persistence"],
    };
    let size = volumes.get("size").unwrap_or(&volumes["storage"]);
    let class = volumes["storageClassName"].as_str();
    (
        spec["replicas"].as_u64().unwrap(),
        size.as_str().unwrap().to_owned(),
        class.map(str::to_owned),
    )
}

fn is_galera(stage: &Stage) -> bool {
    stage.object(Node::MariaDb).unwrap()["spec"]["galera"]["enabled"] == true
}

/// What SizeAccepted says while it is False; the control plane is Ready all the same.
pub(crate) fn kept(stage: &Stage) -> String {
    let (status, reason, message) = stage.condition("SizeAccepted");
    assert_eq!((&*status, &*reason), ("False", "Unsupported"));
    assert_eq!(stage.condition("Ready").0, "True");
    assert!(
        message.contains("recreate MariaDB or RabbitMQ, and restore a backup"),
        "{message}"
    );
    message
}

pub(crate) fn is_accepted(stage: &Stage) -> bool {
    stage
        .cluster
        .condition(&stage.key, "SizeAccepted")
        .is_none()
}

#[rstest]
#[case::one_member_stays_one(
    json!({ "replicas": 1, "storageSize": "20Gi" }),
    json!({ "replicas": 3, "storageSize": "50Gi" }),
    (1, "50Gi", None),
    "MariaDB keeps replicas: 1 instead of 3"
)]
#[case::galera_stays_galera(
    json!({ "replicas": 3, "storageSize": "50Gi" }),
    json!({ "replicas": 1, "storageSize": "20Gi" }),
    (3, "50Gi", None),
    "MariaDB keeps replicas: 3 instead of 1 and storageSize: 50Gi instead of 20Gi"
)]
#[case::volumes_do_not_shrink(
    json!({ "replicas": 3, "storageSize": "50Gi" }),
    json!({ "replicas": 5, "storageSize": "20Gi" }),
    (5, "50Gi", None),
    "MariaDB keeps storageSize: 50Gi instead of 20Gi"
)]
#[case::volumes_keep_their_class(
    json!({ "storageSize": "50Gi", "storageClass": "fast" }),
    json!({ "storageSize": "60Gi", "storageClass": "slow" }),
    (3, "60Gi", Some("fast")),
    "MariaDB keeps storageClass: fast instead of slow"
)]
#[case::volumes_keep_the_default_class(
    json!({ "storageSize": "50Gi" }),
    json!({ "storageSize": "50Gi", "storageClass": "fast" }),
    (3, "50Gi", None),
    "MariaDB keeps storageClass: the cluster's default instead of fast"
)]
fn mariadb_keeps_what_its_operator_cannot_change(
    #[case] before: Value,
    #[case] after: Value,
    #[case] applied: (u64, &str, Option<&str>),
    #[case] message: &str,
) {
    let mut stage = running(with("mariadb", &before));
    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": after }));
    stage.simulate();
    let (replicas, volume, class) = applied;
    assert_eq!(
        size(&stage, Node::MariaDb),
        (replicas, volume.to_owned(), class.map(str::to_owned))
    );
    assert_eq!(is_galera(&stage), replicas > 1);
    let said = kept(&stage);
    assert!(said.starts_with(&format!("{message}: ")), "{said}");

    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": before }));
    stage.simulate();
    if applied.1 == before["storageSize"] {
        assert!(is_accepted(&stage));
    }
}

#[test]
fn mariadb_gets_and_loses_members_of_a_galera_cluster() {
    let mut stage = running(with(
        "mariadb",
        &json!({ "replicas": 3, "storageSize": "20Gi" }),
    ));
    for (replicas, storage) in [(5, "50Gi"), (3, "60Gi")] {
        let mariadb = json!({ "replicas": replicas, "storageSize": storage });
        stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": mariadb }));
        stage.simulate();
        let applied = (replicas, storage.to_owned(), None);
        assert_eq!(size(&stage, Node::MariaDb), applied);
        assert!(is_galera(&stage) && is_accepted(&stage));
    }
}

/// mariadb-operator doesn't remove a MaxScale, through which services connect.
#[test]
fn mariadb_keeps_its_max_scale() {
    let mut stage = running(with("mariadb", &json!({ "maxScale": { "replicas": 3 } })));
    stage.want(|spec| spec["infrastructure"] = json!({}));
    stage.simulate();
    let mariadb = stage.object(Node::MariaDb).unwrap();
    let max_scale = json!({ "enabled": true, "replicas": 3 });
    assert_eq!(mariadb["spec"]["maxScale"], max_scale);
    assert_eq!(mariadb["spec"]["tls"]["required"], true);
    let said = kept(&stage);
    let message = "MariaDB keeps maxScale: enabled instead of disabled: ";
    assert!(said.starts_with(message), "{said}");
}

#[test]
fn max_scale_that_is_not_understood_changes_nothing() {
    let mut stage = running(with("mariadb", &json!({ "maxScale": { "replicas": 3 } })));
    let mariadb = first(Node::MariaDb);
    let odd = json!({ "enabled": true, "replicas": "three" });
    stage.cluster.edit(&mariadb, |mariadb| {
        mariadb["spec"]["maxScale"] = odd.clone();
    });
    stage.want(|spec| spec["infrastructure"] = json!({}));
    stage.simulate();
    assert_eq!(
        stage.object(Node::MariaDb).unwrap()["spec"]["maxScale"],
        odd
    );
    let (status, _, message) = stage.condition("SizeAccepted");
    assert_eq!(status, "Unknown");
    let named = "MariaDB openstack-db: maxScale: ";
    assert!(message.starts_with(named), "{message}");
}

#[test]
fn mariadb_keeps_its_pull_secrets() {
    let images = |name: &str| json!({ "images": { "pullSecrets": [{ "name": name }] } });
    let mut stage = running(json!({ "global": images("mirror"), "backup": {} }));
    stage.want(|spec| spec["global"] = images("other"));
    stage.simulate();
    let secrets = |node| stage.object(node).unwrap()["spec"]["imagePullSecrets"].clone();
    assert_eq!(secrets(Node::MariaDb), json!([{ "name": "mirror" }]));
    assert_eq!(secrets(Node::RabbitMq), json!([{ "name": "other" }]));
    let said = kept(&stage);
    let message = "MariaDB keeps imagePullSecrets: [mirror] instead of [other]: ";
    assert!(said.starts_with(message), "{said}");
}

#[rstest]
#[case::members_are_not_removed(
    json!({ "replicas": 3, "storageSize": "20Gi" }),
    json!({ "replicas": 1, "storageSize": "10Gi" }),
    (3, "20Gi", None),
    "RabbitMQ keeps replicas: 3 instead of 1 and storageSize: 20Gi instead of 10Gi"
)]
#[case::volumes_keep_their_class(
    json!({ "replicas": 1, "storageSize": "20Gi", "storageClass": "fast" }),
    json!({ "replicas": 3, "storageSize": "30Gi", "storageClass": "slow" }),
    (3, "30Gi", Some("fast")),
    "RabbitMQ keeps storageClass: fast instead of slow"
)]
fn rabbitmq_keeps_what_its_operator_cannot_change(
    #[case] before: Value,
    #[case] after: Value,
    #[case] applied: (u64, &str, Option<&str>),
    #[case] message: &str,
) {
    let mut stage = running(with("rabbitmq", &before));
    stage.want(|spec| spec["infrastructure"] = json!({ "rabbitmq": after }));
    stage.simulate();
    let (replicas, volume, class) = applied;
    assert_eq!(
        size(&stage, Node::RabbitMq),
        (replicas, volume.to_owned(), class.map(str::to_owned))
    );
    let said = kept(&stage);
    assert!(said.starts_with(&format!("{message}: ")), "{said}");
}

#[test]
fn rabbitmq_gets_members_and_larger_volumes() {
    let mut stage = running(with(
        "rabbitmq",
        &json!({ "replicas": 1, "storageSize": "10Gi" }),
    ));
    let rabbitmq = json!({ "replicas": 3, "storageSize": "20Gi" });
    stage.want(|spec| spec["infrastructure"] = json!({ "rabbitmq": rabbitmq }));
    stage.simulate();
    assert_eq!(size(&stage, Node::RabbitMq), (3, "20Gi".to_owned(), None));
    assert!(is_accepted(&stage));
}

/// The first node doesn't restart before its queues have other members, and knows only the settings that it started with.
#[test]
fn rabbitmq_of_one_member_has_the_settings_of_three() {
    let settings = |replicas: u32| {
        let stage = running(with("rabbitmq", &json!({ "replicas": replicas })));
        let cluster = stage.object(Node::RabbitMq).unwrap();
        cluster["spec"]["rabbitmq"]["additionalConfig"].to_string()
    };
    let of_one = settings(1);
    assert!(of_one.contains("target_group_size = 3\\n"), "{of_one}");
    assert_eq!(of_one, settings(3));
    assert!(settings(5).contains("target_group_size = 5\\n"));
}

/// Two versions later, its members wouldn't start any more.
#[test]
fn rabbitmq_has_the_feature_flags_of_its_version_enabled() {
    let stage = running(json!({}));
    let cluster = stage.object(Node::RabbitMq).unwrap();
    assert_eq!(cluster["spec"]["autoEnableAllFeatureFlags"], true);
}

/// A RabbitmqCluster that was changed before its operator could follow has more members than it says.
#[test]
fn rabbitmq_keeps_the_members_of_its_stateful_set() {
    let mut stage = running(with(
        "rabbitmq",
        &json!({ "replicas": 1, "storageSize": "10Gi" }),
    ));
    let servers = Key::of::<StatefulSet>(NAMESPACE, "openstack-rabbitmq-server");
    let requests = json!({ "requests": { "storage": "20Gi" } });
    let volume =
        json!({ "metadata": { "name": "persistence" }, "spec": { "resources": requests } });
    let spec = json!({ "replicas": 3, "volumeClaimTemplates": [volume] });
    stage.cluster.put(&servers, &json!({ "spec": spec }));
    stage.simulate();
    let applied = (3, "20Gi".to_owned(), None);
    assert_eq!(size(&stage, Node::RabbitMq), applied);
    let said = kept(&stage);
    assert!(said.contains("replicas: 3 instead of 1"), "{said}");

    stage.cluster.set_readable(&servers, false);
    stage.want(|spec| {
        spec["infrastructure"] = json!({ "rabbitmq": { "replicas": 5, "storageSize": "50Gi" } });
    });
    stage.simulate();
    assert_eq!(size(&stage, Node::RabbitMq), applied, "it isn't known");
    let (status, reason, message) = stage.condition("SizeAccepted");
    assert_eq!((&*status, &*reason), ("Unknown", "LookupFailed"));
    assert!(message.contains("openstack-rabbitmq-server"), "{message}");

    stage.cluster.set_readable(&servers, true);
    stage.simulate();
    assert_eq!(size(&stage, Node::RabbitMq), (5, "50Gi".to_owned(), None));
    assert!(is_accepted(&stage));
}

#[test]
fn size_that_is_not_understood_changes_nothing() {
    let mut stage = running(with(
        "mariadb",
        &json!({ "replicas": 3, "storageSize": "20Gi" }),
    ));
    let mariadb = first(Node::MariaDb);
    stage.cluster.edit(&mariadb, |mariadb| {
        mariadb["spec"]["storage"]["size"] = json!("1.5Ti");
    });
    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": { "replicas": 1 } }));
    stage.simulate();
    assert_eq!(size(&stage, Node::MariaDb), (3, "1.5Ti".to_owned(), None));
    let (status, _, message) = stage.condition("SizeAccepted");
    assert_eq!(status, "Unknown");
    assert!(
        message.starts_with("MariaDB openstack-db: \"1.5Ti\" is not a valid size"),
        "{message}"
    );
}

/// Size and class of the volume of the backups.
fn volume(stage: &Stage) -> Value {
    let claim = Key::of::<PersistentVolumeClaim>(NAMESPACE, "openstack-db-backup");
    let spec = &stage.cluster.get(&claim).unwrap()["spec"];
    json!([
        spec["resources"]["requests"]["storage"],
        spec["storageClassName"]
    ])
}

#[test]
fn volume_of_backups_grows_where_its_class_allows_it_and_never_shrinks() {
    let storage = |size: &str, class: &str| {
        let storage = json!({ "size": size, "storageClass": class });
        json!({ "storage": storage })
    };
    let mut stage = running(json!({ "backup": storage("50Gi", "archive") }));
    let mut change = |backup: Value| {
        stage.want(|spec| spec["backup"] = backup);
        stage.simulate();
        let said = if is_accepted(&stage) {
            String::new()
        } else {
            kept(&stage)
        };
        (volume(&stage), said)
    };
    let (volume, said) = change(storage("20Gi", "other"));
    assert_eq!(volume, json!(["50Gi", "archive"]));
    let message = "PersistentVolumeClaim openstack-db-backup keeps size: 50Gi instead of 20Gi and storageClass: archive \
                   instead of other: ";
    assert!(said.starts_with(message), "{said}");

    let (volume, said) = change(storage("60Gi", "archive"));
    assert_eq!(volume, json!(["50Gi", "archive"]));
    assert!(said.contains("there is no StorageClass archive"), "{said}");
}

#[test]
fn volume_of_backups_follows_the_spec_once_its_class_is_there() {
    let storage = |size: &str| json!({ "storage": { "size": size, "storageClass": "archive" } });
    let mut stage = running(json!({ "backup": storage("50Gi") }));
    let class = Key::of::<StorageClass>("", "archive");
    let body = json!({ "provisioner": "test", "allowVolumeExpansion": true });
    stage.cluster.put(&class, &body);
    stage.cluster.set_readable(&class, false);
    stage.want(|spec| spec["backup"] = storage("60Gi"));
    stage.simulate();
    assert_eq!(volume(&stage), json!(["50Gi", "archive"]));
    assert_eq!(stage.condition("SizeAccepted").1, "LookupFailed");

    stage.cluster.set_readable(&class, true);
    stage.simulate();
    assert_eq!(volume(&stage), json!(["60Gi", "archive"]));
    assert!(is_accepted(&stage));
}
