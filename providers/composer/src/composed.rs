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
        let metadata = &subject.metadata;
        let marks = Marks {
            operator,
            name: kind.kind.to_lowercase(),
            part_of: metadata.labels.get(PART_OF).unwrap_or(&metadata.name),
            subject: metadata,
            owner: &owner,
            reference: metadata
                .uid
                .as_deref()
                .map(|uid| owner::owner_reference(kind, &metadata.name, uid)),
        };
        for (key, body) in &mut desired.objects {
            *body = identified(key, body.take(), |metadata| {
                if !desired.labelled.contains_key(key) {
                    marks.add(key, desired.unowned.contains(key), metadata);
                }
            });
        }
        for (key, generated) in &mut desired.generated {
            let component = key.kind.kind.to_lowercase();
            for (label, value) in marks.common_labels(&component) {
                let label = generated.labels.entry(label.to_owned());
                label.or_insert_with(|| value.to_owned());
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

/// What the owner of objects adds to each.
struct Marks<'a> {
    operator: &'static str,
    /// The subject's kind in lower case.
    name: String,
    /// The ControlPlane, or else the subject.
    part_of: &'a str,
    subject: &'a Metadata,
    owner: &'a Owner,
    /// The ownerReference; none while the subject has no uid, as in a plan.
    reference: Option<Value>,
}

impl Marks<'_> {
    /// The labels that tools expect of every object
    /// (<https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/>), unless the composer sets them:
    /// name, instance, component and part-of. The component is the object's kind in lower case, and the version is the composer's.
    fn common_labels<'l>(&'l self, component: &'l str) -> [(&'static str, &'l str); 4] {
        [
            ("app.kubernetes.io/name", &self.name),
            ("app.kubernetes.io/instance", &self.subject.name),
            ("app.kubernetes.io/component", component),
            (PART_OF, self.part_of),
        ]
    }

    /// Adds labels to an object's metadata, and its owner unless it is unowned.
    fn add(&self, key: &Key, unowned: bool, metadata: &mut Map<String, Value>) {
        if !metadata.get("labels").is_some_and(Value::is_object) {
            metadata.insert("labels".to_owned(), json!({}));
        }
        let owner = (!unowned).then_some(self.owner);
        if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
            let component = key.kind.kind.to_lowercase();
            for (label, value) in self.common_labels(&component) {
                if !labels.contains_key(label) {
                    labels.insert(label.to_owned(), Value::from(value));
                }
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
    let mut object = match body {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    let mut metadata = match object.get_mut("metadata").map(Value::take) {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.insert("name".to_owned(), Value::from(key.name.as_str()));
    if let Some(namespace) = &key.namespace {
        metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
    }
    mark(&mut metadata);
    let first = [
        ("apiVersion", Value::from(key.kind.api_version())),
        ("kind", Value::from(key.kind.kind)),
        ("metadata", Value::Object(metadata)),
    ];
    for (index, (field, value)) in first.into_iter().enumerate() {
        object.shift_insert(index, field.to_owned(), value);
    }
    object.shift_remove("status");
    Value::Object(object)
}
