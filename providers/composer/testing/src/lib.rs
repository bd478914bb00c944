//! A cluster in memory that runs composers, for their tests: it applies a desired state as the controller does, one object
//! after the other, and counts every write.

mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use provider_composer::{
    Composed, Dependency, DesiredState, ExternalRequest, Failure, Generated, Key, Lookup,
    ObservedState, Operator, Owner, ResourceKind, Retention, Source, status_of_failure,
};
use serde_json::{Value, json};

/// 2026-02-01T00:00:00Z, the time at which every cluster starts.
const BEGINNING: Timestamp = Timestamp::constant(1_769_904_000, 0);

/// A simulated external system.
pub trait System {
    /// Returns the response to a request, as its driver would; none while the system is unavailable.
    fn answer(&self, query: &str) -> Option<Value>;

    /// Handles a call.
    fn call(&mut self, call: &str);
}

/// A cluster in memory.
pub struct Cluster {
    objects: BTreeMap<Key, Arc<Value>>,
    unreadable: BTreeSet<Key>,
    held: BTreeSet<ResourceKind>,
    systems: BTreeMap<&'static str, Box<dyn System>>,
    forever: BTreeSet<Key>,
    dependencies: BTreeSet<Dependency>,
    generated: BTreeMap<Key, usize>,
    writes: usize,
    made: usize,
    now: Timestamp,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            held: BTreeSet::new(),
            systems: BTreeMap::new(),
            forever: BTreeSet::new(),
            dependencies: BTreeSet::new(),
            generated: BTreeMap::new(),
            writes: 0,
            made: 0,
            now: BEGINNING,
        }
    }
}

impl Source for Cluster {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        match self.objects.get(key) {
            _ if self.unreadable.contains(key) => Lookup::Unknown(format!("{key} can't be read")),
            Some(object) => Lookup::Found(Arc::clone(object)),
            None => Lookup::Missing,
        }
    }

    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Lookup<Vec<Arc<Value>>> {
        let belongs = |key: &Key| {
            key.kind == kind
                && key
                    .namespace
                    .as_deref()
                    .is_none_or(|name| name == namespace)
        };
        if self.unreadable.iter().any(belongs) {
            return Lookup::Unknown(format!("{} can't be listed", kind.plural));
        }
        let all = self.objects.iter().filter(|(key, _)| belongs(key));
        let labelled = all.filter(|(_, object)| {
            let has = stored::labels(object);
            labels
                .iter()
                .all(|(label, value)| has.get(label) == Some(value))
        });
        Lookup::Found(labelled.map(|(_, object)| Arc::clone(object)).collect())
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        let system = self.systems.get(request.system);
        match system.and_then(|system| system.answer(&request.content)) {
            Some(answer) => Lookup::Found(Arc::new(answer)),
            None => Lookup::Unknown(format!("{} doesn't answer", request.system)),
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

    /// Whether a Secret stays, wanted or not.
    pub fn stays(&self, key: &Key) -> bool {
        self.forever.contains(key)
    }

    /// How many writes there were so far.
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
        let live = self.objects.get(key);
        let stored = match live {
            Some(live) => stored::changed(live, wanted),
            None => {
                self.made += 1;
                stored::new(key, wanted, self.made, self.now)
            }
        };
        if live.map(Arc::as_ref) != Some(&stored) {
            self.writes += 1;
            self.objects.insert(key.clone(), Arc::new(stored));
        }
    }

    /// Writes a status, as an object's own operator does.
    pub fn set_status(&mut self, key: &Key, status: Value) {
        if let Some(object) = self.objects.get_mut(key)
            && object["status"] != status
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
        let Some(object) = self.objects.get_mut(key) else {
            return;
        };
        let finalizers = object.pointer("/metadata/finalizers");
        let is_held = self.held.contains(&key.kind)
            || finalizers
                .and_then(Value::as_array)
                .is_some_and(|finalizers| !finalizers.is_empty());
        if !is_held {
            self.writes += 1;
            self.objects.remove(key);
        } else if object.pointer("/metadata/deletionTimestamp").is_none() {
            self.writes += 1;
            Arc::make_mut(object)["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
        }
    }

    /// Keeps objects of a kind when they are deleted, as their operators' finalizers do, until they are released.
    pub fn hold(&mut self, kind: ResourceKind) {
        self.held.insert(kind);
    }

    /// Releases an object that is being deleted, as its operator does when it removes its finalizer.
    pub fn release(&mut self, key: &Key) {
        let deleted = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
        if self.get(key).is_some_and(deleted) {
            self.objects.remove(key);
        }
    }

    /// Makes an object unreadable, or readable again.
    pub fn set_readable(&mut self, key: &Key, readable: bool) {
        match readable {
            true => self.unreadable.remove(key),
            false => self.unreadable.insert(key.clone()),
        };
    }

    /// Adds an external system.
    pub fn join(&mut self, name: &'static str, system: impl System + 'static) {
        self.systems.insert(name, Box::new(system));
    }

    /// Reconciles once.
    ///
    /// # Errors
    /// The composer's failure; it is in the status too.
    pub fn reconcile(&mut self, operator: &dyn Operator, key: &Key) -> Result<(), Failure> {
        self.reconcile_until(operator, key, usize::MAX)
    }

    /// Reconciles, but stops after a number of writes, as an operator does that is killed.
    ///
    /// # Errors
    /// The composer's failure; it is in the status too.
    pub fn reconcile_until(
        &mut self,
        operator: &dyn Operator,
        key: &Key,
        writes: usize,
    ) -> Result<(), Failure> {
        let Some(subject) = self.objects.get(key).cloned() else {
            return Ok(());
        };
        let last = self.writes.saturating_add(writes);
        if operator.ordered_deletion() && subject.pointer("/metadata/finalizers").is_none() {
            self.edit(key, |object| {
                object["metadata"]["finalizers"] = json!([operator.name()])
            });
        }
        let observed = ObservedState::new(self, self.now);
        let answer = operator.composed(&subject, &observed);
        let dependencies = observed.into_dependencies();
        self.dependencies = dependencies;
        match answer {
            Ok(answer) => self.apply(answer, key, last),
            Err(failure) => {
                self.set_status(key, status_of_failure(&subject, &failure, self.now));
                return Err(failure);
            }
        }
        Ok(())
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

    fn apply(&mut self, composed: Composed, subject: &Key, last: usize) {
        let is_empty = composed.desired.is_empty();
        let Composed {
            desired,
            status,
            owner,
            ..
        } = composed;
        let DesiredState {
            objects,
            labelled,
            generated,
            kept,
            calls,
            ..
        } = desired;
        let wanted: BTreeSet<Key> = objects
            .keys()
            .chain(generated.keys())
            .chain(&kept)
            .cloned()
            .collect();
        for (key, generated) in generated {
            if self.writes < last {
                self.generate(key, &generated, &owner);
            }
        }
        for (key, object) in objects {
            if self.writes >= last {
                break;
            }
            match labelled.contains(&key) {
                true => self.edit(&key, |live| stored::label(live, &object)),
                false => self.put(&key, &object),
            }
        }
        let unwanted = self.owned(&owner).filter(|key| !wanted.contains(key));
        let unwanted: Vec<Key> = unwanted.filter(|key| !self.forever.contains(key)).collect();
        for key in unwanted {
            if self.writes < last {
                self.delete(&key);
            }
        }
        for call in calls {
            if let Some(system) = self.systems.get_mut(call.system) {
                system.call(&call.content);
            }
        }
        let deleted = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
        let is_gone = self.owned(&owner).all(|key| self.forever.contains(&key));
        if self.writes < last && self.get(subject).is_some_and(deleted) && is_empty && is_gone {
            self.objects.remove(subject);
        } else if self.writes < last {
            self.set_status(subject, status);
        }
    }

    fn generate(&mut self, key: Key, generated: &Generated, owner: &Owner) {
        if generated.retention == Retention::Forever {
            self.forever.insert(key.clone());
        }
        if !self.objects.contains_key(&key) {
            self.made += 1;
            *self.generated.entry(key.clone()).or_default() += 1;
            let secret = stored::secret(generated, owner, self.made);
            self.put(&key, &secret);
        }
    }

    fn owned(&self, owner: &Owner) -> impl Iterator<Item = Key> {
        let owned = self.objects.iter().filter(|(_, object)| {
            Owner::from_labels(&stored::labels(object)).as_ref() == Some(owner)
        });
        let keys: Vec<Key> = owned.map(|(key, _)| key.clone()).collect();
        keys.into_iter()
    }
}
