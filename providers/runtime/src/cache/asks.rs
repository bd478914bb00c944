//! Who asked for what: the way back from an object that changed to the subjects it matters to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use provider_composer::{Ask, ResourceKind};

use super::Id;
use super::entry::{Head, Place};

/// What each subject looked at when it was last composed.
#[derive(Default)]
pub(crate) struct Asks {
    of: BTreeMap<Id, Box<[Looked]>>,
    objects: HashMap<(ResourceKind, Place), Askers>,
    lists: HashMap<(ResourceKind, String), Askers>,
}

/// Subjects, each once. Almost always there is one, and there are many of these.
type Askers = Vec<Id>;

#[derive(Clone, PartialEq, Eq)]
enum Looked {
    Object(ResourceKind, Place),
    Objects(ResourceKind, String, BTreeMap<String, String>),
}

impl Asks {
    /// A subject was composed, and looked at this.
    pub(crate) fn replace(&mut self, id: &Id, asks: &BTreeSet<Ask>) {
        let looked: Box<[Looked]> = asks.iter().filter_map(Looked::at).collect();
        if self.of.get(id) == Some(&looked) {
            return;
        }
        self.forget(id);
        for looked in &looked {
            let askers = match looked {
                Looked::Object(kind, place) => {
                    self.objects.entry((*kind, place.clone())).or_default()
                }
                Looked::Objects(kind, namespace, _) => {
                    self.lists.entry((*kind, namespace.clone())).or_default()
                }
            };
            if !askers.contains(id) {
                askers.reserve_exact(1);
                askers.push(id.clone());
            }
        }
        self.of.insert(id.clone(), looked);
    }

    /// A subject is no more.
    pub(crate) fn forget(&mut self, id: &Id) {
        for looked in self.of.remove(id).unwrap_or_default() {
            match looked {
                Looked::Object(kind, place) => withdraw(&mut self.objects, (kind, place), id),
                Looked::Objects(kind, namespace, _) => {
                    withdraw(&mut self.lists, (kind, namespace), id)
                }
            }
        }
    }

    /// Whether anybody looks at an object itself.
    pub(crate) fn is_asked(&self, kind: ResourceKind, place: &Place) -> bool {
        self.objects.contains_key(&(kind, place.clone()))
    }

    /// Who looked at an object, or for objects that it is among, or was.
    pub(crate) fn who<'a>(
        &'a self,
        kind: ResourceKind,
        place: &Place,
        heads: &[&Head],
    ) -> BTreeSet<&'a Id> {
        let mut who: BTreeSet<&Id> = BTreeSet::new();
        who.extend(
            self.objects
                .get(&(kind, place.clone()))
                .into_iter()
                .flatten(),
        );
        let namespace = place.key(kind).namespace.unwrap_or_default();
        let searched = self.lists.get(&(kind, namespace.clone()));
        who.extend(searched.into_iter().flatten().filter(|id| {
            self.of
                .get(id)
                .into_iter()
                .flatten()
                .any(|looked| match looked {
                    Looked::Objects(other, there, labels) => {
                        *other == kind
                            && *there == namespace
                            && heads.iter().any(|head| head.has(labels))
                    }
                    Looked::Object(..) => false,
                })
        }));
        who
    }
}

impl Looked {
    fn at(ask: &Ask) -> Option<Self> {
        match ask {
            Ask::Object(key) => Some(Self::Object(key.kind, Place::of(key))),
            Ask::Objects {
                kind,
                namespace,
                labels,
            } => Some(Self::Objects(*kind, namespace.clone(), labels.clone())),
            Ask::Outside(_) => None,
        }
    }
}

fn withdraw<K: std::hash::Hash + Eq>(index: &mut HashMap<K, Askers>, at: K, id: &Id) {
    if let Some(askers) = index.get_mut(&at) {
        askers.retain(|asker| asker != id);
        if askers.is_empty() {
            index.remove(&at);
        }
    }
}
