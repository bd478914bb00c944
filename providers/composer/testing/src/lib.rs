//! A cluster in memory that runs composers, for their tests: it reconciles as the controller does, and counts every write and
//! every call of an external system.

pub mod api_server;
pub mod conformance;
mod difference;
pub mod dump;
pub mod killed;
mod objects;
mod owned;
mod parts;
mod refused;
mod rounds;
mod shared;
mod store;
pub mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use educe::Educe;
use jiff::{SignedDuration, Timestamp};
use provider_composer::reconcile::memory;
use provider_composer::reconcile::{Event, Management, Reconcile};
use provider_composer::{
    Composed, Dependency, Failure, Generated, Key, Operator, Owner, ResourceKind, WHILE_WANTED,
    owner_reference,
};
use serde_json::Value;

pub use difference::difference;
pub use parts::{condition, secret_with};
pub use shared::Shared;
pub use store::Store;

use api_server::{Refusal, Request};
use stored::is_deleted;

/// 2026-02-01T00:00:00Z, the time at which every cluster starts.
const BEGINNING: Timestamp = Timestamp::constant(1_769_904_000, 0);

/// A simulated external system.
pub trait System {
    /// Returns the response to a request, as its driver would; none while the system is unavailable.
    fn answer(&self, query: &str) -> Option<Value>;

    /// Handles a call.
    ///
    /// # Errors
    /// The system refuses it, for this reason.
    fn call(&mut self, call: &str) -> Result<(), String>;
}

/// A cluster in memory.
#[derive(Educe)]
#[educe(Default)]
pub struct Cluster {
    contents: Contents,
    systems: BTreeMap<&'static str, Box<dyn System>>,
    /// After how many writes the operator is killed.
    #[educe(Default = usize::MAX)]
    last: usize,
}

/// Everything in a cluster but its external systems. Copies of it are the beginning of clusters of their own.
#[derive(Clone, Default)]
pub struct Contents {
    store: Store,
    unreadable: BTreeSet<Key>,
    unreadable_kinds: BTreeSet<ResourceKind>,
    absent_kinds: BTreeSet<ResourceKind>,
    /// The calls so far: system and content.
    calls: Vec<(String, String)>,
    dependencies: BTreeSet<Dependency>,
    generated: BTreeMap<Key, usize>,
    events: Vec<Event>,
    writes: usize,
    /// How many values were drawn for each Secret.
    drawn: BTreeMap<Key, usize>,
}

impl From<Contents> for Cluster {
    fn from(contents: Contents) -> Self {
        Self {
            contents,
            ..Self::default()
        }
    }
}

impl Cluster {
    /// Every object, by its key.
    pub fn objects(&self) -> &BTreeMap<Key, Arc<Value>> {
        &self.contents.store.objects
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.contents.store.object(key)
    }

    /// What was looked up in the last reconcile.
    pub fn dependencies(&self) -> &BTreeSet<Dependency> {
        &self.contents.dependencies
    }

    /// How often each Secret was generated.
    pub fn generated(&self) -> &BTreeMap<Key, usize> {
        &self.contents.generated
    }

    /// Whether a generated Secret stays, wanted or not.
    pub fn stays(&self, key: &Key) -> bool {
        let annotations = self
            .get(key)
            .map(|secret| &secret["metadata"]["annotations"]);
        annotations.is_some_and(|annotations| annotations.get(WHILE_WANTED).is_none())
    }

    /// The events so far.
    pub fn events(&self) -> &[Event] {
        &self.contents.events
    }

    /// How many writes there were so far, calls of external systems included.
    pub fn writes(&self) -> usize {
        self.contents.writes
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.contents.store.now
    }

    /// Advances the time.
    pub fn wait(&mut self, time: SignedDuration) {
        self.contents.store.now += time;
    }

    /// Creates or changes an object, as a user does: its finalizers and its status stay, unless it has none and is given one.
    pub fn put(&mut self, key: &Key, wanted: &Value) {
        let request = match self.get(key) {
            Some(live) => Request::Replace(replacing(live, wanted)),
            None => Request::Create(wanted.clone()),
        };
        self.request(key, request);
        let has_status = |object: &Value| object.get("status").is_some_and(|it| !it.is_null());
        if has_status(wanted) && self.get(key).is_some_and(|live| !has_status(live)) {
            // It is one write with that of the object.
            let status = Request::SetStatus(wanted["status"].clone());
            let _ = self.contents.store.request(key, status);
        }
        if is_deleted(wanted) {
            self.delete(key);
        }
    }

    /// Writes a status, as an object's own operator does.
    pub fn set_status(&mut self, key: &Key, status: Value) {
        if self.get(key).is_some() {
            self.request(key, Request::SetStatus(status));
        }
    }

    /// Changes an object by hand. The generation counts changes of the spec.
    pub fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        if let Some(mut edited) = self.get(key).cloned() {
            change(&mut edited);
            self.put(key, &edited);
        }
    }

    /// Deletes an object; one with finalizers is only marked as deleted.
    pub fn delete(&mut self, key: &Key) {
        if self.get(key).is_some() {
            self.request(key, Request::Delete);
        }
    }

    /// Keeps objects of a kind when they are deleted, as their operators' finalizers do, until they are released.
    pub fn hold(&mut self, kind: ResourceKind) {
        self.contents.store.held.insert(kind);
    }

    /// Releases an object that is being deleted, as its operator does when it removes its finalizer.
    pub fn release(&mut self, key: &Key) {
        self.perform(|store| {
            store.release(key);
            Ok(())
        });
    }

    /// Makes an object unreadable, or readable again.
    pub fn set_readable(&mut self, key: &Key, readable: bool) {
        match readable {
            true => self.contents.unreadable.remove(key),
            false => self.contents.unreadable.insert(key.clone()),
        };
    }

    /// Makes a kind unreadable, or readable again.
    pub fn set_kind_readable(&mut self, kind: ResourceKind, readable: bool) {
        match readable {
            true => self.contents.unreadable_kinds.remove(&kind),
            false => self.contents.unreadable_kinds.insert(kind),
        };
    }

    /// Uninstalls a kind of which nothing exists.
    pub fn uninstall(&mut self, kind: ResourceKind) {
        self.contents.absent_kinds.insert(kind);
    }

    /// Everything in it but its external systems.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Adds an external system. In a restored cluster it gets the calls from before.
    pub fn join(&mut self, name: &'static str, mut system: impl System + 'static) {
        let calls = self.contents.calls.iter();
        for (_, call) in calls.filter(|(other, _)| other == name) {
            // It was accepted before.
            let _ = system.call(call);
        }
        self.connect(name, system);
    }

    /// Adds an external system that has handled the calls from before.
    pub fn connect(&mut self, name: &'static str, system: impl System + 'static) {
        self.systems.insert(name, Box::new(system));
    }

    /// Reconciles once. Returns what was applied; none if nothing is composed for the subject any more.
    ///
    /// # Errors
    /// The failure; it is in the status too.
    pub fn reconcile(
        &mut self,
        operator: &dyn Operator,
        key: &Key,
    ) -> Result<Option<Composed>, Failure> {
        let reconcile = Reconcile {
            operator,
            subject: key,
        };
        let Some(outcome) = memory::reconcile(self, reconcile) else {
            return Ok(None);
        };
        self.contents.dependencies = outcome.dependencies;
        outcome.result.map(Some)
    }

    /// Reconciles, but stops after a number of writes, as an operator does that is killed.
    ///
    /// # Errors
    /// The failure; it is in the status too.
    pub fn reconcile_until(
        &mut self,
        operator: &dyn Operator,
        key: &Key,
        writes: usize,
    ) -> Result<Option<Composed>, Failure> {
        self.last = self.contents.writes.saturating_add(writes);
        let result = self.reconcile(operator, key);
        self.last = usize::MAX;
        result
    }

    /// Reconciles until nothing changes any more.
    ///
    /// # Panics
    /// That never comes.
    pub fn settle(&mut self, operator: &dyn Operator, key: &Key) {
        for _ in 0..64 {
            let before = self.contents.writes;
            // A failure is in the status, where tests look for it.
            let _ = self.reconcile(operator, key);
            if self.contents.writes == before {
                return;
            }
        }
        unreachable!("{key} never settles");
    }

    fn generate(
        &mut self,
        reconcile: Reconcile<'_>,
        owner: &Owner,
        key: &Key,
        generated: &Generated,
    ) {
        let operator = reconcile.operator.name();
        let mut number = self.contents.drawn.get(key).copied().unwrap_or_default();
        let subject = reconcile.subject;
        let uid = self.uid(subject);
        let reference = uid.map(|uid| owner_reference(subject.kind, &subject.name, uid));
        let Ok(secret) = generated.secret(key, operator, owner, reference, |_, value| {
            number += 1;
            Ok::<_, Infallible>(stored::drawn(key, value, number))
        });
        if self.perform(|store| store.generate(key, secret, operator)) {
            self.contents.drawn.insert(key.clone(), number);
            *self.contents.generated.entry(key.clone()).or_default() += 1;
        }
    }

    fn request(&mut self, key: &Key, request: Request) -> bool {
        self.perform(|store| store.request(key, request))
    }

    /// Writes something, unless the operator is killed. Returns whether anything changed.
    fn perform(&mut self, write: impl FnOnce(&mut Store) -> Result<(), Refusal>) -> bool {
        if self.contents.writes >= self.last {
            return false;
        }
        let version = self.contents.store.version;
        if let Err(refusal) = write(&mut self.contents.store) {
            unreachable!("{refusal}");
        }
        let is_changed = self.contents.store.version > version;
        self.contents.writes += usize::from(is_changed);
        is_changed
    }

    fn uid(&self, key: &Key) -> Option<&str> {
        self.get(key)?["metadata"]["uid"].as_str()
    }

    fn management(&self, operator: &dyn Operator, key: &Key) -> Management {
        let managed = self.contents.store.managed.get(key);
        match managed.and_then(|managed| managed.get(operator.name())) {
            None => Management::None,
            Some(Value::Null) => Management::Created,
            Some(_) => Management::Applied,
        }
    }
}

/// An object as it replaces another one.
fn replacing(live: &Value, wanted: &Value) -> Value {
    let mut object = wanted.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| field != "uid" && field != "resourceVersion");
    }
    let finalizers = live["metadata"].get("finalizers");
    if object["metadata"].get("finalizers").is_none()
        && let Some(finalizers) = finalizers
    {
        object["metadata"]["finalizers"] = finalizers.clone();
    }
    object
}
