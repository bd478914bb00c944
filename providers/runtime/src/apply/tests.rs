use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Digest, managed, wanted};

const MANAGER: &str = "test-operator";

/// A live object that has these fields of ours.
fn live(mut object: Value, fields: Value) -> Value {
    object["metadata"]["managedFields"] = json!([
        { "manager": "kubectl", "operation": "Update", "fieldsV1": { "f:data": { "f:theirs": {} } } },
        { "manager": MANAGER, "operation": "Update", "subresource": "status", "fieldsV1": { "f:status": {} } },
        { "manager": MANAGER, "operation": "Apply", "fieldsV1": fields },
    ]);
    object
}

fn digest(object: &Value) -> Option<Digest> {
    managed(object, true, &[MANAGER]).first()?.digest
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "api", "namespace": "openstack", "labels": { "a": "b" } },
        "spec": {
            "replicas": 2,
            "template": { "spec": {
                "volumes": [{ "name": "tmp", "emptyDir": {} }],
                "containers": [{ "name": "api", "args": ["x", "y"], "ports": [{ "containerPort": 80 }] }],
            } },
        },
    })
}

fn deployed() -> Value {
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "api", "namespace": "openstack", "uid": "1", "resourceVersion": "7", "generation": 1,
            "labels": { "a": "b", "theirs": "c" },
        },
        "spec": {
            "replicas": 2,
            "strategy": { "type": "RollingUpdate" },
            "template": { "spec": {
                "volumes": [{ "name": "tmp", "emptyDir": {} }],
                "containers": [
                    { "name": "sidecar" },
                    {
                        "name": "api", "args": ["x", "y"], "imagePullPolicy": "Always",
                        "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                    },
                ],
            } },
        },
    });
    let fields = json!({
        "f:metadata": { "f:labels": { "f:a": {} } },
        "f:spec": {
            "f:replicas": {},
            "f:template": { "f:spec": {
                "f:volumes": { "k:{\"name\":\"tmp\"}": { ".": {}, "f:name": {}, "f:emptyDir": {} } },
                "f:containers": { "k:{\"name\":\"api\"}": {
                    ".": {}, "f:name": {}, "f:args": {},
                    "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } },
                } },
            } },
        },
    });
    live(object, fields)
}

#[test]
fn what_is_there_as_wanted_is_left_alone_whatever_others_added() {
    assert_eq!(digest(&deployed()), Some(wanted(&deployment())));
}

#[test]
fn an_edit_by_hand_is_seen() {
    for (path, value) in [
        ("/spec/replicas", json!(3)),
        ("/metadata/labels/a", json!("x")),
        ("/spec/template/spec/containers/1/args", json!(["x"])),
        ("/spec/template/spec/containers", json!([])),
    ] {
        let mut edited = deployed();
        *edited.pointer_mut(path).unwrap() = value;
        assert_ne!(digest(&edited), Some(wanted(&deployment())), "{path}");
    }
}

#[test]
fn a_field_that_is_wanted_no_more_or_newly_is_seen() {
    let mut less = deployment();
    less["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("replicas");
    assert_ne!(digest(&deployed()), Some(wanted(&less)));

    let mut more = deployment();
    more["spec"]["paused"] = json!(true);
    assert_ne!(digest(&deployed()), Some(wanted(&more)));
}

#[test]
fn nulls_order_and_kinds_of_number_make_no_difference() {
    let one = json!({ "spec": { "a": 1, "b": null, "c": 2.0 } });
    let other = json!({ "spec": { "c": 2, "a": 1 } });
    assert_eq!(wanted(&one), wanted(&other));
    assert_ne!(wanted(&json!({ "a": ["b"] })), wanted(&json!({ "a": "b" })));
    assert_ne!(wanted(&json!({ "a": "1" })), wanted(&json!({ "a": 1 })));
}

#[test]
fn only_an_apply_of_the_object_itself_counts_as_applied() {
    let mut object = json!({ "metadata": { "name": "a" }, "data": {} });
    assert_eq!(managed(&object, true, &[MANAGER]), []);
    object["metadata"]["managedFields"] =
        json!([{ "manager": MANAGER, "operation": "Update", "fieldsV1": { "f:data": {} } }]);
    let made = managed(&object, true, &[MANAGER]);
    assert!(!made[0].applied && made[0].digest.is_none());
}

#[test]
fn without_its_body_an_object_is_known_to_be_applied_but_not_what() {
    let seen = managed(&deployed(), false, &[MANAGER]);
    assert!(seen[0].applied && seen[0].digest.is_none());
}

/// Objects of maps, scalars and lists of scalars, with at least one leaf each.
fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,4}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::btree_map("[a-d]", inner, 1..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    });
    tree.prop_map(|tree| json!({ "spec": tree }))
}

fn field_set(value: &Value) -> Value {
    let mut fields = Map::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        fields.insert(format!("f:{name}"), field_set(value));
    }
    Value::Object(fields)
}

/// Another manager's fields among ours.
fn add_theirs(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.values_mut().for_each(add_theirs);
        fields.insert("theirs".to_owned(), json!({ "x": [1] }));
    }
}

proptest! {
    #[test]
    fn whatever_is_wanted_is_found_again_among_others(tree in trees()) {
        let mut object = tree.clone();
        add_theirs(&mut object);
        let object = live(object, field_set(&tree));
        prop_assert_eq!(digest(&object), Some(wanted(&tree)));
    }

    #[test]
    fn whatever_differs_is_seen(one in trees(), other in trees()) {
        let object = live(other.clone(), field_set(&one));
        if digest(&object) == Some(wanted(&one)) {
            let mut both = one.clone();
            merge(&mut both, &other);
            prop_assert_eq!(both, other, "all that is wanted is in the other");
        }
    }
}

/// Puts what the second has in place of what the first has, but for fields only the first has.
fn merge(one: &mut Value, other: &Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in other {
                merge(one.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (one, other) => *one = other.clone(),
    }
}
