//! What a composer wants.

use c5c3_api::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conditions::Conditions;
use crate::failure::Failure;
use crate::generated::Generated;
use crate::key::Key;
use crate::kind::Resource;
use crate::world::Outside;

/// What a composer wants: all that is neither applied, generated nor kept goes, if it is the subject's.
#[derive(Default)]
pub struct Composition {
    pub(crate) objects: BTreeMap<Key, Value>,
    pub(crate) lasting: BTreeSet<Key>,
    pub(crate) labelled: BTreeSet<Key>,
    pub(crate) generated: BTreeMap<Key, Generated>,
    pub(crate) kept: BTreeSet<Key>,
    pub(crate) calls: Vec<Outside>,
    pub(crate) wake: Option<Timestamp>,
    /// Why something can't be written as JSON.
    pub(crate) failure: Option<Failure>,
    /// What holds of the subject.
    pub conditions: Conditions,
}

impl Composition {
    /// Adds an object to the desired state. Name and namespace, the owner's labels and its ownerReference are added; the
    /// body's own labels and annotations stay.
    pub fn apply<T: Resource + Serialize>(&mut self, namespace: &str, name: &str, body: &T) -> Key {
        let key = Key::of::<T>(namespace, name);
        let body = self.json(&key, body);
        self.objects.insert(key.clone(), body);
        key
    }

    /// Adds an object without an owner to the desired state: it stays until somebody deletes it, because what it stands
    /// for, for instance the data on a volume, can't be created again.
    pub fn apply_lasting<T: Resource + Serialize>(
        &mut self,
        namespace: &str,
        name: &str,
        body: &T,
    ) {
        let key = self.apply(namespace, name, body);
        self.lasting.insert(key);
    }

    /// Sets labels on an object that someone else manages. No other field of it changes, and it is neither created nor deleted.
    pub fn label<T: Resource>(&mut self, namespace: &str, name: &str, labels: &[(&str, &str)]) {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        let key = Key::of::<T>(namespace, name);
        let body = json!({ "metadata": { "labels": labels } });
        self.objects.insert(key.clone(), body);
        self.labelled.insert(key);
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

    /// Wants a Secret with values that are made once.
    pub fn generate(&mut self, namespace: &str, name: &str, generated: Generated) -> Key {
        let key = Key::of::<k8s_openapi::api::core::v1::Secret>(namespace, name);
        self.generated.insert(key.clone(), generated);
        key
    }

    /// Leaves an object as it is, if it exists: what it follows from can't be read now, or it isn't its turn to change.
    pub fn keep(&mut self, key: Key) {
        self.kept.insert(key);
    }

    /// Calls a system outside Kubernetes, after all objects are as wanted. A call that was carried out already must do no
    /// harm.
    pub fn call(&mut self, call: Outside) {
        self.calls.push(call);
    }

    /// Asks to be called again at a time, though nothing may have changed. The earliest wins.
    pub fn wake_at(&mut self, moment: Timestamp) {
        self.wake = Some(self.wake.map_or(moment, |other| other.min(moment)));
    }

    /// Whether an object is wanted, in whatever way.
    pub fn wants(&self, key: &Key) -> bool {
        self.objects.contains_key(key)
            || self.generated.contains_key(key)
            || self.kept.contains(key)
    }
}
