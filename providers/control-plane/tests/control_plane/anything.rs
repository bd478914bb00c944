//! Whatever happens on the way, the end is that of a fresh install.

use jiff::SignedDuration;
use proptest::collection::vec;
use proptest::prelude::*;
use provider_composer::Key;
use provider_control_plane::graph::{GRAPH, Node};
use provider_control_plane::rollout::TIMEOUT;
use serde_json::{Value, json};

use crate::stage::{OPERATOR, Stage, assert_same, node_of};

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    /// The user wants something else.
    Wants(&'static str, Value),
    /// A node stops being ready, or comes back.
    Flips(Node),
    /// Somebody deletes an object of a node.
    Deletes(Node),
    /// Somebody changes an object of a node by hand.
    Edits(Node),
    /// Objects' operators say how they are.
    Grants,
    /// The operator works, and is killed after so many writes.
    Works(usize),
    /// An object of a node can't be read, or can be again.
    Hides(Node, bool),
    /// Minutes go by.
    Waits(i64),
}

fn node() -> impl Strategy<Value = Node> {
    (0..GRAPH.len()).prop_map(|position| GRAPH[position].node)
}

/// What users change. A release goes up only: the way back is refused.
fn wish() -> impl Strategy<Value = Event> {
    let wish = |field, value| Just(Event::Wants(field, value));
    prop_oneof![
        wish("services", json!({})),
        wish("services", json!({ "glance": { "enabled": false } })),
        wish(
            "services",
            json!({ "neutron": { "enabled": false }, "nova": { "api": { "replicas": 5 } } })
        ),
        wish("cortex", json!({ "enabled": true })),
        wish("cortex", json!({ "enabled": false })),
        wish("tempest", json!({ "enabled": true })),
        wish("openStackRelease", json!("2026.1")),
        wish("infrastructure", json!({})),
        wish(
            "infrastructure",
            json!({ "memcached": { "replicas": 1 }, "mariadb": { "replicas": 5 } })
        ),
        wish("global", json!({ "tls": { "enabled": false } })),
        wish("global", json!({ "monitoring": { "enabled": true } })),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => wish(),
        3 => node().prop_map(Event::Flips),
        1 => node().prop_map(Event::Deletes),
        1 => node().prop_map(Event::Edits),
        4 => Just(Event::Grants),
        6 => (0..8usize).prop_map(Event::Works),
        2 => Just(Event::Works(usize::MAX)),
        1 => (node(), any::<bool>()).prop_map(|(node, readable)| Event::Hides(node, readable)),
        1 => (0..90i64).prop_map(Event::Waits),
    ]
}

fn happen(stage: &mut Stage, event: Event) {
    match event {
        Event::Wants(field, value) => stage.want(|spec| spec[field] = value),
        Event::Flips(node) => {
            if !stage.held.remove(&node) {
                stage.held.insert(node);
            }
            stage.grant();
        }
        Event::Deletes(node) => {
            if let Some(key) = first(stage, node) {
                stage.cluster.delete(&key);
            }
        }
        Event::Edits(node) => {
            if let Some(key) = first(stage, node) {
                stage.cluster.edit(&key, |object| {
                    // What the operator doesn't apply stays as the user has it, and RabbitMQ doesn't lose members that somebody adds.
                    if node != Node::RabbitMq
                        && let Some(replicas) = object["spec"].get_mut("replicas")
                    {
                        *replicas = json!(42);
                    }
                    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("hand");
                });
            }
        }
        Event::Grants => stage.grant(),
        Event::Works(writes) => {
            let key = stage.key.clone();
            // A failure is in the status, and mended later.
            let _ = stage.cluster.reconcile_until(&OPERATOR, &key, writes);
        }
        Event::Hides(node, readable) => {
            if let Some(key) = first(stage, node) {
                stage.cluster.set_readable(&key, readable);
            }
        }
        Event::Waits(minutes) => stage.cluster.wait(SignedDuration::from_mins(minutes)),
    }
}

/// An object of a node; the catalogue's are the business of its own tests.
fn first(stage: &Stage, node: Node) -> Option<Key> {
    let mut keys = stage.cluster.objects().keys().cloned();
    keys.find(|key| node != Node::Catalogue && node_of(key) == Some(node))
}

/// All that is there, without what time and chance put in: values of Secrets, and when something changed.
fn settled(stage: &Stage) -> std::collections::BTreeMap<String, Value> {
    let mut observed = stage.observed();
    for object in observed.values_mut() {
        if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
            data.values_mut().for_each(|value| *value = Value::Null);
        }
        without_times(object);
    }
    observed
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for field in ["lastTransitionTime", "observedGeneration"] {
                fields.remove(field);
            }
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Lets all be well, and everybody finish.
fn recover(stage: &mut Stage) {
    stage.held.clear();
    for step in GRAPH.iter() {
        for key in step.keys(crate::stage::NAMESPACE) {
            stage.cluster.set_readable(&key, true);
        }
    }
    stage.simulate();
    if stage.condition("UpToDate").1 == "UpdateFailed" {
        // It is tried again when the spec changes, and a change to and fro is one.
        stage.want(|spec| spec["korc"] = json!({ "enabled": true }));
        stage.want(|spec| spec["korc"] = Value::Null);
        stage.simulate();
    }
    stage.cluster.wait(TIMEOUT);
    stage.simulate();
}

#[test]
fn an_operator_that_is_killed_after_every_write_gets_there() {
    let spec = json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } });
    let mut stage = Stage::new(spec.clone());
    let mut quiet = 0;
    while quiet < 2 {
        let before = stage.cluster.writes();
        happen(&mut stage, Event::Works(1));
        quiet = match stage.cluster.writes() == before {
            true => quiet + 1,
            false => 0,
        };
        stage.grant();
    }
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    assert!(stage.cluster.generated().values().all(|times| *times == 1));
    assert_same(&settled(&stage), &settled(&Stage::running(spec)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_end_is_that_of_a_fresh_install(events in vec(event(), 50)) {
        let mut stage = Stage::new(json!({}));
        for event in events {
            happen(&mut stage, event);
        }
        recover(&mut stage);
        prop_assert_eq!(stage.condition("Ready").0, "True");
        for (secret, times) in stage.cluster.generated() {
            let again = *times > 1 && stage.cluster.stays(secret);
            prop_assert!(!again, "{} was made twice", secret);
        }

        let spec = stage.cluster.get(&stage.key).unwrap()["spec"].clone();
        let mut fresh = Stage::new(spec);
        recover(&mut fresh);
        let mut left = settled(&stage);
        // Passwords of what is no longer wanted stay.
        let right = settled(&fresh);
        left.retain(|key, _| !key.starts_with("Secret") || right.contains_key(key));
        assert_same(&left, &right);
    }
}
