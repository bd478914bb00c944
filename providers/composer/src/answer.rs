//! What a carrier of composers has to make so.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::CustomResource;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::composition::Composition;
use crate::generated::Generated;
use crate::key::Key;
use crate::kind::ResourceKind;
use crate::owner::{self, Owner};
use crate::subject::{Metadata, Subject};
use crate::world::Outside;

/// What a carrier of composers has to make so: objects applied, Secrets generated where there are none, what else is the
/// subject's deleted, calls made, the status written; in this order.
pub struct Answer {
    /// Whole objects, with the owner's labels and reference, but for those that outlast it.
    pub objects: BTreeMap<Key, Value>,
    /// Those of the objects that someone else manages: only their labels are applied, and only where they exist.
    pub labelled: BTreeSet<Key>,
    /// Secrets whose values are made once.
    pub generated: BTreeMap<Key, Generated>,
    /// Objects that stay as they are.
    pub kept: BTreeSet<Key>,
    /// Calls of systems outside Kubernetes.
    pub calls: Vec<Outside>,
    /// The whole status, conditions and all.
    pub status: Value,
    /// Types of the conditions that don't hold because something is wrong.
    pub failed: BTreeSet<String>,
    /// When to call the composer again though nothing changed.
    pub wake: Option<Timestamp>,
    /// Whose all this is.
    pub owner: Owner,
}

impl Answer {
    /// Whether nothing is wanted any more: a subject that is being deleted may go as soon as nothing of it is left.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
            && self.kept.is_empty()
            && self.generated.is_empty()
            && self.calls.is_empty()
    }

    pub(crate) fn of<S: CustomResource>(
        operator: &'static str,
        subject: &Subject<S>,
        composition: Composition,
        status: Value,
        failed: BTreeSet<String>,
    ) -> Self {
        let kind = ResourceKind::of::<S>();
        let owner = Owner::of(kind, &subject.metadata);
        let objects = composition
            .objects
            .into_iter()
            .map(|(key, body)| {
                if composition.labelled.contains(&key) {
                    let object = identified(&key, body);
                    return (key, object);
                }
                let owner = (!composition.lasting.contains(&key)).then_some(&owner);
                let object = dressed(&key, body, operator, kind, &subject.metadata, owner);
                (key, object)
            })
            .collect();
        let mut generated = composition.generated;
        for (key, generated) in &mut generated {
            for (label, value) in common_labels(key, kind, &subject.metadata) {
                let labels = &mut generated.labels;
                labels.entry(label.to_owned()).or_insert(value);
            }
        }
        Self {
            objects,
            labelled: composition.labelled,
            generated,
            kept: composition.kept,
            calls: composition.calls,
            status,
            failed,
            wake: composition.wake,
            owner,
        }
    }
}

/// Label with the operator that applies an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with what an object is a part of: the ControlPlane, whose name the label passes on from parent to child.
const PART_OF: &str = "app.kubernetes.io/part-of";

/// The labels that tools expect of every object
/// (<https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/>), unless the composer sets them:
/// name, instance, component and part-of. The version is the composer's.
fn common_labels(key: &Key, kind: ResourceKind, subject: &Metadata) -> [(&'static str, String); 4] {
    let parent = subject.labels.get(PART_OF).unwrap_or(&subject.name);
    [
        ("app.kubernetes.io/name", kind.kind.to_lowercase()),
        ("app.kubernetes.io/instance", subject.name.clone()),
        ("app.kubernetes.io/component", key.kind.kind.to_lowercase()),
        (PART_OF, parent.clone()),
    ]
}

/// A whole object: the body with the name it goes by and the marks of its owner, if it has one.
fn dressed(
    key: &Key,
    body: Value,
    operator: &'static str,
    kind: ResourceKind,
    subject: &Metadata,
    owner: Option<&Owner>,
) -> Value {
    let mut object = identified(key, body);
    let metadata = &mut object["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    if let Some(labels) = metadata["labels"].as_object_mut() {
        for (label, value) in common_labels(key, kind, subject) {
            labels.entry(label).or_insert_with(|| json!(value));
        }
        labels.insert(MANAGED_BY.to_owned(), json!(operator));
        for (label, value) in owner.iter().flat_map(|owner| owner.labels()) {
            labels.insert(label.to_owned(), json!(value));
        }
    }
    // An owner without a namespace may own objects in every namespace.
    let is_within = subject.namespace.is_none() || key.namespace == subject.namespace;
    if owner.is_some()
        && is_within
        && let Some(reference) = owner::reference(kind, subject)
    {
        metadata["ownerReferences"] = json!([reference]);
    }
    object
}

/// A body as an object of its kind and name.
fn identified(key: &Key, mut body: Value) -> Value {
    let mut metadata = match body.get_mut("metadata").map(Value::take) {
        Some(Value::Object(metadata)) => Value::Object(metadata),
        _ => json!({}),
    };
    metadata["name"] = json!(key.name);
    if let Some(namespace) = &key.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let mut object = json!({
        "apiVersion": key.kind.api_version(),
        "kind": key.kind.kind,
        "metadata": metadata,
    });
    if let (Some(object), Value::Object(body)) = (object.as_object_mut(), body) {
        for (field, value) in body {
            if !matches!(
                field.as_str(),
                "apiVersion" | "kind" | "metadata" | "status"
            ) {
                object.insert(field, value);
            }
        }
    }
    object
}
