//! Who asked for what: the way back from an object that changed to the subjects it matters to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use provider_composer::{Ask, ResourceKind};

use super::Id;
use super::entry::{Head, Place};

/// What each subject looked at when it was last composed.
#[derive(Default)]
pub(crate) struct Asks {
    of: BTreeMap<Id, Box<[Looked]>>,
    objects: HashMap<Mark, Askers>,
    lists: HashMap<Mark, Askers>,
}

/// Subjects, each once. Almost always there is one, and there are many of these.
type Askers = Vec<Id>;

/// An object, or a kind in a namespace, in eight bytes. Two that are marked alike wake one another's askers in vain, which
/// does no harm.
type Mark = u64;

#[derive(PartialEq, Eq)]
enum Looked {
    Object(Mark),
    Objects(Mark, BTreeMap<String, String>),
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
                Looked::Object(mark) => self.objects.entry(*mark).or_default(),
                Looked::Objects(mark, _) => self.lists.entry(*mark).or_default(),
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
                Looked::Object(mark) => withdraw(&mut self.objects, mark, id),
                Looked::Objects(mark, _) => withdraw(&mut self.lists, mark, id),
            }
        }
    }

    /// Who looked at an object, or for objects that it is among, or was.
    pub(crate) fn who<'a>(
        &'a self,
        kind: ResourceKind,
        place: &Place,
        heads: &[&Head],
    ) -> BTreeSet<&'a Id> {
        let mut who: BTreeSet<&Id> = BTreeSet::new();
        who.extend(self.objects.get(&mark(kind, place)).into_iter().flatten());
        let namespace = place.key(kind).namespace.unwrap_or_default();
        let there = mark(kind, &Place::first_in(&namespace));
        let searched = self.lists.get(&there).into_iter().flatten();
        who.extend(searched.filter(|id| {
            let looked = self.of.get(id).into_iter().flatten();
            let mut labels = looked.filter_map(|looked| match looked {
                Looked::Objects(mark, labels) if *mark == there => Some(labels),
                _ => None,
            });
            labels.any(|labels| heads.iter().any(|head| head.has(labels)))
        }));
        who
    }
}

impl Looked {
    fn at(ask: &Ask) -> Option<Self> {
        match ask {
            Ask::Object(key) => Some(Self::Object(mark(key.kind, &Place::of(key)))),
            Ask::Objects {
                kind,
                namespace,
                labels,
            } => {
                let there = mark(*kind, &Place::first_in(namespace));
                Some(Self::Objects(there, labels.clone()))
            }
            Ask::Outside(_) => None,
        }
    }
}

fn mark(kind: ResourceKind, place: &Place) -> Mark {
    let mut hasher = DefaultHasher::new();
    (kind, place).hash(&mut hasher);
    hasher.finish()
}

fn withdraw(index: &mut HashMap<Mark, Askers>, at: Mark, id: &Id) {
    if let Some(askers) = index.get_mut(&at) {
        askers.retain(|asker| asker != id);
        if askers.is_empty() {
            index.remove(&at);
        }
    }
}
