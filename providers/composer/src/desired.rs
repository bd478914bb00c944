//! The desired state.

use c5c3_api::Reason;
use c5c3_kinds::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conditions::Conditions;
use crate::failure::Failure;
use crate::gauge::{Gauge, Metric};
use crate::generated::Generated;
use crate::key::Key;
use crate::lookup::ExternalRequest;
use crate::subject::Metadata;

/// What a composer wants. The owner's objects that are neither applied, generated nor kept are deleted.
#[derive(Default)]
pub struct DesiredState {
    /// Objects to apply.
    pub objects: BTreeMap<Key, Value>,
    /// Those of the objects that someone else manages, with the resourceVersion that was observed: only their labels change, and
    /// only as long as they have that version.
    pub labelled: BTreeMap<Key, Option<String>>,
    /// Secrets whose values are generated once.
    pub generated: BTreeMap<Key, Generated>,
    /// Objects that stay as they are.
    pub kept: BTreeSet<Key>,
    /// Calls of external systems.
    pub calls: Vec<ExternalRequest>,
    /// When to reconcile again though nothing changed.
    pub requeue_at: Option<Timestamp>,
    /// The conditions of the subject.
    pub conditions: Conditions,
    /// The gauges of the subject that the operator exports to Prometheus until its next reconcile.
    pub gauges: Vec<Gauge>,
    /// Those of the objects that outlast their owner.
    pub(crate) unowned: BTreeSet<Key>,
    /// Why an object can't be written as JSON.
    pub(crate) failure: Option<Failure>,
}

impl DesiredState {
    /// Adds an object to the desired state. Name and namespace, the owner's labels and its ownerReference are added; the
    /// body's own labels and annotations stay. An object that is added twice with different bodies, or generated too, fails the whole
    /// reconcile, once the composer has returned: one part of the subject would overwrite what another one has.
    pub fn apply<T: Resource + Serialize>(&mut self, namespace: &str, name: &str, body: &T) {
        let key = Key::of::<T>(namespace, name);
        let body = self.json(&key, body);
        let other = self.objects.get(&key);
        if other.is_some_and(|other| *other != body) || self.generated.contains_key(&key) {
            return self.fail(twice(&key));
        }
        self.objects.insert(key, body);
    }

    /// Adds an object without an owner to the desired state: nothing deletes it, because it has what can't be
    /// created again, for instance the data on a volume.
    pub fn apply_unowned<T: Resource + Serialize>(
        &mut self,
        namespace: &str,
        name: &str,
        body: &T,
    ) {
        self.apply(namespace, name, body);
        self.unowned.insert(Key::of::<T>(namespace, name));
    }

    /// Sets labels on an object that someone else manages, and removes those without a value. No other field of it changes, and
    /// it is neither created nor deleted. If the object isn't as it was observed any more, it is left alone, and the next
    /// reconcile decides anew.
    pub fn label<T: Resource>(&mut self, observed: &Metadata, labels: &[(&str, Option<&str>)]) {
        let labels: BTreeMap<&str, Option<&str>> = labels.iter().copied().collect();
        let namespace = observed.namespace.as_deref().unwrap_or_default();
        let key = Key::of::<T>(namespace, &observed.name);
        let body = json!({ "metadata": { "labels": labels } });
        self.objects.insert(key.clone(), body);
        self.labelled.insert(key, observed.resource_version.clone());
    }

    /// Returns a value as JSON. What JSON can't hold fails the whole reconcile, once the composer has returned.
    pub fn json(&mut self, what: impl Display, value: &impl Serialize) -> Value {
        serde_json::to_value(value).unwrap_or_else(|error| {
            let message = format!("{what} can't be written as JSON: {error}");
            self.fail(Failure::new(Reason::InternalError, message));
            Value::Null
        })
    }

    /// Fails the whole reconcile, once the composer has returned.
    pub fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
    }

    /// Adds a Secret to the desired state whose values are generated once, where no Secret of its name exists. One that is added twice with
    /// different values, or applied too, fails the whole reconcile, as in [`DesiredState::apply`]: two parts of the subject would have one
    /// secret.
    pub fn generate(&mut self, namespace: &str, name: &str, generated: Generated) {
        let key = Key::of::<k8s_openapi::api::core::v1::Secret>(namespace, name);
        let other = self.generated.get(&key);
        if other.is_some_and(|other| *other != generated) || self.objects.contains_key(&key) {
            return self.fail(twice(&key));
        }
        self.generated.insert(key, generated);
    }

    /// Leaves an object as it is, if it exists: what it is composed from can't be read now, or it must not change yet.
    pub fn keep(&mut self, key: Key) {
        self.kept.insert(key);
    }

    /// Calls an external system once all objects are applied. Calls are idempotent: one may be repeated.
    pub fn call(&mut self, call: ExternalRequest) {
        self.calls.push(call);
    }

    /// Requests another reconcile at a time, even if nothing changes until then. The earliest time wins.
    pub fn requeue_at(&mut self, moment: Timestamp) {
        self.requeue_at = Some(self.requeue_at.map_or(moment, |other| other.min(moment)));
    }

    /// Exports a gauge to Prometheus. Leave out one whose number is unknown.
    pub fn gauge(&mut self, metric: Metric, labels: &[(&'static str, &str)], value: i64) {
        self.gauges.push(Gauge::new(metric, labels, value));
    }

    /// Whether an object is applied, generated or kept.
    pub fn wants(&self, key: &Key) -> bool {
        self.objects.contains_key(key)
            || self.generated.contains_key(key)
            || self.kept.contains(key)
    }

    /// Whether nothing is wanted any more: a subject that is being deleted may be removed once its objects are.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
            && self.kept.is_empty()
            && self.generated.is_empty()
            && self.calls.is_empty()
    }
}

/// The failure of a subject of which two parts want an object differently.
fn twice(key: &Key) -> Failure {
    let message =
        format!("two parts of this resource would create {key}: give one of them another name");
    Failure::new(Reason::Invalid, message)
}
