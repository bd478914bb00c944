//! The cases.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{Key, Resource};
use serde_json::{Value, json};

use super::deletion::{
    deleted, orphaned, pods_before_subject, pods_first, unfinalized, unknown_pods,
};
use super::{Case, NAMESPACE, Runtime, subject};

/// Every case.
pub const CASES: &[Case] = &[
    ("object is created with owner and labels", created),
    ("changed object is applied again", changed),
    (
        "field that is not wanted any more is removed",
        removed_field,
    ),
    ("field of another manager stays", foreign_field),
    ("settled subject writes nothing", settled),
    ("object that is not wanted any more is deleted", pruned),
    ("kept object stays as it is", kept),
    ("object without an owner stays", unowned),
    ("nothing is deleted when composing fails", failed),
    ("transient failure is no warning", transient),
    ("nothing is deleted of an unreadable kind", unreadable),
    ("object with another owner is left alone", taken),
    (
        "object with another owner outlives the subject",
        taken_outlives_subject,
    ),
    ("labels are set on what exists", labelled),
    ("labels are set on the observed version alone", outdated),
    ("Secret is generated once", generated),
    ("Secret of a user is never changed", given_secret),
    ("Secret is deleted only if it is temporary", retained),
    ("object outside the owner's namespace is refused", elsewhere),
    ("subject waits for a Secret", waiting),
    ("status has conditions and the observed generation", status),
    ("objects are deleted in order before the subject", deleted),
    ("pods are deleted before what they use", pods_first),
    ("subject stays until its pods are gone", pods_before_subject),
    (
        "nothing that pods may use is deleted while it is unknown whether there are any",
        unknown_pods,
    ),
    (
        "subject that is deleted without its objects leaves them",
        orphaned,
    ),
    (
        "subject without finalizer is left to the garbage collector",
        unfinalized,
    ),
];

pub(super) fn map(name: &str) -> Key {
    Key::of::<ConfigMap>(NAMESPACE, name)
}

pub(super) fn secret(name: &str) -> Key {
    Key::of::<Secret>(NAMESPACE, name)
}

fn texts<const N: usize>(texts: [&str; N]) -> [String; N] {
    texts.map(str::to_owned)
}

fn created(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": { "a": "1" } } }));
    let one = runtime.there(&map("one"));
    assert_eq!(one["data"], json!({ "a": "1" }));
    let owner = runtime.there(&subject());
    assert_eq!(
        one["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "test/v1alpha1", "kind": "Script", "name": "script",
            "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
        }])
    );
    let labels = &one["metadata"]["labels"];
    assert_eq!(labels["c5c3.io/owner-kind"], "Script");
    assert_eq!(labels["c5c3.io/owner-name"], "script");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "script-operator");
}

fn changed(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": { "a": "1" } } }));
    let before = runtime.there(&map("one"));
    runtime.run(json!({ "apply": { "one": { "a": "2" } } }));
    let after = runtime.there(&map("one"));
    assert_eq!(after["data"], json!({ "a": "2" }));
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);

    runtime.edit(&map("one"), |one| one["data"]["a"] = json!("by hand"));
    runtime.reconcile();
    assert_eq!(runtime.there(&map("one"))["data"], json!({ "a": "2" }));

    runtime.delete(&map("one"));
    runtime.reconcile();
    assert_eq!(runtime.there(&map("one"))["data"], json!({ "a": "2" }));
}

fn removed_field(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": { "a": "1", "b": "2" } } }));
    runtime.run(json!({ "apply": { "one": { "b": "2" } } }));
    assert_eq!(runtime.there(&map("one"))["data"], json!({ "b": "2" }));
}

fn foreign_field(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": { "a": "1" } } }));
    runtime.edit(&map("one"), |one| {
        one["data"]["other"] = json!("stays");
        one["metadata"]["annotations"] = json!({ "example.com/other": "stays" });
    });
    runtime.run(json!({ "apply": { "one": { "a": "2" } } }));
    let one = runtime.there(&map("one"));
    assert_eq!(one["data"], json!({ "a": "2", "other": "stays" }));
    let annotations = json!({ "example.com/other": "stays" });
    assert_eq!(one["metadata"]["annotations"], annotations);
}

fn settled(runtime: &mut dyn Runtime) {
    runtime.run(json!({
        "apply": { "one": { "a": "1" } }, "unowned": ["lasting"], "generate": { "drawn": true },
    }));
    let (writes, events) = (runtime.writes(), runtime.events());
    runtime.reconcile();
    assert_eq!(runtime.writes(), writes);
    assert_eq!(runtime.events(), events);
}

fn pruned(runtime: &mut dyn Runtime) {
    runtime.put(&map("foreign"), json!({ "data": {} }));
    runtime.run(json!({ "apply": { "one": {}, "two": {} } }));
    runtime.run(json!({ "apply": { "two": {} } }));
    assert_eq!(runtime.get(&map("one")), None);
    assert!(runtime.get(&map("two")).is_some());
    assert!(runtime.get(&map("foreign")).is_some());
}

fn kept(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": { "a": "1" } } }));
    runtime.run(json!({ "keep": ["one", "missing"] }));
    assert_eq!(runtime.there(&map("one"))["data"], json!({ "a": "1" }));
    assert_eq!(runtime.get(&map("missing")), None);
    runtime.run(json!({}));
    assert_eq!(runtime.get(&map("one")), None);
}

fn unowned(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "unowned": ["lasting"] }));
    let metadata = &runtime.there(&map("lasting"))["metadata"];
    assert_eq!(metadata.get("ownerReferences"), None);
    assert_eq!(metadata["labels"].get("c5c3.io/owner-name"), None);
    runtime.run(json!({}));
    assert!(runtime.get(&map("lasting")).is_some());
}

fn failed(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": {} } }));
    runtime.run(json!({ "fails": false }));
    assert!(runtime.get(&map("one")).is_some());
    let ready = texts(["False", "Invalid", "correct the spec"]);
    assert_eq!(runtime.condition("Ready"), ready);
    assert_eq!(runtime.condition("Complete"), texts(["True", "Ready", ""]));
    assert_eq!(runtime.condition("Stalled")[0], "True");
    let event = texts(["Warning", "Invalid", "Ready: correct the spec"]);
    assert_eq!(runtime.events().last(), Some(&event));
}

fn transient(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "fails": true }));
    let ready = texts(["False", "LookupFailed", "try again later"]);
    assert_eq!(runtime.condition("Ready"), ready);
    assert_eq!(runtime.condition("Reconciling")[0], "True");
    let event = texts(["Normal", "LookupFailed", "Ready: try again later"]);
    assert_eq!(runtime.events(), [event]);
}

fn unreadable(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "one": {} }, "generate": { "drawn": false } }));
    runtime.set_readable(ConfigMap::KIND, false);
    runtime.run(json!({}));
    runtime.set_readable(ConfigMap::KIND, true);
    assert!(runtime.get(&map("one")).is_some());
    assert_eq!(runtime.get(&secret("drawn")), None, "this kind is readable");
    runtime.reconcile();
    assert_eq!(runtime.get(&map("one")), None);
}

/// Objects that aren't the subject's, each with how messages name its owner.
fn of_others() -> [(&'static str, Value); 2] {
    let other = json!([{
        "apiVersion": "test/v1alpha1", "kind": "Script", "name": "other", "uid": "other", "controller": true,
    }]);
    let of_another = json!({ "metadata": { "ownerReferences": other }, "data": { "a": "theirs" } });
    let of_none = json!({ "data": { "a": "theirs" } });
    [("", of_none), (", Script other", of_another)]
}

fn taken(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "apply": { "old": {} } }));
    for (owner, foreign) in of_others() {
        runtime.delete(&map("foreign"));
        runtime.put(&map("foreign"), foreign);
        runtime.run(json!({ "apply": { "foreign": { "a": "ours" }, "new": {} } }));
        let object = runtime.there(&map("foreign"));
        assert_eq!(object["data"], json!({ "a": "theirs" }));
        assert!(runtime.get(&map("new")).is_some(), "others are applied");
        assert!(runtime.get(&map("old")).is_some(), "nothing is deleted");
        let [status, reason, message] = runtime.condition("Ready");
        assert_eq!([status, reason], texts(["False", "NameTaken"]));
        let place = "ConfigMap foreign in conformance exists and has another owner";
        let advice = "so it is left alone: delete or rename it, or choose another name here";
        assert_eq!(message, format!("{place}{owner}, {advice}"));
    }
    runtime.delete(&map("foreign"));
    runtime.reconcile();
    assert_eq!(
        runtime.there(&map("foreign"))["data"],
        json!({ "a": "ours" })
    );
    assert_eq!(runtime.get(&map("old")), None);
}

fn taken_outlives_subject(runtime: &mut dyn Runtime) {
    for (_, foreign) in of_others() {
        runtime.put(&map("foreign"), foreign);
        runtime.run(json!({ "apply": { "foreign": { "a": "ours" }, "own": {} } }));
        runtime.delete(&subject());
        runtime.reconcile();
        for gone in [map("own"), subject()] {
            assert_eq!(runtime.get(&gone), None, "{gone}");
        }
        let object = runtime.there(&map("foreign"));
        assert_eq!(object["data"], json!({ "a": "theirs" }));
        runtime.delete(&map("foreign"));
    }
}

fn labelled(runtime: &mut dyn Runtime) {
    let labels = json!({ "former": "x", "other": "y" });
    let theirs = json!({ "metadata": { "labels": labels }, "data": { "a": "theirs" } });
    runtime.put(&map("theirs"), theirs);
    let labels = json!({ "ours": "z", "former": null });
    runtime.run(json!({ "label": { "theirs": labels, "missing": labels } }));
    let object = runtime.there(&map("theirs"));
    let labels = json!({ "other": "y", "ours": "z" });
    assert_eq!(object["metadata"]["labels"], labels);
    assert_eq!(object["data"], json!({ "a": "theirs" }));
    assert_eq!(runtime.get(&map("missing")), None);
    runtime.run(json!({}));
    assert_eq!(runtime.there(&map("theirs"))["metadata"]["labels"], labels);
}

fn outdated(runtime: &mut dyn Runtime) {
    runtime.put(&map("theirs"), json!({ "data": { "a": "theirs" } }));
    runtime.run(json!({ "apply": { "old": {} } }));
    let events = runtime.events();
    let labels = json!({ "theirs": { "ours": "z" } });
    runtime.run(json!({ "label": labels, "labelVersion": "0" }));
    let object = runtime.there(&map("theirs"));
    assert_eq!(object["metadata"]["labels"].get("ours"), None);
    assert!(runtime.get(&map("old")).is_some(), "nothing is deleted");
    let status = &runtime.there(&subject())["status"];
    assert_eq!(status["observedGeneration"], 2, "the status is reported");
    assert_eq!(runtime.events(), events);

    runtime.run(json!({ "label": labels }));
    let object = runtime.there(&map("theirs"));
    assert_eq!(object["metadata"]["labels"]["ours"], "z");
    assert_eq!(runtime.get(&map("old")), None);
    assert_eq!(runtime.there(&subject())["status"]["observedGeneration"], 3);
}

fn generated(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "generate": { "drawn": true } }));
    let drawn = runtime.there(&secret("drawn"));
    assert_eq!(drawn["data"]["username"], "dXNlcg==");
    assert!(drawn["data"]["password"].is_string());
    assert_eq!(drawn["type"], "Opaque");
    let labels = &drawn["metadata"]["labels"];
    assert_eq!(labels["c5c3.io/owner-name"], "script");
    runtime.run(json!({ "generate": { "drawn": true }, "apply": { "one": {} } }));
    assert_eq!(runtime.there(&secret("drawn"))["data"], drawn["data"]);
    runtime.delete(&secret("drawn"));
    runtime.reconcile();
    assert_ne!(runtime.there(&secret("drawn"))["data"], drawn["data"]);
}

fn given_secret(runtime: &mut dyn Runtime) {
    runtime.put(
        &secret("given"),
        json!({ "data": { "password": "bWluZQ==" } }),
    );
    runtime.run(json!({ "generate": { "given": false } }));
    let given = runtime.there(&secret("given"));
    assert_eq!(given["data"], json!({ "password": "bWluZQ==" }));
    runtime.run(json!({}));
    assert!(runtime.get(&secret("given")).is_some());
}

fn retained(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "generate": { "temporary": false, "lasting": true } }));
    assert!(runtime.get(&secret("temporary")).is_some());
    runtime.run(json!({}));
    assert_eq!(runtime.get(&secret("temporary")), None);
    assert!(runtime.get(&secret("lasting")).is_some());
}

fn elsewhere(runtime: &mut dyn Runtime) {
    runtime.run(json!({ "elsewhere": "other", "apply": { "one": {} } }));
    assert_eq!(
        runtime.get(&Key::of::<ConfigMap>("other", "elsewhere")),
        None
    );
    assert_eq!(runtime.get(&map("one")), None);
    assert_eq!(runtime.condition("Ready")[1], "InternalError");
}

fn waiting(runtime: &mut dyn Runtime) {
    let spec = json!({ "waitFor": "needed", "apply": { "one": {} } });
    runtime.run(spec);
    assert_eq!(runtime.get(&map("one")), None);
    let waits = texts(["False", "WaitingForSecret", "waits for Secret needed"]);
    assert_eq!(runtime.condition("Complete"), waits);
    assert_eq!(runtime.condition("Ready"), waits);
    runtime.put(&secret("needed"), json!({ "data": {} }));
    runtime.reconcile();
    assert!(runtime.get(&map("one")).is_some());
    assert_eq!(
        runtime.events(),
        [
            texts([
                "Normal",
                "WaitingForSecret",
                "Ready: waits for Secret needed"
            ]),
            texts(["Normal", "Ready", "Complete is True"]),
        ]
    );
}

fn status(runtime: &mut dyn Runtime) {
    runtime.run(json!({}));
    runtime.run(json!({ "apply": { "one": {} } }));
    let object = runtime.there(&subject());
    let generation = &object["metadata"]["generation"];
    assert_eq!(*generation, 2);
    assert_eq!(object["status"]["observedGeneration"], *generation);
    let conditions = object["status"]["conditions"].as_array();
    let conditions: Vec<[&Value; 3]> = conditions
        .into_iter()
        .flatten()
        .map(|it| ["type", "status", "observedGeneration"].map(|field| &it[field]))
        .collect();
    let (complete, ready, is_true) = (json!("Complete"), json!("Ready"), json!("True"));
    assert_eq!(
        conditions,
        [
            [&complete, &is_true, generation],
            [&ready, &is_true, generation]
        ]
    );
}
