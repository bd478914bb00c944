//! A control plane goes in the reverse order of the graph.

use std::collections::BTreeSet;

use crate::stage::{Stage, first, node_of, volume_type};
use c5c3_kinds::Spec;
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use provider_composer::Key;
use provider_control_plane::graph::{GRAPH, Node, needed_by};
use rstest::rstest;
use serde_json::json;

/// One of everything, whose objects' operators take their time to let go.
fn leaving() -> Stage {
    let mut stage =
        Stage::running(json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } }));
    let kinds: BTreeSet<_> = stage
        .cluster
        .objects()
        .keys()
        .filter(|key| node_of(key).is_some())
        .map(|key| key.kind)
        .collect();
    for kind in kinds {
        stage.cluster.hold(kind);
    }
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    stage
}

/// What is being deleted.
pub(crate) fn going(stage: &Stage) -> Vec<Key> {
    let objects = stage.cluster.objects().iter();
    objects
        .filter(|(key, object)| {
            **key != stage.key && object["metadata"].get("deletionTimestamp").is_some()
        })
        .map(|(key, _)| key.clone())
        .collect()
}

#[test]
fn what_needs_others_goes_before_them() {
    let mut stage = leaving();
    let mut order = Vec::new();
    for _ in 0..256 {
        stage.settle();
        let Some(key) = going(&stage).into_iter().next() else {
            break;
        };
        let node = node_of(&key).unwrap();
        let present = stage.nodes();
        for step in needed_by(node) {
            assert!(
                !present.contains(&step.node),
                "{key} goes while {} is there",
                step.name
            );
        }
        order.push(node);
        stage.cluster.release(&key);
    }
    assert_eq!(stage.nodes(), BTreeSet::new());
    assert!(
        stage.cluster.get(&stage.key).is_none(),
        "the ControlPlane goes last"
    );
    let gone: BTreeSet<Node> = order.into_iter().collect();
    let nodes = GRAPH.iter().map(|step| step.node);
    assert_eq!(gone, nodes.filter(|node| *node != Node::Valkey).collect());
}

#[test]
fn passwords_stay_as_long_as_volumes_do() {
    let mut stage = leaving();
    let made: Vec<Key> = stage.cluster.generated().keys().cloned().collect();
    for _ in 0..256 {
        stage.settle();
        for key in going(&stage) {
            stage.cluster.release(&key);
        }
    }
    assert!(stage.cluster.get(&stage.key).is_none());
    let databases = made
        .iter()
        .filter(|key| key.name == "openstack-db-root" || key.name.ends_with("-db-credentials"));
    let mut count = 0;
    for key in databases {
        assert!(stage.cluster.get(key).is_some(), "{key} is gone");
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn what_cannot_be_read_counts_as_there() {
    let mut stage = leaving();
    let nova = Node::Nova
        .step()
        .keys(crate::stage::NAMESPACE)
        .next()
        .unwrap();
    stage.cluster.set_readable(&nova, false);
    for _ in 0..64 {
        stage.settle();
        for key in going(&stage) {
            if key != nova {
                stage.cluster.release(&key);
            }
        }
    }
    for node in [
        Node::MariaDb,
        Node::RabbitMq,
        Node::Keystone,
        Node::Placement,
        Node::Glance,
    ] {
        let object = stage.object(node).unwrap();
        assert!(
            object["metadata"].get("deletionTimestamp").is_none(),
            "{node:?} goes"
        );
    }
    stage.cluster.set_readable(&nova, true);
    for _ in 0..64 {
        stage.settle();
        for key in going(&stage) {
            stage.cluster.release(&key);
        }
    }
    assert!(stage.cluster.get(&stage.key).is_none());
}

#[test]
fn control_plane_is_deleted_where_kinds_are_not_installed() {
    let mut stage = Stage::running(json!({}));
    let nodes = [Node::Valkey, Node::Cortex, Node::Tempest];
    let kinds = nodes.map(|node| first(node).kind).into_iter();
    for kind in kinds.chain([ExternalSecret::KIND, PushSecret::KIND]) {
        stage.cluster.uninstall(kind);
    }
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    for _ in 0..64 {
        stage.settle();
    }
    assert!(stage.cluster.get(&key).is_none(), "{:#}", stage.status());
}

#[rstest]
#[case::a_younger_one("younger", 1)]
#[case::one_of_the_same_second_whose_name_comes_first("another", 0)]
fn control_plane_that_was_refused_is_deleted_without_touching_the_running_one(
    #[case] name: &str,
    #[case] seconds: i64,
) {
    let mut stage = Stage::running(json!({}));
    let refused = crate::stage::key(name);
    stage.cluster.wait(jiff::SignedDuration::from_secs(seconds));
    let before = stage.observed();
    stage.cluster.put(&refused, &json!({ "spec": {} }));
    stage.cluster.settle(&crate::stage::OPERATOR, &refused);
    let status = &stage.cluster.get(&refused).unwrap()["status"];
    assert_eq!(status["conditions"][0]["reason"], "AnotherControlPlane");
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("production"), "{message}");
    stage.settle();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());

    stage.cluster.delete(&refused);
    stage.cluster.settle(&crate::stage::OPERATOR, &refused);
    assert!(stage.cluster.get(&refused).is_none());
    stage.settle();
    crate::stage::assert_same(&stage.observed(), &before);
}

#[test]
fn volume_types_go_before_cinder() {
    let mut stage = Stage::running(json!({ "storage": { "storageClusters": ["st-pool-a"] } }));
    let type_ = volume_type("st-pool-a");
    stage.cluster.hold(type_.kind);
    let key = stage.key.clone();
    stage.cluster.delete(&key);
    let catalogue = |stage: &Stage| {
        let keys = stage.cluster.objects().keys();
        keys.filter(|key| key.kind.group == type_.kind.group && **key != type_)
            .count()
    };
    let before = catalogue(&stage);
    for _ in 0..8 {
        stage.settle();
    }
    assert_eq!(going(&stage), std::slice::from_ref(&type_));
    assert!(stage.object(Node::Cinder).is_some());
    assert!(stage.object(Node::Keystone).is_some());
    assert_eq!(catalogue(&stage), before);
    assert!(stage.object(Node::Nova).is_none());
    stage.cluster.release(&type_);
    for _ in 0..64 {
        stage.settle();
    }
    assert!(stage.cluster.get(&key).is_none());
}

#[test]
fn disabled_cinder_goes_after_its_volume_types() {
    let mut stage = Stage::running(json!({ "storage": { "storageClusters": ["st-pool-a"] } }));
    let type_ = volume_type("st-pool-a");
    stage.cluster.hold(type_.kind);
    stage.want(|spec| spec["services"] = json!({ "cinder": { "enabled": false } }));
    stage.simulate();
    assert_eq!(going(&stage), std::slice::from_ref(&type_));
    assert!(stage.object(Node::Cinder).is_some());
    stage.cluster.release(&type_);
    stage.simulate();
    assert!(stage.object(Node::Cinder).is_none());
}
