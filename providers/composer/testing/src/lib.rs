//! A cluster in memory that runs composers, for their tests: it reconciles as the controller does, and counts every write and
//! every call of an external system.

pub mod conformance;
pub mod dump;
pub mod killed;
mod objects;
mod refused;
mod rounds;
pub mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::reconcile::memory;
use provider_composer::reconcile::{Controller, Event, Existing, Management, Reconcile};
use provider_composer::{
    Composed, Dependency, Failure, Generated, Key, Operator, Owner, ResourceKind, WHILE_WANTED,
    owner_reference,
};
use serde_json::{Value, json};

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
pub struct Cluster {
    objects: BTreeMap<Key, Arc<Value>>,
    /// What each operator applied of an object; null where it created the object.
    managed: BTreeMap<Key, BTreeMap<&'static str, Value>>,
    unreadable: BTreeSet<Key>,
    unreadable_kinds: BTreeSet<ResourceKind>,
    held: BTreeSet<ResourceKind>,
    systems: BTreeMap<&'static str, Box<dyn System>>,
    /// The calls so far: system and content.
    calls: Vec<(String, String)>,
    dependencies: BTreeSet<Dependency>,
    generated: BTreeMap<Key, usize>,
    events: Vec<Event>,
    writes: usize,
    /// After how many writes the operator is killed.
    last: usize,
    created: usize,
    /// How many values were drawn for each Secret.
    drawn: BTreeMap<Key, usize>,
    now: Timestamp,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            managed: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            unreadable_kinds: BTreeSet::new(),
            held: BTreeSet::new(),
            systems: BTreeMap::new(),
            calls: Vec::new(),
            dependencies: BTreeSet::new(),
            generated: BTreeMap::new(),
            events: Vec::new(),
            writes: 0,
            last: usize::MAX,
            created: 0,
            drawn: BTreeMap::new(),
            now: BEGINNING,
        }
    }
}

impl Cluster {
    /// Every object, by its key.
    pub fn objects(&self) -> &BTreeMap<Key, Arc<Value>> {
        &self.objects
    }

    /// One object.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key).map(Arc::as_ref)
    }

    /// What was looked up in the last reconcile.
    pub fn dependencies(&self) -> &BTreeSet<Dependency> {
        &self.dependencies
    }

    /// How often each Secret was generated.
    pub fn generated(&self) -> &BTreeMap<Key, usize> {
        &self.generated
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
        &self.events
    }

    /// How many writes there were so far, calls of external systems included.
    pub fn writes(&self) -> usize {
        self.writes
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Advances the time.
    pub fn wait(&mut self, time: SignedDuration) {
        self.now += time;
    }

    /// Creates or changes an object, as a user does: its status stays.
    pub fn put(&mut self, key: &Key, wanted: &Value) {
        self.store(key, wanted.clone());
    }

    /// Writes a status, as an object's own operator does.
    pub fn set_status(&mut self, key: &Key, status: Value) {
        if let Some(object) = self.objects.get_mut(key)
            && object["status"] != status
            && self.writes < self.last
        {
            self.writes += 1;
            Arc::make_mut(object)["status"] = status;
        }
    }

    /// Changes an object by hand. The generation counts changes of the spec.
    pub fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        if let Some(live) = self.objects.get(key) {
            let mut edited = Value::clone(live);
            change(&mut edited);
            self.put(key, &edited);
        }
    }

    /// Deletes an object; one with finalizers is only marked as deleted.
    pub fn delete(&mut self, key: &Key) {
        let now = self.now;
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        if !is_deleted(object) && self.writes < self.last {
            self.writes += 1;
            Arc::make_mut(object)["metadata"]["deletionTimestamp"] = json!(now.to_string());
            self.remove_if_released(key);
        }
    }

    /// Keeps objects of a kind when they are deleted, as their operators' finalizers do, until they are released.
    pub fn hold(&mut self, kind: ResourceKind) {
        self.held.insert(kind);
    }

    /// Releases an object that is being deleted, as its operator does when it removes its finalizer.
    pub fn release(&mut self, key: &Key) {
        if self.get(key).is_some_and(is_deleted) {
            self.remove(key);
        }
    }

    /// Makes an object unreadable, or readable again.
    pub fn set_readable(&mut self, key: &Key, readable: bool) {
        match readable {
            true => self.unreadable.remove(key),
            false => self.unreadable.insert(key.clone()),
        };
    }

    /// Makes a kind unreadable, or readable again.
    pub fn set_kind_readable(&mut self, kind: ResourceKind, readable: bool) {
        match readable {
            true => self.unreadable_kinds.remove(&kind),
            false => self.unreadable_kinds.insert(kind),
        };
    }

    /// Adds an external system. In a restored cluster it gets the calls from before.
    pub fn join(&mut self, name: &'static str, mut system: impl System + 'static) {
        for (_, call) in self.calls.iter().filter(|(other, _)| other == name) {
            // It was accepted before.
            let _ = system.call(call);
        }
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
        self.dependencies = outcome.dependencies;
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
        self.last = self.writes.saturating_add(writes);
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
            let before = self.writes;
            // A failure is in the status, where tests look for it.
            let _ = self.reconcile(operator, key);
            if self.writes == before {
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
        let mut number = self.drawn.get(key).copied().unwrap_or_default();
        let subject = reconcile.subject;
        let uid = self.uid(subject);
        let reference = uid.map(|uid| owner_reference(subject.kind, &subject.name, uid));
        let Ok(secret) = generated.secret(key, operator, owner, reference, |_, value| {
            number += 1;
            Ok::<_, Infallible>(stored::drawn(key, value, number))
        });
        if self.store(key, secret) {
            self.drawn.insert(key.clone(), number);
            *self.generated.entry(key.clone()).or_default() += 1;
            let managed = self.managed.entry(key.clone()).or_default();
            managed.insert(operator, Value::Null);
        }
    }

    /// Stores an object, unless it is the same or the operator is killed. Returns whether it did.
    fn store(&mut self, key: &Key, wanted: Value) -> bool {
        let live = self.get(key);
        let is_new = live.is_none();
        let object = match live {
            Some(live) => {
                let refusal = refused::refused(key, live, &wanted, self.around(key, live));
                assert_eq!(refusal, None, "{key} can't be changed");
                stored::changed(key, live, wanted)
            }
            None => stored::new(key, wanted, self.created + 1, self.now),
        };
        if live == Some(&object) || self.writes >= self.last {
            return false;
        }
        self.writes += 1;
        self.created += usize::from(is_new);
        self.objects.insert(key.clone(), Arc::new(object));
        self.remove_if_released(key);
        true
    }

    /// What decides, beside an object, whether it can be changed.
    fn around(&self, key: &Key, object: &Value) -> refused::Around<'_> {
        let class = object["spec"]["storageClassName"].as_str();
        let class = class.and_then(|class| self.get(&Key::of::<StorageClass>("", class)));
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let servers = format!("{}-server", key.name);
        let claim = format!("persistence-{servers}-0");
        let claim = self.get(&Key::of::<PersistentVolumeClaim>(namespace, &claim));
        let servers = self.get(&Key::of::<StatefulSet>(namespace, &servers));
        refused::Around {
            expands: class.is_some_and(|class| class["allowVolumeExpansion"] == true),
            claim: claim.filter(|_| servers.is_none()),
        }
    }

    /// Removes an object that is being deleted, if it has no finalizer any more.
    fn remove_if_released(&mut self, key: &Key) {
        let is_released = |object: &Value| {
            let finalizers = object["metadata"]["finalizers"].as_array();
            is_deleted(object) && finalizers.is_none_or(Vec::is_empty)
        };
        if !self.held.contains(&key.kind) && self.get(key).is_some_and(is_released) {
            self.remove(key);
        }
    }

    /// Removes an object, and has the garbage collector delete those that it controls.
    fn remove(&mut self, key: &Key) {
        let Some(object) = self.objects.remove(key) else {
            return;
        };
        self.managed.remove(key);
        let uid = object["metadata"]["uid"].as_str();
        let controlled = self.objects.iter().filter(|(_, other)| {
            let is_removed = |owner: &Value| owner["uid"].as_str() == uid;
            let existing = Existing::of(other, is_removed, Management::None);
            existing.controller == Controller::Subject
        });
        let controlled: Vec<Key> = controlled.map(|(key, _)| key.clone()).collect();
        for key in controlled {
            Self::delete(self, &key);
        }
    }

    fn uid(&self, key: &Key) -> Option<&str> {
        self.get(key)?["metadata"]["uid"].as_str()
    }

    fn management(&self, operator: &dyn Operator, key: &Key) -> Management {
        let managed = self.managed.get(key);
        match managed.and_then(|managed| managed.get(operator.name())) {
            None => Management::None,
            Some(Value::Null) => Management::Created,
            Some(_) => Management::Applied,
        }
    }
}

fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}
