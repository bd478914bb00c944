//! Memcached while its pods are replaced.

use provider_control_plane::graph::Node;
use rstest::rstest;
use serde_json::{Value, json};

use crate::sizes::{running, with};
use crate::stage::{Stage, first};

/// Status and message of a condition, where there is one.
fn condition(stage: &Stage, type_: &str) -> Option<(String, String)> {
    let [status, _, message] = stage.cluster.condition(&stage.key, type_)?;
    Some((status, message))
}

#[test]
fn memcached_stays_ready_when_its_template_changes() {
    let mut stage = running(with(
        "memcached",
        &json!({ "replicas": 3, "memory": "1Gi" }),
    ));
    stage.want(|spec| spec["infrastructure"]["memcached"]["memory"] = json!("2Gi"));
    stage.settle();
    let set = stage.object(Node::Memcached).unwrap();
    let generation = |pointer| set.pointer(pointer).and_then(Value::as_u64);
    let pods_are_of = generation("/status/observedGeneration");
    assert!(
        pods_are_of < generation("/metadata/generation"),
        "its controller has seen the template"
    );
    for type_ in ["InfrastructureReady", "Ready"] {
        assert_eq!(stage.condition(type_).0, "True", "{type_}");
    }
}

#[rstest]
#[case::before_the_first_pod(3, 3, true, "True")]
#[case::one_is_replaced(3, 2, true, "True")]
#[case::another_is_missing(3, 1, true, "False")]
#[case::one_is_missing(3, 2, false, "False")]
#[case::the_only_one_is_replaced(1, 0, true, "False")]
fn memcached_is_ready_without_the_member_that_an_update_replaces(
    #[case] replicas: u64,
    #[case] ready: u64,
    #[case] is_updating: bool,
    #[case] status: &str,
) {
    let mut stage = running(with("memcached", &json!({ "replicas": replicas })));
    let updated = if is_updating { "second" } else { "first" };
    let generation = stage.object(Node::Memcached).unwrap()["metadata"]["generation"].clone();
    stage.cluster.set_status(
        &first(Node::Memcached),
        json!({
            "observedGeneration": generation, "readyReplicas": ready,
            "currentRevision": "first", "updateRevision": updated,
        }),
    );
    stage.settle();
    let message = format!("{ready} of {replicas} replicas ready");
    let (is_ready, why) = condition(&stage, "InfrastructureReady").unwrap();
    assert_eq!(is_ready, status, "{why}");
    assert_eq!(why.contains(&message), status == "False", "{why}");
    assert_eq!(stage.condition("Ready").0, status);
    let update = condition(&stage, "MemcachedUpdated");
    assert_eq!(update.is_some(), is_updating, "{update:?}");
    if let Some((is_updated, why)) = update {
        assert_eq!(is_updated, "False");
        assert!(why.contains(&message), "{why}");
    }
}
