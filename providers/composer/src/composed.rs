//! The result of one reconcile.

use std::collections::BTreeSet;

use c5c3_api::CustomResource;
use c5c3_kinds::ResourceKind;
use serde_json::{Map, Value, json};

use crate::desired::DesiredState;
use crate::key::Key;
use crate::owner::{self, MANAGED_BY, Owner};
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
        let marks = Marks {
            operator,
            kind,
            subject: &subject.metadata,
            owner: &owner,
            reference: subject
                .metadata
                .uid
                .as_deref()
                .map(|uid| owner::owner_reference(kind, &subject.metadata.name, uid)),
        };
        let objects = std::mem::take(&mut desired.objects).into_iter();
        desired.objects = objects
            .map(|(key, body)| {
                let object = identified(&key, body, |metadata| {
                    if !desired.labelled.contains_key(&key) {
                        marks.add(&key, desired.unowned.contains(&key), metadata);
                    }
                });
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

/// What the owner of objects adds to each.
struct Marks<'a> {
    operator: &'static str,
    kind: ResourceKind,
    subject: &'a Metadata,
    owner: &'a Owner,
    /// The ownerReference; none while the subject has no uid, as in a plan.
    reference: Option<Value>,
}

impl Marks<'_> {
    /// Adds labels to an object's metadata, and its owner unless it is unowned.
    fn add(&self, key: &Key, unowned: bool, metadata: &mut Map<String, Value>) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if !labels.is_object() {
            *labels = json!({});
        }
        let owner = (!unowned).then_some(self.owner);
        if let Some(labels) = labels.as_object_mut() {
            for (label, value) in common_labels(key, self.kind, self.subject) {
                labels.entry(label).or_insert(Value::String(value));
            }
            labels.insert(MANAGED_BY.to_owned(), Value::from(self.operator));
            for (label, value) in owner.iter().flat_map(|owner| owner.labels()) {
                labels.insert(label.to_owned(), Value::from(value));
            }
        }
        // An owner without a namespace may own objects in every namespace.
        let namespace = &self.subject.namespace;
        let is_within = namespace.is_none() || key.namespace == *namespace;
        if let (false, true, Some(reference)) = (unowned, is_within, &self.reference) {
            let references = Value::Array(vec![reference.clone()]);
            metadata.insert("ownerReferences".to_owned(), references);
        }
    }
}

/// Returns a body as an object of its kind and name, with metadata that `mark` completes.
fn identified(key: &Key, body: Value, mark: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let Value::Object(mut body) = body else {
        return identified(key, json!({}), mark);
    };
    let mut metadata = match body.get_mut("metadata").map(Value::take) {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.insert("name".to_owned(), Value::from(key.name.as_str()));
    if let Some(namespace) = &key.namespace {
        metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
    }
    mark(&mut metadata);
    let mut object = Map::with_capacity(body.len() + 2);
    object.insert("apiVersion".to_owned(), key.kind.api_version().into());
    object.insert("kind".to_owned(), key.kind.kind.into());
    object.insert("metadata".to_owned(), Value::Object(metadata));
    for (field, value) in body {
        if !matches!(
            field.as_str(),
            "apiVersion" | "kind" | "metadata" | "status"
        ) {
            object.insert(field, value);
        }
    }
    Value::Object(object)
}
