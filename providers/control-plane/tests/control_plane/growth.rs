//! Volumes of members that are to grow, and what the status says of members.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::sizes::{is_accepted, kept, running, size, with};
use crate::stage::{NAMESPACE, OPERATOR, Stage, first};

const CLAIMS: [(Node, &str, &str); 2] = [
    (Node::MariaDb, "mariadb", "storage-openstack-db"),
    (
        Node::RabbitMq,
        "rabbitmq",
        "persistence-openstack-rabbitmq-server",
    ),
];

/// The claim of a member's volume of 10Gi, as a foreign operator makes it.
pub(crate) fn claim(stage: &mut Stage, name: &str, class: &str) {
    let spec = json!({
        "resources": { "requests": { "storage": "10Gi" } },
        "storageClassName": class,
    });
    let key = Key::of::<PersistentVolumeClaim>(NAMESPACE, name);
    stage.cluster.put(&key, &json!({ "spec": spec }));
}

fn classes(stage: &mut Stage) {
    for (name, expands) in [("fast", true), ("local", false)] {
        let body = json!({ "provisioner": "test", "allowVolumeExpansion": expands });
        let class = Key::of::<StorageClass>("", name);
        stage.cluster.put(&class, &body);
    }
}

fn volumes(stage: &Stage, node: Node) -> String {
    size(stage, node).1
}

/// mariadb-operator stops at a claim that can't grow, and can't return. RabbitMQ's loses its StatefulSet.
#[test]
fn members_grow_only_where_the_class_of_each_volume_allows_it() {
    for (node, piece, claims) in CLAIMS {
        let members = |size: &str| json!({ "replicas": 3, "storageSize": size });
        let mut stage = running(with(piece, &members("10Gi")));
        classes(&mut stage);
        claim(&mut stage, &format!("{claims}-0"), "fast");
        // One of a former member.
        claim(&mut stage, &format!("{claims}-4"), "local");
        stage.want(|spec| spec["infrastructure"] = json!({ piece: members("20Gi") }));
        stage.simulate();
        assert_eq!(volumes(&stage, node), "10Gi");
        let said = kept(&stage);
        let why = "keeps storageSize: 10Gi instead of 20Gi, since allowVolumeExpansion of StorageClass local isn't true: ";
        assert!(said.contains(why), "{said}");

        let local = Key::of::<StorageClass>("", "local");
        stage
            .cluster
            .edit(&local, |class| class["allowVolumeExpansion"] = json!(true));
        stage.simulate();
        assert_eq!(volumes(&stage, node), "20Gi");
        assert!(is_accepted(&stage));
    }
}

#[test]
fn members_grow_once_their_volumes_are_bound_and_can_be_read() {
    for (node, piece, claims) in CLAIMS {
        let members = |size: &str| json!({ "replicas": 1, "storageSize": size });
        let mut stage = running(with(piece, &members("10Gi")));
        classes(&mut stage);
        let name = format!("{claims}-0");
        claim(&mut stage, &name, "fast");
        stage.want(|spec| spec["infrastructure"] = json!({ piece: members("20Gi") }));
        stage.settle();
        assert_eq!(volumes(&stage, node), "10Gi");
        let said = kept(&stage);
        assert!(said.contains("can't grow before it is bound"), "{said}");

        let key = Key::of::<PersistentVolumeClaim>(NAMESPACE, &name);
        stage.cluster.set_readable(&key, false);
        stage.simulate();
        assert_eq!(volumes(&stage, node), "10Gi");
        assert_eq!(stage.condition("SizeAccepted").1, "LookupFailed");

        stage.cluster.set_readable(&key, true);
        stage.simulate();
        assert_eq!(volumes(&stage, node), "20Gi");
        assert!(is_accepted(&stage));
    }
}

/// Its operator has deleted the StatefulSet to let volumes grow, and the API server refused to change the claims.
#[rstest]
#[case::which_is_still_desired("20Gi")]
#[case::which_is_no_longer_desired("10Gi")]
fn rabbitmq_without_a_stateful_set_returns_from_a_size_to_that_of_its_claims(
    #[case] desired: &str,
) {
    let members = |size: &str| json!({ "replicas": 3, "storageSize": size });
    let mut stage = running(with("rabbitmq", &members("10Gi")));
    classes(&mut stage);
    for member in 0..3 {
        let name = format!("persistence-openstack-rabbitmq-server-{member}");
        claim(&mut stage, &name, "local");
    }
    let cluster = first(Node::RabbitMq);
    stage.cluster.edit(&cluster, |cluster| {
        cluster["spec"]["persistence"]["storage"] = json!("20Gi");
    });
    stage.want(|spec| spec["infrastructure"] = json!({ "rabbitmq": members(desired) }));
    stage.simulate();
    assert_eq!(volumes(&stage, Node::RabbitMq), "10Gi");
    assert_eq!(is_accepted(&stage), desired == "10Gi");
    assert_eq!(size(&stage, Node::RabbitMq).0, 3);
}

/// Without a StatefulSet its size is that of the claims that are left.
#[rstest]
#[case::that_is_being_deleted(false)]
#[case::that_is_deleted_after_the_former_cluster(true)]
fn rabbitmq_is_created_again_once_no_claim_is_left(#[case] is_owned: bool) {
    let members = |size: &str| json!({ "replicas": 1, "storageSize": size });
    let mut stage = running(with("rabbitmq", &members("10Gi")));
    let volume = "persistence-openstack-rabbitmq-server-0";
    claim(&mut stage, volume, "fast");
    let volume = Key::of::<PersistentVolumeClaim>(NAMESPACE, volume);
    stage.cluster.hold(volume.kind);
    if is_owned {
        let owner = json!({
            "apiVersion": "rabbitmq.com/v1beta1", "kind": "RabbitmqCluster", "name": "openstack-rabbitmq", "uid": "former",
        });
        stage.cluster.edit(&volume, |claim| {
            claim["metadata"]["ownerReferences"] = json!([owner]);
        });
    } else {
        stage.cluster.delete(&volume);
    }
    stage.want(|spec| spec["infrastructure"] = json!({ "rabbitmq": members("5Gi") }));
    let cluster = first(Node::RabbitMq);
    stage.cluster.delete(&cluster);
    stage.settle();
    assert_eq!(stage.object(Node::RabbitMq), None);
    let (status, reason, said) = stage.condition("InfrastructureReady");
    let waits = ("False", "WaitingForPersistentVolumeClaim");
    assert_eq!((&*status, &*reason), waits);
    let why = format!("RabbitMQ waits for the deletion of {volume}");
    assert!(said.contains(&why), "{said}");

    stage.cluster.set_readable(&volume, false);
    stage.settle();
    assert_eq!(stage.object(Node::RabbitMq), None);
    stage.cluster.set_readable(&volume, true);
    stage.cluster.delete(&volume);
    stage.cluster.release(&volume);
    stage.simulate();
    assert_eq!(volumes(&stage, Node::RabbitMq), "5Gi");
    assert!(is_accepted(&stage));
}

fn said(stage: &Stage, field: &str) -> Value {
    let pointer = format!("/infrastructure/{field}");
    let value = stage.status().pointer(&pointer);
    value.cloned().unwrap_or_default()
}

#[test]
fn status_says_what_runs_rather_than_what_is_desired() {
    let small = json!({ "replicas": 1, "storageSize": "20Gi", "storageClass": "fast" });
    let mut stage = running(json!({ "infrastructure": { "mariadb": small, "rabbitmq": small } }));
    let large = json!({ "replicas": 3, "storageSize": "50Gi", "maxScale": {} });
    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": large, "rabbitmq": small }));
    stage.simulate();
    let runs = json!({ "replicas": 1, "storageSize": "50Gi", "storageClass": "fast" });
    assert_eq!(said(&stage, "mariadb"), runs);
    assert_eq!(said(&stage, "maxScale")["enabled"], true);
    assert_eq!(said(&stage, "rabbitmq"), small);
    let ovn = stage.object(Node::Ovn).unwrap();
    assert_eq!(ovn["spec"]["northbound"]["replicas"], 3, "OVN follows");

    // RabbitMQ's operator goes by its StatefulSet, and what can't be read stays as it was said.
    let servers = Key::of::<StatefulSet>(NAMESPACE, "openstack-rabbitmq-server");
    let requests = json!({ "requests": { "storage": "20Gi" } });
    let volume = json!({ "spec": { "resources": requests, "storageClassName": "fast" } });
    let spec = json!({ "replicas": 3, "volumeClaimTemplates": [volume] });
    stage.cluster.put(&servers, &json!({ "spec": spec }));
    stage.cluster.set_readable(&servers, false);
    stage.simulate();
    assert_eq!(said(&stage, "rabbitmq"), small);
    assert_eq!(said(&stage, "mariadb"), runs);
    stage.cluster.set_readable(&servers, true);
    stage.simulate();
    assert_eq!(said(&stage, "rabbitmq")["replicas"], 3);
}

#[test]
fn mariadb_that_is_deleted_returns_as_it_is_desired() {
    let members = |class: &str| json!({ "replicas": 1, "storageClass": class });
    let mut stage = running(with("mariadb", &members("mistaken")));
    stage.want(|spec| spec["infrastructure"] = json!({ "mariadb": members("fast") }));
    stage.simulate();
    assert_eq!(said(&stage, "mariadb")["storageClass"], "mistaken");
    let said_before = kept(&stage);
    assert!(
        said_before.contains("mistaken instead of fast"),
        "{said_before}"
    );

    let mariadb = first(Node::MariaDb);
    stage.cluster.delete(&mariadb);
    let key = stage.key.clone();
    let composed = stage.cluster.reconcile(&OPERATOR, &key);
    assert!(composed.is_ok());
    assert_eq!(said(&stage, "mariadb"), Value::Null, "there was none");
    stage.simulate();
    assert_eq!(said(&stage, "mariadb")["storageClass"], "fast");
    assert!(is_accepted(&stage));
}

#[test]
fn status_says_nothing_of_what_is_external() {
    let mariadb = json!({ "external": { "host": "db.example.com" } });
    let mut stage = Stage::new(with("mariadb", &mariadb));
    stage.simulate();
    assert_eq!(said(&stage, "mariadb"), Value::Null);
    assert_eq!(said(&stage, "rabbitmq")["replicas"], 3);
}
