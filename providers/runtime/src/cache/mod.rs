//! The cached state of the cluster: one cache for each kind, shared by all operators.

mod body;
mod dependencies;
mod entry;
mod objects;
mod observed;
mod rest;
#[cfg(test)]
mod tests;
mod trim;
mod view;
mod wake;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use provider_composer::reconcile::Reconcile;
use provider_composer::{Dependency, Key, Lookup, Operator, ResourceKind};
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use dependencies::DependencyIndex;
use objects::Objects;

pub(crate) use entry::{Entry, Place};
pub(crate) use objects::State;
pub(crate) use view::{Responses, View, Wanted};
pub(crate) use watch::follow;

use crate::api::Extent;
use crate::origin::Origins;
use crate::queue::Queue;

/// The kind whose objects define which kinds are installed, besides Kubernetes' own.
pub(crate) const DEFINITION: ResourceKind = ResourceKind::cluster_scoped(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

/// Stands for all namespaces, and for cluster-scoped objects.
const EVERYWHERE: &str = "";

/// A subject of an operator. Operators are identified by their index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub operator: usize,
    pub place: Place,
}

/// The kinds that were completely known when a subject was composed. Only these may be pruned: of an unknown kind, the
/// composer could not decide what to keep.
pub(crate) struct KnownKinds(BTreeSet<ResourceKind>);

impl KnownKinds {
    /// Returns the set without kinds of which something could not be read.
    pub(crate) fn without(mut self, unknown: &BTreeSet<ResourceKind>) -> Self {
        self.0.retain(|kind| !unknown.contains(kind));
        self
    }
}

/// The kinds that an operator reads.
struct Interest {
    subject: ResourceKind,
    /// How the namespace of a cluster-scoped subject's objects begins.
    prefix: Option<&'static str>,
    kinds: BTreeSet<ResourceKind>,
}

/// The cached state of the cluster, and the subjects that depend on it.
pub(crate) struct Cache {
    /// By namespace, or under [`EVERYWHERE`] those of all namespaces.
    kinds: BTreeMap<ResourceKind, BTreeMap<String, Mutex<Objects>>>,
    managers: Vec<&'static str>,
    interests: Vec<Interest>,
    dependencies: Mutex<DependencyIndex>,
    queue: Queue<Id>,
    /// Notified when a definition changes.
    definitions: Notify,
    origins: Origins,
}

impl Cache {
    /// Caches these namespaces, or the whole cluster if none is given.
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
                    prefix: operator.namespace_prefix(),
                    kinds: kinds.collect(),
                }
            })
            .collect();
        let kinds = interests.iter().flat_map(|interest| &interest.kinds);
        Self {
            kinds: kinds
                // Definitions are cluster-scoped: an operator of some namespaces can't read them.
                .chain(Some(&DEFINITION).filter(|_| namespaces.is_empty()))
                .map(|kind| {
                    let one = |namespace: &str| (namespace.to_owned(), Mutex::default());
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
            origins: Origins::default(),
            managers: operators.iter().map(|operator| operator.name()).collect(),
            interests,
            dependencies: Mutex::default(),
            queue: Queue::new(),
        }
    }

    pub(crate) fn queue(&self) -> &Queue<Id> {
        &self.queue
    }

    /// Returns the watches: a kind, and a namespace or [`EVERYWHERE`].
    pub(crate) fn watched(&self) -> impl Iterator<Item = (ResourceKind, &str)> {
        let kinds = self.kinds.iter();
        kinds.flat_map(|(kind, all)| all.keys().map(|namespace| (*kind, namespace.as_str())))
    }

    /// Whether only metadata is read, and the bodies of objects that a composer looks up: there may be many objects,
    /// large, and with foreign Secrets.
    pub(crate) fn extent(kind: ResourceKind) -> Extent {
        match (kind.group, kind.kind) {
            ("", "Secret" | "ConfigMap") | (_, "CustomResourceDefinition") => Extent::Metadata,
            _ => Extent::Whole,
        }
    }

    /// Whether every kind that an operator uses was read, or is known to be unreadable.
    pub(crate) fn is_settled(&self, operator: usize) -> bool {
        self.interests.get(operator).is_some_and(|interest| {
            interest
                .kinds
                .iter()
                .flat_map(|kind| self.kinds.get(kind).into_iter().flatten())
                .all(|(_, objects)| locked(objects).state != State::Starting)
        })
    }

    /// The kinds that can't be read, or were not yet, and why. Operators begin before definitions are read.
    pub(crate) fn unknown(&self) -> Vec<(ResourceKind, State)> {
        let watched = self.watched();
        let states = watched.map(|(kind, namespace)| (kind, self.state(kind, namespace)));
        let unknown = states.filter(|(kind, state)| match state {
            State::Starting => *kind != DEFINITION,
            State::Unknown(_) => true,
            State::Live | State::Stale(_) | State::Absent(_) => false,
        });
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

    /// Whether all objects of a kind in a namespace are known, and were when the subject was composed.
    pub(crate) fn is_known(&self, known: &KnownKinds, kind: ResourceKind, namespace: &str) -> bool {
        match self.state(kind, namespace) {
            State::Live => known.0.contains(&kind),
            // There are none.
            State::Absent(_) => true,
            State::Starting | State::Unknown(_) | State::Stale(_) => false,
        }
    }

    /// Returns the objects of a subject that may be pruned: of the kinds that were known when it was composed, and
    /// still are.
    pub(crate) fn prunable(
        &self,
        known: &KnownKinds,
        reconcile: Reconcile<'_>,
        uid: &str,
    ) -> Vec<(Key, Entry)> {
        let mut made = self.made(reconcile, uid);
        made.retain(|(key, _)| self.is_known(known, key.kind, namespace_of(key)));
        made
    }

    /// Changes the state of a kind, and wakes the subjects whose operators use the kind if that changes what they
    /// observe.
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
            State::Unknown(why) => warn!(kind = kind.kind, %why, "not readable"),
            // Where it is needed, conditions say so.
            State::Absent(why) => info!(kind = kind.kind, %why, "not readable"),
        }
        let is_short = |state: &State| matches!(state, State::Live | State::Stale(_));
        if !(is_short(&before) && is_short(&state)) {
            self.wake_users(kind);
        }
    }

    /// Waits until a kind may have been installed. Returns whether its definition has changed; otherwise the delay has
    /// passed that applies where definitions can't be read, or where the kind has one.
    pub(crate) async fn installed(&self, kind: ResourceKind, pause: Duration) -> bool {
        let definition = Key::new(DEFINITION, "", &format!("{}.{}", kind.plural, kind.group));
        let version = || {
            self.find(&definition)
                .map(|entry| entry.head.resource_version.clone())
        };
        let before = version();
        let pause = sleep(pause);
        tokio::pin!(pause);
        loop {
            let mut changed = pin!(self.definitions.notified());
            changed.as_mut().enable();
            let now = version();
            if now != before {
                return true;
            }
            tokio::select! {
                () = changed => {}
                () = &mut pause, if !now.is_missing() => return false,
            }
        }
    }

    /// Returns one object, as far as it is cached.
    pub(crate) fn find(&self, key: &Key) -> Lookup<Entry> {
        match self.objects(key.kind, namespace_of(key)) {
            Some(objects) => objects.find(&Place::of(key)).map(Clone::clone),
            None => Lookup::Unknown(self.state(key.kind, namespace_of(key)).why()),
        }
    }

    /// Returns all objects of a subject, among the kinds that its operator composes.
    pub(crate) fn made(&self, reconcile: Reconcile<'_>, uid: &str) -> Vec<(Key, Entry)> {
        let Reconcile { operator, subject } = reconcile;
        let namespace = namespace_of(subject);
        let mut made = Vec::new();
        for kind in reconcile.pruned_kinds() {
            let Some(objects) = self.objects(kind, namespace) else {
                continue;
            };
            let owned = objects
                .owned(operator.namespace_prefix(), subject, uid)
                .filter(|(_, entry)| entry.managed_by(operator.name()).is_some());
            made.extend(owned.map(|(place, entry)| (place.key(kind), entry.clone())));
        }
        made
    }

    /// Records what a subject looked up.
    pub(crate) fn set_dependencies(&self, id: &Id, dependencies: &BTreeSet<Dependency>) {
        self.dependencies().replace(id, dependencies);
    }

    /// Forgets a subject that doesn't exist any more.
    pub(crate) fn forget(&self, id: &Id) {
        self.dependencies().forget(id);
    }

    fn objects(&self, kind: ResourceKind, namespace: &str) -> Option<MutexGuard<'_, Objects>> {
        let all = self.kinds.get(&kind)?;
        all.get(EVERYWHERE)
            .or_else(|| all.get(namespace))
            .map(locked)
    }

    fn dependencies(&self) -> MutexGuard<'_, DependencyIndex> {
        self.dependencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn namespace_of(key: &Key) -> &str {
    key.namespace.as_deref().unwrap_or(EVERYWHERE)
}

fn locked(objects: &Mutex<Objects>) -> MutexGuard<'_, Objects> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}
