//! Which subjects depend on which objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use provider_composer::{Dependency, ResourceKind, Selection};

use super::Id;
use super::entry::Place;
use crate::head::Head;

/// What each subject looked up when it was last composed, and who depends on each object.
#[derive(Default)]
pub(crate) struct DependencyIndex {
    of: BTreeMap<Id, Box<[Looked]>>,
    objects: HashMap<Mark, Dependents>,
    lists: HashMap<Mark, Dependents>,
}

/// Subjects, each once. Almost every list has one element, and there are many lists.
type Dependents = Vec<Id>;

/// The hash of an object, or of a kind in a namespace. A collision only causes a needless reconcile.
type Mark = u64;

#[derive(PartialEq, Eq)]
enum Looked {
    Object(Mark),
    Objects(Mark, BTreeMap<String, String>),
    Keys(Mark, BTreeMap<String, String>),
}

impl DependencyIndex {
    /// Records what a subject looked up.
    pub(crate) fn replace(&mut self, id: &Id, looked_up: &BTreeSet<Dependency>) {
        let looked: Box<[Looked]> = looked_up.iter().filter_map(Looked::at).collect();
        if self.of.get(id) == Some(&looked) {
            return;
        }
        self.forget(id);
        for looked in &looked {
            let dependents = match looked {
                Looked::Object(mark) => self.objects.entry(*mark).or_default(),
                Looked::Objects(mark, _) | Looked::Keys(mark, _) => {
                    self.lists.entry(*mark).or_default()
                }
            };
            if !dependents.contains(id) {
                dependents.reserve_exact(1);
                dependents.push(id.clone());
            }
        }
        self.of.insert(id.clone(), looked);
    }

    /// Forgets a subject that doesn't exist any more.
    pub(crate) fn forget(&mut self, id: &Id) {
        for looked in self.of.remove(id).unwrap_or_default() {
            match looked {
                Looked::Object(mark) => withdraw(&mut self.objects, mark, id),
                Looked::Objects(mark, _) | Looked::Keys(mark, _) => {
                    withdraw(&mut self.lists, mark, id);
                }
            }
        }
    }

    /// Returns the subjects that looked up an object, or a list that it is or was in.
    pub(crate) fn dependents<'a>(
        &'a self,
        kind: ResourceKind,
        place: &Place,
        heads: &[&Head],
    ) -> BTreeSet<&'a Id> {
        let mut dependents: BTreeSet<&Id> = BTreeSet::new();
        dependents.extend(self.objects.get(&mark(kind, place)).into_iter().flatten());
        let there = around(kind, place);
        let searched = self.lists.get(&there).into_iter().flatten();
        dependents.extend(searched.filter(|id| {
            let looked = self.of.get(id).into_iter().flatten();
            let mut labels = looked.filter_map(|looked| match looked {
                Looked::Objects(mark, labels) | Looked::Keys(mark, labels) if *mark == there => {
                    Some(labels)
                }
                _ => None,
            });
            labels.any(|labels| heads.iter().any(|head| head.has(labels)))
        }));
        dependents
    }

    /// Whether a subject reads an object, by itself or in a list.
    pub(crate) fn is_read(&self, kind: ResourceKind, place: &Place, head: &Head) -> bool {
        let there = around(kind, place);
        let searched = self.lists.get(&there).into_iter().flatten();
        let mut looked = searched.flat_map(|id| self.of.get(id).into_iter().flatten());
        self.objects.contains_key(&mark(kind, place))
            || looked.any(|looked| match looked {
                Looked::Objects(mark, labels) => *mark == there && head.has(labels),
                Looked::Object(_) | Looked::Keys(..) => false,
            })
    }
}

impl Looked {
    fn at(dependency: &Dependency) -> Option<Self> {
        match dependency {
            Dependency::Object(key) => Some(Self::Object(mark(key.kind, &Place::of(key)))),
            Dependency::Objects(selection) => {
                Some(Self::Objects(list(selection), selection.labels.clone()))
            }
            Dependency::Keys(selection) => {
                Some(Self::Keys(list(selection), selection.labels.clone()))
            }
            Dependency::External(_) => None,
        }
    }
}

fn mark(kind: ResourceKind, place: &Place) -> Mark {
    let mut hasher = DefaultHasher::new();
    (kind, place).hash(&mut hasher);
    hasher.finish()
}

fn list(selection: &Selection) -> Mark {
    mark(selection.kind, &Place::first_in(&selection.namespace))
}

/// The mark of the lists that an object may be in.
fn around(kind: ResourceKind, place: &Place) -> Mark {
    let namespace = place.key(kind).namespace.unwrap_or_default();
    mark(kind, &Place::first_in(&namespace))
}

fn withdraw(index: &mut HashMap<Mark, Dependents>, at: Mark, id: &Id) {
    if let Some(dependents) = index.get_mut(&at) {
        dependents.retain(|dependent| dependent != id);
        if dependents.is_empty() {
            index.remove(&at);
        }
    }
}
