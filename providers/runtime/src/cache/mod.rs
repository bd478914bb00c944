//! What is known of the cluster: one cache for each kind, for all operators together.

mod dependencies;
mod entry;
mod objects;
#[cfg(test)]
mod tests;
mod view;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use provider_composer::{Access, Dependency, Key, Lookup, Operator, ResourceKind};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, warn};

use dependencies::DependencyIndex;
use objects::{Change, Objects};

pub(crate) use entry::{Entry, Head, Place};
pub(crate) use objects::State;
pub(crate) use view::{View, Wanted};
pub(crate) use watch::follow;

use crate::api::Extent;
use crate::apply::Digest;
use crate::queue::Queue;

/// What says which kinds are installed, besides Kubernetes' own.
pub(crate) const DEFINITION: ResourceKind = ResourceKind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};

/// The namespace that stands for all of them, and for what is in none.
const EVERYWHERE: &str = "";

/// A subject, as one operator sees it: operators by their place in the list that was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub operator: usize,
    pub place: Place,
}

/// The kinds that were known completely when a subject was composed. Only these may be pruned by what was composed: where
/// a kind was unknown, the composer could not tell what to keep of it.
pub(crate) struct KnownKinds(BTreeSet<ResourceKind>);

impl KnownKinds {
    /// The same without kinds of which something could not be read.
    pub(crate) fn without(mut self, unknown: &BTreeSet<ResourceKind>) -> Self {
        self.0.retain(|kind| !unknown.contains(kind));
        self
    }
}

/// What an operator looks at.
struct Interest {
    subject: ResourceKind,
    kinds: BTreeSet<ResourceKind>,
}

/// What is known of the cluster, and whom a change of it wakes.
pub(crate) struct Cache {
    /// By namespace, or under [`EVERYWHERE`] those of all namespaces.
    kinds: BTreeMap<ResourceKind, BTreeMap<String, Mutex<Objects>>>,
    managers: Vec<&'static str>,
    interests: Vec<Interest>,
    asks: Mutex<DependencyIndex>,
    queue: Queue<Id>,
    /// Told when a definition changes.
    definitions: Notify,
}

impl Cache {
    /// Of these namespaces, or if none is given, of the whole cluster.
    pub(crate) fn new(operators: &[Box<dyn Operator>], namespaces: &[String]) -> Self {
        let interests: Vec<Interest> = operators
            .iter()
            .map(|operator| {
                let subject = operator.subject();
                let kinds = operator
                    .uses()
                    .into_iter()
                    .map(|used| used.kind)
                    .chain([subject]);
                Interest {
                    subject,
                    kinds: kinds.collect(),
                }
            })
            .collect();
        let kinds = interests.iter().flat_map(|interest| &interest.kinds);
        Self {
            kinds: kinds
                // Definitions are the cluster's: who may look at some namespaces only can't see them.
                .chain(Some(&DEFINITION).filter(|_| namespaces.is_empty()))
                .map(|kind| {
                    let one = |namespace: &str| (namespace.to_owned(), Mutex::new(Objects::new()));
                    let objects = match namespaces {
                        [_, ..] if kind.namespaced => {
                            namespaces.iter().map(|name| one(name)).collect()
                        }
                        _ => BTreeMap::from([one(EVERYWHERE)]),
                    };
                    (*kind, objects)
                })
                .collect(),
            definitions: Notify::new(),
            managers: operators.iter().map(|operator| operator.name()).collect(),
            interests,
            asks: Mutex::default(),
            queue: Queue::new(),
        }
    }

    pub(crate) fn queue(&self) -> &Queue<Id> {
        &self.queue
    }

    /// What is watched: a kind, and a namespace or [`EVERYWHERE`].
    pub(crate) fn watched(&self) -> impl Iterator<Item = (ResourceKind, &str)> {
        let kinds = self.kinds.iter();
        kinds.flat_map(|(kind, all)| all.keys().map(|namespace| (*kind, namespace.as_str())))
    }

    /// Of these kinds only the metadata is read, and the bodies of objects that a composer looks at: there may be many, large,
    /// and full of others' secrets.
    pub(crate) fn extent(kind: ResourceKind) -> Extent {
        match (kind.group, kind.kind) {
            ("", "Secret" | "ConfigMap") | (_, "CustomResourceDefinition") => Extent::Metadata,
            _ => Extent::Whole,
        }
    }

    /// Whether every kind that an operator looks at was read, or is known not to be readable.
    pub(crate) fn is_settled(&self, operator: usize) -> bool {
        self.interests.get(operator).is_some_and(|interest| {
            interest
                .kinds
                .iter()
                .flat_map(|kind| self.kinds.get(kind).into_iter().flatten())
                .all(|(_, objects)| locked(objects).state != State::Starting)
        })
    }

    /// The kinds that can't be read, or were not yet, and why.
    pub(crate) fn unknown(&self) -> Vec<(ResourceKind, State)> {
        let watched = self.watched();
        let states = watched.map(|(kind, namespace)| (kind, self.state(kind, namespace)));
        let is_unknown = |state: &State| matches!(state, State::Starting | State::Unknown(_));
        let unknown = states.filter(|(kind, state)| *kind != DEFINITION && is_unknown(state));
        unknown.collect()
    }

    pub(crate) fn state(&self, kind: ResourceKind, namespace: &str) -> State {
        match self.objects(kind, namespace) {
            Some(objects) => objects.state.clone(),
            None => State::Unknown(
                format!(
                    "{kind} objects in the namespace {namespace:?} are not watched by the operator"
                )
                .into(),
            ),
        }
    }

    /// The kinds that are known completely now in a namespace.
    pub(crate) fn known_kinds(&self, namespace: &str) -> KnownKinds {
        let kinds = self.kinds.keys().copied();
        let known = kinds.filter(|kind| self.state(*kind, namespace) == State::Live);
        KnownKinds(known.collect())
    }

    /// What may be pruned of all that an operator made for a subject: of the kinds that were known when it was composed,
    /// and still are.
    pub(crate) fn prunable(
        &self,
        known: &KnownKinds,
        operator: &dyn Operator,
        subject: &Key,
        uid: &str,
    ) -> Vec<(Key, Entry)> {
        let mut made = self.made(operator, subject, uid);
        let is_live = |key: &Key| self.state(key.kind, namespace_of(key)) == State::Live;
        made.retain(|(key, _)| known.0.contains(&key.kind) && is_live(key));
        made
    }

    /// Changes what is known of a kind as a whole, and wakes those who look at the kind if they see it in another way now.
    pub(crate) fn set_state(&self, kind: ResourceKind, namespace: &str, state: State) {
        let Some(mut objects) = self.objects(kind, namespace) else {
            return;
        };
        if objects.state == state {
            return;
        }
        let before = std::mem::replace(&mut objects.state, state.clone());
        drop(objects);
        match &state {
            State::Live => debug!(kind = kind.kind, "followed"),
            State::Starting => {}
            State::Stale(why) => debug!(kind = kind.kind, %why, "the watch is broken"),
            State::Unknown(why) | State::Absent(why) => warn!(kind = kind.kind, %why, "unread"),
        }
        let is_short = |state: &State| matches!(state, State::Live | State::Stale(_));
        if !(is_short(&before) && is_short(&state)) {
            self.wake_users(kind);
        }
    }

    /// Waits until a kind that is not installed may be there. Whether its definition has changed; otherwise as much time is
    /// gone as is to be waited for where definitions can't be read, or where there is one.
    pub(crate) async fn installed(&self, kind: ResourceKind, pause: Duration) -> bool {
        let definition = Key::new(DEFINITION, "", &format!("{}.{}", kind.plural, kind.group));
        let before = self
            .find(&definition)
            .map(|entry| entry.head().resource_version);
        let pause = sleep(pause);
        tokio::pin!(pause);
        loop {
            let mut changed = pin!(self.definitions.notified());
            changed.as_mut().enable();
            let now = self
                .find(&definition)
                .map(|entry| entry.head().resource_version);
            if now != before {
                return true;
            }
            tokio::select! {
                () = changed => {}
                () = &mut pause, if !now.is_missing() => return false,
            }
        }
    }

    /// One object, as far as it is held.
    pub(crate) fn find(&self, key: &Key) -> Lookup<Entry> {
        match self.objects(key.kind, namespace_of(key)) {
            Some(objects) => objects.find(&Place::of(key)).map(Clone::clone),
            None => Lookup::Unknown(self.state(key.kind, namespace_of(key)).why()),
        }
    }

    /// All that an operator made for a subject, among the kinds that it composes.
    pub(crate) fn made(
        &self,
        operator: &dyn Operator,
        subject: &Key,
        uid: &str,
    ) -> Vec<(Key, Entry)> {
        let namespace = namespace_of(subject);
        let composed = operator
            .uses()
            .into_iter()
            .filter(|used| used.access == Access::Composes);
        let composed: BTreeSet<ResourceKind> = composed.map(|used| used.kind).collect();
        let mut made = Vec::new();
        for kind in composed {
            let Some(objects) = self.objects(kind, namespace) else {
                continue;
            };
            let owned = objects
                .owned(namespace, uid)
                .filter(|(_, entry)| entry.managed_by(operator.name()).is_some());
            made.extend(owned.map(|(place, entry)| (place.key(kind), entry.clone())));
        }
        made
    }

    /// What is kept of an object: its body only where it is a subject, where a composer looked at it, or where an operator
    /// applied it, so that a composer is about to. All others may be as many and as large as their makers please.
    fn entry(&self, kind: ResourceKind, place: &Place, object: Value, whole: bool) -> Entry {
        let mut entry = Entry::of(object, whole, &self.managers);
        let mut interests = self.interests.iter();
        let is_wanted = !whole
            || interests.any(|interest| interest.subject == kind)
            || (Self::extent(kind) == Extent::Whole && entry.is_own());
        if !is_wanted
            && self
                .asks()
                .dependents(kind, place, &[&entry.head()])
                .is_empty()
        {
            entry.head_only();
        }
        entry
    }

    /// What the API server answered to a read or write of ours.
    pub(crate) fn learn(&self, key: &Key, object: Value) {
        let place = Place::of(key);
        let entry = self.entry(key.kind, &place, object, true);
        self.take_in(key.kind, &place, entry);
    }

    /// An object was read that somebody asks for right now: its body is held from now on.
    pub(crate) fn fetched(&self, key: &Key, object: Value) {
        let entry = Entry::of(object, true, &self.managers);
        self.take_in(key.kind, &Place::of(key), entry);
    }

    /// Wakes everybody whom it matters to, since the watch won't: what it shows later is known by then.
    fn take_in(&self, kind: ResourceKind, place: &Place, entry: Entry) {
        let objects = self.objects(kind, place.namespace());
        let change = objects.and_then(|mut objects| objects.learn(place, entry));
        if let Some(change) = change {
            self.changed(kind, place, &change);
        }
    }

    /// What the API server made of an apply.
    pub(crate) fn applied(&self, key: &Key, manager: &'static str, wanted: Digest, object: Value) {
        let came = crate::apply::managed(&object, true, &[manager]);
        if let Some(came) = came.first().and_then(|managed| managed.digest) {
            self.remember(key, manager, wanted, came);
        }
        self.learn(key, object);
    }

    /// What came of writing something that was wanted.
    pub(crate) fn remember(&self, key: &Key, manager: &'static str, wanted: Digest, came: Digest) {
        if let Some(mut objects) = self.objects(key.kind, namespace_of(key)) {
            objects.remember(&Place::of(key), manager, wanted, came);
        }
    }

    /// Whether an object's digest is what comes of a wanted one.
    pub(crate) fn is_as_wanted(
        &self,
        key: &Key,
        manager: &'static str,
        wanted: Digest,
        is: Digest,
    ) -> bool {
        let normalized = self
            .objects(key.kind, namespace_of(key))
            .and_then(|objects| objects.normalized(&Place::of(key), manager));
        wanted == is || normalized == Some((wanted, is))
    }

    /// A subject was composed, and looked at this.
    pub(crate) fn asked(&self, id: &Id, asks: &BTreeSet<Dependency>) {
        self.asks().replace(id, asks);
    }

    /// A subject is no more.
    pub(crate) fn forget(&self, id: &Id) {
        self.asks().forget(id);
    }

    /// Wakes every subject of all that goes by an operator's name.
    pub(crate) fn wake_operator(&self, name: &str) {
        for (operator, manager) in self.managers.iter().enumerate() {
            if *manager == name {
                self.wake_all(operator);
            }
        }
    }

    /// Wakes every subject of an operator.
    fn wake_all(&self, operator: usize) {
        let Some(interest) = self.interests.get(operator) else {
            return;
        };
        let all = self.kinds.get(&interest.subject).into_iter().flatten();
        let places =
            all.flat_map(|(_, objects)| locked(objects).places().cloned().collect::<Vec<Place>>());
        for place in places {
            self.queue.wake(&Id { operator, place });
        }
    }

    /// Wakes every subject of every operator that looks at a kind.
    fn wake_users(&self, kind: ResourceKind) {
        for (operator, interest) in self.interests.iter().enumerate() {
            if interest.kinds.contains(&kind) {
                self.wake_all(operator);
            }
        }
    }

    /// Wakes those to whom a change matters: the object's owner, who asked for it, and itself.
    fn changed(&self, kind: ResourceKind, place: &Place, change: &Change) {
        if kind == DEFINITION {
            self.definitions.notify_waiters();
        }
        let heads: Vec<&Head> = change.before.iter().chain(&change.now).collect();
        let mut ids: BTreeSet<Id> = BTreeSet::new();
        ids.extend(
            self.asks()
                .dependents(kind, place, &heads)
                .into_iter()
                .cloned(),
        );
        let is_other = match (&change.before, &change.now) {
            (Some(before), Some(now)) => now.differs(before),
            _ => true,
        };
        for (operator, interest) in self.interests.iter().enumerate() {
            if interest.subject == kind && is_other {
                ids.insert(Id {
                    operator,
                    place: place.clone(),
                });
            }
            let owners = heads.iter().filter_map(|head| head.controller());
            let owners = owners.filter(|owner| owner.kind == interest.subject.kind);
            let namespace = match interest.subject.namespaced {
                true => place.namespace(),
                false => EVERYWHERE,
            };
            ids.extend(owners.map(|owner| Id {
                operator,
                place: Place::new(namespace, &owner.name),
            }));
        }
        for id in &ids {
            self.queue.wake(id);
        }
    }

    fn objects(&self, kind: ResourceKind, namespace: &str) -> Option<MutexGuard<'_, Objects>> {
        let all = self.kinds.get(&kind)?;
        all.get(EVERYWHERE)
            .or_else(|| all.get(namespace))
            .map(locked)
    }

    fn asks(&self) -> MutexGuard<'_, DependencyIndex> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn namespace_of(key: &Key) -> &str {
    key.namespace.as_deref().unwrap_or(EVERYWHERE)
}

fn locked(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}
