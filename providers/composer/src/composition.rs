//! What a composer wants.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

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
    pub(crate) generated: BTreeMap<Key, Generated>,
    pub(crate) kept: BTreeSet<Key>,
    pub(crate) calls: Vec<Outside>,
    pub(crate) wake: Option<Timestamp>,
    /// What holds of the subject.
    pub conditions: Conditions,
}

impl Composition {
    /// Wants an object as given. Name and namespace, the owner's labels and its ownerReference are put in; the body's own
    /// labels and annotations stay.
    ///
    /// # Errors
    /// The body is nothing that JSON can hold.
    pub fn apply<T: Resource + Serialize>(
        &mut self,
        namespace: &str,
        name: &str,
        body: &T,
    ) -> Result<Key, Failure> {
        let key = Key::of::<T>(namespace, name);
        let body = serde_json::to_value(body).map_err(|error| {
            Failure::new("NotComposed", format!("{key} can't be written: {error}"))
        })?;
        self.objects.insert(key.clone(), body);
        Ok(key)
    }

    /// Wants an object as given, without an owner: it stays as long as nobody deletes it, because what it stands for, a
    /// volume's data for instance, can't be made again.
    ///
    /// # Errors
    /// The body is nothing that JSON can hold.
    pub fn apply_lasting<T: Resource + Serialize>(
        &mut self,
        namespace: &str,
        name: &str,
        body: &T,
    ) -> Result<Key, Failure> {
        let key = self.apply(namespace, name, body)?;
        self.lasting.insert(key.clone());
        Ok(key)
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
