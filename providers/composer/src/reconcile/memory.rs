//! Reconciles objects in memory as the controller does on an API server.

use std::collections::BTreeSet;

use c5c3_kinds::ResourceKind;
use jiff::Timestamp;
use serde_json::Value;

use super::{Event, Existing, Reconcile, Start, Write, events, foremost, refused};
use crate::composed::Composed;
use crate::deletion::has_serving_pods;
use crate::failure::Failure;
use crate::key::Key;
use crate::lookup::{Dependency, ExternalRequest, Lookup, Source};
use crate::observed::ObservedState;
use crate::owner::Owner;
use crate::subject::is_deleted;

/// The objects of a cluster that is in memory.
pub trait Objects: Source {
    /// The moment.
    fn now(&self) -> Timestamp;

    /// What is known of one object.
    fn existing(&self, reconcile: Reconcile<'_>, key: &Key) -> Lookup<Existing>;

    /// The objects whose controller is the subject.
    fn controlled(&self, reconcile: Reconcile<'_>) -> Vec<(Key, Existing)>;

    /// Whether a kind can be read in a namespace.
    fn is_readable(&self, kind: ResourceKind, namespace: &str) -> bool;

    /// Writes a part of the desired state, where it differs from what exists.
    fn write(&mut self, reconcile: Reconcile<'_>, owner: &Owner, key: &Key, write: Write<'_>);

    /// Deletes an object.
    fn delete(&mut self, key: &Key);

    /// Calls an external system.
    ///
    /// # Errors
    /// The system refuses the call, or can't be reached.
    fn call(&mut self, subject: &Key, call: &ExternalRequest) -> Result<(), Failure>;

    /// Adds a finalizer to the subject, or removes it.
    fn set_finalizer(&mut self, subject: &Key, finalizer: &str, wanted: bool);

    /// Writes the subject's status and, where it changed, the events.
    fn report(&mut self, subject: &Key, status: Value, events: Vec<Event>);
}

/// What a reconcile in memory did.
pub struct Outcome {
    /// What was composed and applied.
    ///
    /// # Errors
    /// It can't be composed, or not be applied; the status has the failure.
    pub result: Result<Composed, Failure>,
    /// What was looked up.
    pub dependencies: BTreeSet<Dependency>,
}

/// Reconciles a subject once. Returns none if it doesn't exist, or if nothing is composed for it any more.
pub fn reconcile(objects: &mut impl Objects, reconcile: Reconcile<'_>) -> Option<Outcome> {
    let subject = reconcile.subject;
    let resource = objects.object(subject).found()?;
    let finalizer = reconcile.finalizer();
    let is_deleted = is_deleted(&resource);
    let finalizers = resource.pointer("/metadata/finalizers");
    let has_finalizer = |name: &str| {
        let finalizers = finalizers.and_then(Value::as_array);
        finalizers.is_some_and(|finalizers| finalizers.iter().any(|other| *other == name))
    };
    let is_finalized = has_finalizer(&finalizer);
    let may_have_pods = || may_have(objects, reconcile, has_serving_pods);
    match reconcile.start(is_deleted, has_finalizer, may_have_pods) {
        Start::Leave => return None,
        Start::Release => {
            objects.set_finalizer(subject, &finalizer, false);
            return None;
        }
        Start::Compose => {}
    }
    let now = objects.now();
    let observed = ObservedState::new(objects, now);
    let composed = reconcile.operator.composed(&resource, &observed);
    let composed = composed.and_then(|composed| {
        reconcile.check_places(&composed.desired)?;
        Ok(composed)
    });
    let unknown = observed.unknown_kinds();
    let dependencies = observed.into_dependencies();
    let report = |objects: &mut _, status: Value, failed: &BTreeSet<String>| {
        let events = events(&resource["status"], &status, failed);
        Objects::report(objects, subject, status, events);
    };
    let refuse = |objects: &mut _, composed: Option<&Composed>, failure: &Failure| {
        let (status, failed) = refused(&resource, composed, failure, now);
        report(objects, status, &failed);
    };
    let result = composed.inspect_err(|failure| refuse(objects, None, failure));
    let result = result.and_then(|composed| {
        if !is_finalized && reconcile.operator.deletion().needs_finalizer() {
            objects.set_finalizer(subject, &finalizer, true);
        }
        let is_written = apply(objects, reconcile, &composed, &unknown)
            .inspect_err(|failure| refuse(objects, Some(&composed), failure))?;
        if is_written
            && is_deleted
            && composed.desired.is_empty()
            && !may_have(objects, reconcile, |_| true)
        {
            objects.set_finalizer(subject, &finalizer, false);
        } else {
            report(objects, composed.status.clone(), &composed.failed);
        }
        Ok(composed)
    });
    Some(Outcome {
        result,
        dependencies,
    })
}

/// Writes the desired state. Nothing is deleted and no external system is called unless everything is written. Returns whether
/// everything is: an object that has changed since it was observed isn't labelled.
fn apply(
    objects: &mut impl Objects,
    reconcile: Reconcile<'_>,
    composed: &Composed,
    unknown: &BTreeSet<ResourceKind>,
) -> Result<bool, Failure> {
    let desired = &composed.desired;
    let (mut problems, mut is_outdated) = (Vec::new(), false);
    for (key, write) in desired.writes().into_iter().flatten() {
        match write.is_due(key, &objects.existing(reconcile, key)) {
            Ok(true) if !is_for_present(objects, key, write) => is_outdated = true,
            Ok(true) => objects.write(reconcile, &composed.owner, key, write),
            Ok(false) => {}
            Err(failure) => problems.push(failure),
        }
    }
    if let Some(problem) = foremost(&problems) {
        return Err(problem.clone());
    }
    if is_outdated {
        return Ok(false);
    }
    let is_known = |kind: ResourceKind, namespace: &Option<String>| {
        let namespace = namespace.as_deref().unwrap_or_default();
        !unknown.contains(&kind) && objects.is_readable(kind, namespace)
    };
    let owned = owned(objects, reconcile)
        .into_iter()
        .filter(|(key, _)| is_known(key.kind, &key.namespace))
        .map(|(key, existing)| (key, existing, ()))
        .collect();
    let pruned = reconcile.prune(desired, owned, |kind| {
        is_known(kind, &reconcile.subject.namespace)
    });
    for (key, ()) in pruned {
        objects.delete(&key);
    }
    // Another call may be about something else.
    let calls = desired.calls.iter();
    let problems: Vec<Failure> = calls
        .filter_map(|call| objects.call(reconcile.subject, call).err())
        .collect();
    match foremost(&problems) {
        Some(problem) => Err(problem.clone()),
        None => Ok(true),
    }
}

/// Whether a write was decided for the object as it is now.
fn is_for_present(objects: &impl Objects, key: &Key, write: Write<'_>) -> bool {
    if !matches!(write, Write::Label { .. }) {
        return true;
    }
    let object = objects.object(key).found();
    let version = object
        .as_ref()
        .and_then(|object| object.pointer("/metadata/resourceVersion")?.as_str());
    write.is_for(version)
}

/// The subject's own objects.
fn owned(objects: &impl Objects, reconcile: Reconcile<'_>) -> Vec<(Key, Existing)> {
    let kinds = reconcile.pruned_kinds();
    let mut owned = objects.controlled(reconcile);
    owned.retain(|(key, _)| kinds.contains(&key.kind) && reconcile.may_own(key));
    owned
}

/// Whether the subject has, or may have, objects of some kinds, except those that outlast it.
fn may_have(
    objects: &impl Objects,
    reconcile: Reconcile<'_>,
    is_meant: impl Fn(ResourceKind) -> bool,
) -> bool {
    let namespace = reconcile.subject.namespace.as_deref().unwrap_or_default();
    reconcile.may_have(is_meant, owned(objects, reconcile), |kind| {
        objects.is_readable(kind, namespace)
    })
}

/// Sets labels on an object, and removes those without a value.
pub fn set_labels(object: &mut Value, labels: &Value) {
    let live = &mut object["metadata"]["labels"];
    for (label, value) in labels.as_object().into_iter().flatten() {
        match (value.is_null(), live.as_object_mut()) {
            (true, Some(live)) => drop(live.shift_remove(label)),
            (true, None) => {}
            (false, _) => live[label] = value.clone(),
        }
    }
}
