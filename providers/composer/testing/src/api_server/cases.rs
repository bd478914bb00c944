//! The cases.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use provider_composer::{Key, ResourceKind};
use serde_json::{Value, json};

use super::immutable::{deployment, job, role_binding, secret, stateful_set};
use super::requests::{NAMESPACE, apply, force};
use super::{ApiServer, Case, Request};

/// A custom resource. Its spec has a `size`, which is a number, and its status a `phase`.
pub const THING: ResourceKind =
    ResourceKind::namespaced("conformance.c5c3.io", "v1", "Thing", "things");

/// A kind that isn't served.
pub const UNKNOWN: ResourceKind =
    ResourceKind::namespaced("conformance.c5c3.io", "v1", "Unknown", "unknowns");

/// Every case.
pub const CASES: &[Case] = &[
    ("object is created once", created),
    ("field has the manager that forced it", forced),
    (
        "field of two managers stays until both apply it no more",
        shared,
    ),
    ("field that was changed or created by hand stays", by_hand),
    ("applied null is an absent field", null),
    ("generation counts changes of the spec alone", generation),
    ("status is written separately", status),
    ("labels are merged into the version that was read", labelled),
    (
        "object with finalizers is deleted after the last one",
        finalized,
    ),
    (
        "owners and finalizers of others stay when it is applied",
        listed,
    ),
    ("object is collected after its last owner", collected),
    (
        "immutable Secret stays, and so does the type of any",
        secret,
    ),
    ("pods of a Job stay, and its limits may change", job),
    ("selector of a Deployment stays", deployment),
    ("volumes of a StatefulSet stay", stateful_set),
    ("role of a RoleBinding stays", role_binding),
    ("unknown kind isn't found", unknown),
];

fn map(name: &str) -> Key {
    Key::of::<ConfigMap>(NAMESPACE, name)
}

fn thing(name: &str) -> Key {
    Key::new(THING, NAMESPACE, name)
}

fn created(server: &mut dyn ApiServer) {
    let one = map("created");
    for request in [Request::Merge(json!({})), Request::Delete] {
        assert_eq!(server.refuses(&one, request), "NotFound");
    }
    server.accepts(&one, Request::Create(json!({ "data": { "a": "1" } })));
    let again = Request::Create(json!({ "data": { "a": "2" } }));
    assert_eq!(server.refuses(&one, again), "AlreadyExists");
    assert_eq!(server.there(&one)["data"], json!({ "a": "1" }));
    server.accepts(&one, Request::Delete);
    assert_eq!(server.get(&one), None);
    assert_eq!(server.refuses(&one, Request::Delete), "NotFound");
}

fn forced(server: &mut dyn ApiServer) {
    let one = map("forced");
    let [first, second] = ["1", "2"].map(|value| json!({ "data": { "a": value } }));
    server.accepts(&one, apply("first", first.clone()));
    let refused = server.refuses(&one, apply("second", second.clone()));
    assert_eq!(refused, "Conflict");
    assert_eq!(server.there(&one)["data"], first["data"]);
    let now = server.accepts(&one, force("second", second.clone()));
    assert_eq!(now["data"], second["data"]);
    assert_eq!(server.refuses(&one, apply("first", first)), "Conflict");
    let now = server.accepts(&one, apply("first", json!({})));
    assert_eq!(now["data"], second["data"], "it is the second one's");
    let now = server.accepts(&one, apply("second", json!({})));
    assert_eq!(now.get("data"), None);
}

fn shared(server: &mut dyn ApiServer) {
    let one = map("shared");
    let both = json!({ "data": { "a": "1", "b": "1" } });
    server.accepts(&one, apply("first", both));
    server.accepts(&one, apply("second", json!({ "data": { "a": "1" } })));
    let other = json!({ "data": { "a": "2" } });
    assert_eq!(server.refuses(&one, apply("second", other)), "Conflict");
    let now = server.accepts(&one, apply("first", json!({ "data": { "c": "1" } })));
    assert_eq!(now["data"], json!({ "a": "1", "c": "1" }));
    let now = server.accepts(&one, apply("second", json!({})));
    assert_eq!(now["data"], json!({ "c": "1" }));
}

fn by_hand(server: &mut dyn ApiServer) {
    let one = map("changed");
    let both = json!({ "data": { "a": "1", "b": "1" } });
    server.accepts(&one, apply("first", both));
    server.accepts(&one, Request::Merge(json!({ "data": { "a": "2" } })));
    let now = server.accepts(&one, apply("first", json!({})));
    assert_eq!(now["data"], json!({ "a": "2" }));

    let one = map("created-by-hand");
    let given = json!({ "data": { "a": "1" } });
    server.accepts(&one, Request::Create(given.clone()));
    server.accepts(&one, apply("first", given));
    let now = server.accepts(&one, apply("first", json!({})));
    assert_eq!(now["data"], json!({ "a": "1" }));
    let now = server.accepts(&one, Request::Replace(json!({ "data": { "b": "1" } })));
    assert_eq!(now["data"], json!({ "b": "1" }));
}

fn null(server: &mut dyn ApiServer) {
    let one = map("null");
    let absent = json!({ "data": { "a": "1" }, "immutable": null });
    let now = server.accepts(&one, apply("first", absent));
    assert_eq!(now["data"], json!({ "a": "1" }));
    assert_eq!(now.get("immutable"), None);
    let now = server.accepts(&one, apply("first", json!({ "data": null })));
    assert_eq!(now.get("data"), None);
}

fn generation(server: &mut dyn ApiServer) {
    let (one, map) = (thing("generation"), map("generation"));
    let counted = |object: &Value| object["metadata"]["generation"].clone();
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let first = server.accepts(&one, apply("first", json!({ "spec": { "size": 1 } })));
    assert_eq!(counted(&first), 1);
    let again = server.accepts(&one, apply("first", json!({ "spec": { "size": 1 } })));
    assert_eq!(version(&again), version(&first), "nothing has changed");
    let labelled = Request::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    let labelled = server.accepts(&one, labelled);
    assert_eq!(counted(&labelled), 1);
    assert_ne!(version(&labelled), version(&first));
    let changed = server.accepts(&one, Request::Merge(json!({ "spec": { "size": 2 } })));
    assert_eq!(counted(&changed), 2);
    let status = Request::SetStatus(json!({ "phase": "Ready" }));
    assert_eq!(counted(&server.accepts(&one, status)), 2);

    let made = server.accepts(&map, Request::Create(json!({ "data": { "a": "1" } })));
    assert_eq!(counted(&made), Value::Null);
    let changed = server.accepts(&map, Request::Merge(json!({ "data": { "a": "2" } })));
    assert_eq!(counted(&changed), Value::Null);
}

fn status(server: &mut dyn ApiServer) {
    let one = thing("status");
    let [ready, failed] = ["Ready", "Failed"].map(|phase| json!({ "phase": phase }));
    let given = json!({ "spec": { "size": 1 }, "status": failed });
    let made = server.accepts(&one, Request::Create(given.clone()));
    assert_eq!(made.get("status"), None);
    let now = server.accepts(&one, Request::SetStatus(ready.clone()));
    assert_eq!(now["status"], ready);
    assert_eq!(now["spec"], json!({ "size": 1 }));
    let mut replaced = server.there(&one);
    replaced["status"] = failed.clone();
    for request in [Request::Replace(replaced), Request::Merge(given.clone())] {
        assert_eq!(server.accepts(&one, request)["status"], ready);
    }
    assert_eq!(server.accepts(&one, force("first", given))["status"], ready);
}

fn labelled(server: &mut dyn ApiServer) {
    let one = map("labelled");
    let labels = json!({ "former": "x", "other": "y" });
    let given = json!({ "metadata": { "labels": labels }, "data": { "a": "1" } });
    let old = server.accepts(&one, Request::Create(given));
    let label = |version: &Value| {
        let labels = json!({ "ours": "z", "former": null });
        Request::Merge(json!({ "metadata": { "labels": labels, "resourceVersion": version } }))
    };
    let version = &old["metadata"]["resourceVersion"];
    let now = server.accepts(&one, label(version));
    let labels = json!({ "other": "y", "ours": "z" });
    assert_eq!(now["metadata"]["labels"], labels);
    assert_eq!(now["data"], json!({ "a": "1" }));

    server.accepts(&one, Request::Merge(json!({ "data": { "a": "2" } })));
    assert_eq!(server.refuses(&one, label(version)), "Conflict");
    assert_eq!(server.refuses(&one, Request::Replace(old)), "Conflict");
    assert_eq!(server.there(&one)["data"], json!({ "a": "2" }));
}

fn finalized(server: &mut dyn ApiServer) {
    let one = thing("finalized");
    let held = json!({ "metadata": { "finalizers": ["example.com/slow"] }, "spec": { "size": 1 } });
    server.accepts(&one, Request::Create(held));
    server.accepts(&one, Request::Delete);
    let deleted = server.there(&one)["metadata"].clone();
    assert!(deleted["deletionTimestamp"].is_string(), "{deleted}");
    assert_eq!(deleted["deletionGracePeriodSeconds"], 0);
    assert_eq!(deleted["generation"], 2);
    let finalizers =
        |finalizers: Value| Request::Merge(json!({ "metadata": { "finalizers": finalizers } }));
    let more = finalizers(json!(["example.com/slow", "example.com/new"]));
    assert_eq!(server.refuses(&one, more), "Invalid");
    server.accepts(&one, Request::Delete);
    let still = server.there(&one)["metadata"].clone();
    assert_eq!(still["resourceVersion"], deleted["resourceVersion"]);
    server.accepts(&one, finalizers(json!([])));
    assert_eq!(server.get(&one), None);
}

/// An ownerReference, which names no controller.
fn reference(owner: &Key, object: &Value) -> Value {
    let uid = &object["metadata"]["uid"];
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": uid })
}

fn listed(server: &mut dyn ApiServer) {
    let one = map("listed");
    let owners = ["first-listed-owner", "second-listed-owner"].map(map);
    let [first, second] = owners.map(|owner| {
        let object = server.accepts(&owner, Request::Create(json!({})));
        reference(&owner, &object)
    });
    let metadata = json!({ "ownerReferences": [first], "finalizers": ["example.com/other"] });
    server.accepts(&one, Request::Create(json!({ "metadata": metadata })));
    let metadata = json!({ "ownerReferences": [second], "finalizers": ["example.com/ours"] });
    let now = server.accepts(&one, apply("first", json!({ "metadata": metadata })));
    let ids = |object: &Value, list: &str| -> BTreeSet<String> {
        let entries = object["metadata"][list].as_array().into_iter().flatten();
        let ids = entries.map(|entry| entry.get("uid").unwrap_or(entry));
        ids.map(Value::to_string).collect()
    };
    let [first, second] = [first, second].map(|owner| owner["uid"].to_string());
    let [others, ours] = ["example.com/other", "example.com/ours"].map(|it| json!(it).to_string());
    assert_eq!(
        ids(&now, "ownerReferences"),
        BTreeSet::from([first.clone(), second])
    );
    assert_eq!(
        ids(&now, "finalizers"),
        BTreeSet::from([others.clone(), ours])
    );
    let now = server.accepts(&one, apply("first", json!({})));
    assert_eq!(ids(&now, "ownerReferences"), BTreeSet::from([first]));
    assert_eq!(ids(&now, "finalizers"), BTreeSet::from([others]));
}

fn collected(server: &mut dyn ApiServer) {
    let owners = ["first-owner", "second-owner"].map(map);
    let [first, second] = &owners;
    let references = [first, second].map(|owner| {
        let object = server.accepts(owner, Request::Create(json!({})));
        reference(owner, &object)
    });
    let owned = |owners: Value| json!({ "metadata": { "ownerReferences": owners } });
    let (one, both) = (map("owned-by-one"), map("owned-by-both"));
    server.accepts(&one, Request::Create(owned(json!([references[0]]))));
    server.accepts(&both, Request::Create(owned(json!(references))));
    server.accepts(first, Request::Delete);
    assert!(server.collects(&one), "its owner is deleted");
    assert!(server.get(&both).is_some(), "it has another owner");
    server.accepts(second, Request::Delete);
    assert!(server.collects(&both), "its owners are deleted");
}

fn unknown(server: &mut dyn ApiServer) {
    let one = Key::new(UNKNOWN, NAMESPACE, "unknown");
    for request in [
        Request::Create(json!({})),
        apply("first", json!({ "spec": { "size": 1 } })),
        Request::Merge(json!({})),
        Request::Delete,
    ] {
        assert_eq!(server.refuses(&one, request), "NotFound");
    }
    assert_eq!(server.get(&one), None);
}
