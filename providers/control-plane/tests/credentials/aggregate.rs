//! Secrets joined into one.

use c5c3_api::secret_aggregate::SecretAggregateSpec;
use provider_composer::{Key, ResourceKind};
use provider_control_plane::aggregate::SecretAggregateComposer;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

fn aggregate(sources: &Value) -> (Stage, Key) {
    let mut stage = Stage::new(&json!({}));
    stage.put_secret("one", &[("a", "1"), ("b", "1")]);
    stage.put_secret("two", &[("b", "2"), ("c", "2")]);
    let key = Key::new(ResourceKind::of::<SecretAggregateSpec>(), NAMESPACE, "all");
    let spec = json!({ "sources": sources, "target": { "name": "sum" } });
    stage.cluster.put(&key, &json!({ "spec": spec }));
    (stage, key)
}

fn look(stage: &mut Stage, key: &Key) -> (String, String, String) {
    stage
        .cluster
        .reconcile(&SecretAggregateComposer, key)
        .unwrap();
    stage.condition(key, "SourcesResolved")
}

fn both() -> Value {
    json!([{ "secretRef": { "name": "one" } }, { "secretRef": { "name": "two" }, "keys": ["b"] }])
}

#[test]
fn later_sources_win_and_only_listed_keys_are_taken() {
    let (mut stage, key) = aggregate(&both());
    assert_eq!(look(&mut stage, &key).0, "True");
    assert_eq!(stage.value("sum", "a").unwrap(), "1");
    assert_eq!(stage.value("sum", "b").unwrap(), "2");
    assert_eq!(stage.value("sum", "c"), None);
}

#[rstest]
#[case::missing_secret(json!([{ "secretRef": { "name": "three" } }]), "WaitingForSecret", "three")]
#[case::missing_key(json!([{ "secretRef": { "name": "one" }, "keys": ["z"] }]), "InvalidSecret", "key z")]
fn a_source_that_is_not_there_leaves_the_target_as_it_was(
    #[case] sources: Value,
    #[case] reason: &str,
    #[case] word: &str,
) {
    let (mut stage, key) = aggregate(&both());
    look(&mut stage, &key);
    stage
        .cluster
        .edit(&key, |object| object["spec"]["sources"] = sources);
    let (status, seen, message) = look(&mut stage, &key);
    assert_eq!((status.as_str(), seen.as_str()), ("False", reason));
    assert!(message.contains(word), "{message}");
    assert_eq!(stage.value("sum", "b").unwrap(), "2");
}

#[test]
fn another_target_takes_the_place_of_the_first() {
    let (mut stage, key) = aggregate(&both());
    look(&mut stage, &key);
    stage.cluster.edit(&key, |object| {
        object["spec"]["target"]["name"] = json!("total");
    });
    look(&mut stage, &key);
    assert_eq!(stage.value("total", "b").unwrap(), "2");
    assert_eq!(stage.value("sum", "b"), None);
}

#[test]
fn a_source_that_changes_is_followed_and_a_second_look_writes_nothing() {
    let (mut stage, key) = aggregate(&both());
    look(&mut stage, &key);
    stage.put_secret("two", &[("b", "3"), ("c", "2")]);
    look(&mut stage, &key);
    assert_eq!(stage.value("sum", "b").unwrap(), "3");
    let before = stage.cluster.writes();
    look(&mut stage, &key);
    assert_eq!(stage.cluster.writes(), before);
}

#[test]
fn a_source_that_cannot_be_read_leaves_the_target_as_it_was() {
    let (mut stage, key) = aggregate(&both());
    look(&mut stage, &key);
    stage
        .cluster
        .set_readable(&crate::stage::secret("two"), false);
    assert_eq!(look(&mut stage, &key).0, "Unknown");
    assert_eq!(stage.value("sum", "b").unwrap(), "2");
}

#[test]
fn target_of_another_owner_is_never_overwritten() {
    let (mut stage, key) = aggregate(&both());
    stage.put_secret("sum", &[("mine", "x")]);
    let (_, reason, _) = look(&mut stage, &key);
    assert_eq!(reason, "NameTaken");
    assert_eq!(stage.value("sum", "mine").unwrap(), "x");
    assert_eq!(stage.value("sum", "a"), None);
}
