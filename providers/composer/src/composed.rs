//! The result of one reconcile.

use std::collections::BTreeSet;

use c5c3_api::CustomResource;
use serde_json::{Value, json};

use crate::desired::DesiredState;
use crate::key::Key;
use crate::kind::ResourceKind;
use crate::owner::{self, Owner};
use crate::subject::{Metadata, Subject};

/// The result of one reconcile, for a runtime to apply in this order: objects are applied, Secrets that don't exist are
/// generated, the owner's other objects are deleted, external systems are called, and the status is written.
pub struct Composed {
    /// The desired state. Its objects are complete: they have the owner's labels and reference, but for those that outlast
    /// the owner.
    pub desired: DesiredState,
    /// The whole status, with its conditions.
    pub status: Value,
    /// Types of the conditions that are not True because something is wrong.
    pub failed: BTreeSet<String>,
    /// The resource that all objects belong to.
    pub owner: Owner,
}

impl Composed {
    pub(crate) fn of<S: CustomResource>(
        operator: &'static str,
        subject: &Subject<S>,
        mut desired: DesiredState,
        status: Value,
        failed: BTreeSet<String>,
    ) -> Self {
        let kind = ResourceKind::of::<S>();
        let owner = Owner::of(kind, &subject.metadata);
        let objects = std::mem::take(&mut desired.objects).into_iter();
        desired.objects = objects
            .map(|(key, body)| {
                if desired.labelled.contains(&key) {
                    let object = identified(&key, body);
                    return (key, object);
                }
                let owner = (!desired.unowned.contains(&key)).then_some(&owner);
                let object = complete(&key, body, operator, kind, &subject.metadata, owner);
                (key, object)
            })
            .collect();
        for (key, generated) in &mut desired.generated {
            for (label, value) in common_labels(key, kind, &subject.metadata) {
                let labels = &mut generated.labels;
                labels.entry(label.to_owned()).or_insert(value);
            }
        }
        Self {
            desired,
            status,
            failed,
            owner,
        }
    }
}

/// Label with the operator that applies an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the ControlPlane that an object is part of; a child inherits it from its parent.
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

/// Returns a complete object: the body with its name and, where it has an owner, the owner's labels and reference.
fn complete(
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

/// Returns a body as an object of its kind and name.
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
