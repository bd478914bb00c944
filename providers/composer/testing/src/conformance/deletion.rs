//! The cases of deletion: of a subject, and of pods before what they use.

use k8s_openapi::api::apps::v1::Deployment;
use provider_composer::Key;
use serde_json::json;

use super::cases::{map, secret};
use super::{NAMESPACE, Runtime, Script, subject};
use crate::stored::is_deleted;

pub(super) fn deleted(runtime: &mut dyn Runtime) {
    let spec = json!({
        "apply": { "first": {}, "second": {} }, "deletedFirst": ["first"], "unowned": ["lasting"],
        "generate": { "drawn": true, "temporary": false },
    });
    runtime.run(spec);
    let held = runtime.there(&subject())["metadata"]["finalizers"].clone();
    assert_eq!(held, json!(["test/script"]));
    let finalizers = json!(["example.com/slow"]);
    runtime.edit(&map("first"), |first| {
        first["metadata"]["finalizers"] = finalizers.clone();
    });
    runtime.delete(&subject());
    runtime.reconcile();
    let first = runtime.there(&map("first"));
    assert!(first["metadata"]["deletionTimestamp"].is_string());
    let second = runtime.there(&map("second"));
    assert_eq!(second["metadata"].get("deletionTimestamp"), None);
    assert!(runtime.get(&subject()).is_some());

    runtime.edit(&map("first"), |first| {
        first["metadata"]["finalizers"] = json!([]);
    });
    runtime.delete(&map("first"));
    runtime.reconcile();
    for gone in [map("first"), map("second"), secret("temporary"), subject()] {
        assert_eq!(runtime.get(&gone), None, "{gone}");
    }
    for stays in [map("lasting"), secret("drawn")] {
        assert!(runtime.get(&stays).is_some(), "{stays}");
    }
}

/// Composes a Deployment and a ConfigMap. The Deployment stays when it is deleted, as one does whose pods terminate.
fn serves(runtime: &mut dyn Runtime) -> [Key; 2] {
    let keys = [Key::of::<Deployment>(NAMESPACE, "serves"), map("used")];
    runtime.run(json!({ "deployments": ["serves"], "apply": { "used": {} } }));
    runtime.edit(&keys[0], |serves| {
        serves["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    });
    keys
}

/// Reconciles the subject with an operator that has no order of deletion of its own.
fn reconcile_unordered(runtime: &mut dyn Runtime) {
    runtime.reconcile_by(Box::new(Script::<false>));
}

/// Removes all from the spec, and reconciles.
fn remove_all(runtime: &mut dyn Runtime) {
    runtime.edit(&subject(), |subject| subject["spec"] = json!({}));
    reconcile_unordered(runtime);
}

/// Ends the pods of a Deployment that is being deleted.
fn end(runtime: &mut dyn Runtime, serves: &Key) {
    runtime.edit(serves, |serves| {
        serves["metadata"]["finalizers"] = json!([]);
    });
    runtime.delete(serves);
}

pub(super) fn pods_first(runtime: &mut dyn Runtime) {
    let [serves, used] = serves(runtime);
    remove_all(runtime);
    assert!(is_deleted(&runtime.there(&serves)));
    assert!(!is_deleted(&runtime.there(&used)));
    assert_eq!(runtime.condition("Ready")[0], "True");
    end(runtime, &serves);
    reconcile_unordered(runtime);
    for gone in [serves, used] {
        assert_eq!(runtime.get(&gone), None, "{gone}");
    }
}

pub(super) fn pods_before_subject(runtime: &mut dyn Runtime) {
    let [serves, used] = serves(runtime);
    runtime.edit(&subject(), |subject| subject["spec"] = json!("not valid"));
    runtime.delete(&subject());
    reconcile_unordered(runtime);
    assert!(is_deleted(&runtime.there(&serves)));
    assert!(!is_deleted(&runtime.there(&used)));
    let [status, reason, message] = runtime.condition("Ready");
    assert_eq!(
        [status.as_str(), reason.as_str()],
        ["False", "Deleting"],
        "{message}"
    );
    assert!(message.contains("Deployment serves"), "{message}");
    end(runtime, &serves);
    reconcile_unordered(runtime);
    assert_eq!(runtime.get(&subject()), None);
}

pub(super) fn orphaned(runtime: &mut dyn Runtime) {
    let [serves, used] = serves(runtime);
    runtime.edit(&subject(), |subject| {
        subject["metadata"]["finalizers"] = json!(["test/script", "orphan"]);
    });
    runtime.delete(&subject());
    reconcile_unordered(runtime);
    for stays in [&serves, &used] {
        assert!(!is_deleted(&runtime.there(stays)), "{stays}");
    }
    let finalizers = &runtime.there(&subject())["metadata"]["finalizers"];
    assert_eq!(*finalizers, json!(["orphan"]));
}

pub(super) fn unknown_pods(runtime: &mut dyn Runtime) {
    let [serves, used] = serves(runtime);
    runtime.set_readable(serves.kind, false);
    remove_all(runtime);
    assert!(!is_deleted(&runtime.there(&used)));
    runtime.delete(&subject());
    reconcile_unordered(runtime);
    for stays in [&serves, &used] {
        assert!(!is_deleted(&runtime.there(stays)), "{stays}");
    }
    assert!(runtime.get(&subject()).is_some());
    runtime.set_readable(serves.kind, true);
    end(runtime, &serves);
    reconcile_unordered(runtime);
    assert_eq!(runtime.get(&subject()), None);
}

pub(super) fn unfinalized(runtime: &mut dyn Runtime) {
    let other = json!(["example.com/other"]);
    let spec = json!({ "apply": { "one": {} } });
    let object = json!({ "metadata": { "finalizers": other }, "spec": spec });
    runtime.put(&subject(), object);
    runtime.delete(&subject());
    runtime.reconcile();
    assert_eq!(runtime.get(&map("one")), None);
    let left = runtime.there(&subject());
    assert_eq!(left["metadata"]["finalizers"], other);
    assert_eq!(left.get("status"), None);
}
