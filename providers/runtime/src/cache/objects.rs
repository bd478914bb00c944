//! The objects of one kind, as they were last seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use provider_composer::reconcile::may_own;
use provider_composer::{Key, Lookup};

use super::body::Sample;
use super::entry::{Entry, Place};
use crate::apply::Digest;
use crate::head::Head;

/// What is known of a kind as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing yet.
    #[default]
    Starting,
    /// Everything, and every change as it comes.
    Live,
    /// Everything as of a moment ago: objects may have been added since.
    Stale(Arc<str>),
    /// The kind can't be read, for this reason.
    Unknown(Arc<str>),
    /// The kind isn't installed.
    Absent(Arc<str>),
}

/// The objects of one kind, as they were last seen.
#[derive(Default)]
pub(crate) struct Objects {
    pub state: State,
    entries: BTreeMap<Place, Entry>,
    /// By which the bodies are compressed.
    sample: Sample,
    /// By their owner's uid.
    owned: HashMap<String, BTreeSet<Place>>,
    /// For lists of the whole cluster: by the key of a label that one asked for, and by its value, the objects.
    labelled: HashMap<String, HashMap<String, BTreeSet<Place>>>,
    /// Operators' own objects with more labels than are kept, which may have any.
    cut: BTreeSet<Place>,
    /// The result of the last apply, for fields that the API server normalises: the wanted digest, and the resulting
    /// one.
    normalized: HashMap<(Place, &'static str), (Digest, Digest)>,
    /// The resourceVersion that the watch has reached.
    reached: u64,
}

/// The previous and the present state of an object.
pub(crate) struct Change {
    pub before: Option<Arc<Head>>,
    pub now: Option<Arc<Head>>,
}

impl Objects {
    /// Takes an object from the watch or from a list. Returns none if it, or something newer, is known already, or if only
    /// its resourceVersion changed.
    pub(crate) fn saw(&mut self, place: &Place, seen: Entry) -> Option<Change> {
        match self.reach(place, &seen.head.resource_version) {
            true => None,
            false => self.put(place, seen),
        }
    }

    /// Notes that the watch or a list has reached a version of an object. Returns whether it, or something newer, is known already.
    pub(crate) fn reach(&mut self, place: &Place, version: &str) -> bool {
        let number = version.parse().unwrap_or_default();
        self.reached = self.reached.max(number);
        self.entries.get(place).is_some_and(|known| {
            known.head.resource_version == version || known.head.version() > number
        })
    }

    /// Removes an object that the watch reports as deleted.
    pub(crate) fn saw_deleted(&mut self, place: &Place, version: u64) -> Option<Change> {
        self.reached = self.reached.max(version);
        let is_newer = self.entries.get(place)?.head.version() > version;
        match is_newer {
            true => None,
            false => self.remove(place),
        }
    }

    /// Ends a list: objects that aren't in it and aren't newer are removed.
    pub(crate) fn listed(&mut self, seen: &BTreeSet<Place>, version: u64) -> Vec<(Place, Change)> {
        self.reached = self.reached.max(version);
        let unseen = self
            .entries
            .iter()
            .filter(|(place, entry)| !seen.contains(*place) && entry.head.version() <= version);
        let unseen: Vec<Place> = unseen.map(|(place, _)| place.clone()).collect();
        let gone = unseen.into_iter().filter_map(|place| {
            let change = self.remove(&place)?;
            Some((place, change))
        });
        gone.collect()
    }

    /// Takes the response to a write or read of this process. A response that is older than the watch's position is
    /// ignored, because taking it would restore a deleted object. A newer one is a change like any other, and known
    /// already when the watch shows it.
    pub(crate) fn learn(&mut self, place: &Place, seen: Entry) -> Option<Change> {
        let is_same_version = self
            .entries
            .get(place)
            .is_some_and(|known| known.head.resource_version == seen.head.resource_version);
        if !is_same_version && seen.head.version() <= self.reached {
            return None;
        }
        self.put(place, seen).filter(|_| !is_same_version)
    }

    /// Returns one object. While the state isn't live, a missing object may have been created meanwhile.
    pub(crate) fn find(&self, place: &Place) -> Lookup<&Entry> {
        match (&self.state, self.entries.get(place)) {
            (State::Live | State::Stale(_), Some(entry)) => Lookup::Found(entry),
            (State::Live, None) => Lookup::Missing,
            (state, _) => Lookup::Unknown(state.why()),
        }
    }

    /// All objects of a namespace.
    pub(crate) fn within<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Place, &'a Entry)> {
        self.entries
            .range(Place::first_in(namespace)..)
            .take_while(move |(place, _)| place.is_in(namespace))
    }

    /// All objects with a label, and operators' own that may have it.
    pub(crate) fn with_label(
        &mut self,
        label: &str,
        value: &str,
    ) -> impl Iterator<Item = (&Place, &Entry)> {
        if !self.labelled.contains_key(label) {
            let mut values: HashMap<String, BTreeSet<Place>> = HashMap::new();
            for (place, entry) in &self.entries {
                if let Some(value) = entry.head.labels.get(label) {
                    values
                        .entry(value.to_owned())
                        .or_default()
                        .insert(place.clone());
                }
            }
            self.labelled.insert(label.to_owned(), values);
        }
        let entries = &self.entries;
        let places = self.labelled.get(label);
        let places = places.and_then(|values| values.get(value));
        let places = places.into_iter().flatten().chain(&self.cut);
        places.filter_map(move |place| Some((place, entries.get(place)?)))
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.entries.keys()
    }

    /// Returns all objects of an owner, see [`may_own`].
    pub(crate) fn owned<'a>(
        &'a self,
        prefix: Option<&'a str>,
        owner: &'a Key,
        uid: &str,
    ) -> impl Iterator<Item = (&'a Place, &'a Entry)> {
        let places = self.owned.get(uid).into_iter().flatten();
        let places = places.filter(move |place| may_own(prefix, owner, place.namespace()));
        places.filter_map(|place| Some((place, self.entries.get(place)?)))
    }

    /// Drops the body of an object.
    pub(crate) fn drop_body(&mut self, place: &Place) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.drop_body();
        }
        self.note_cut(place);
    }

    pub(crate) fn normalized(
        &self,
        place: &Place,
        manager: &'static str,
    ) -> Option<(Digest, Digest)> {
        self.normalized.get(&(place.clone(), manager)).copied()
    }

    pub(crate) fn remember(
        &mut self,
        place: &Place,
        manager: &'static str,
        wanted: Digest,
        came: Digest,
    ) {
        let slot = (place.clone(), manager);
        match wanted == came {
            true => self.normalized.remove(&slot),
            false => self.normalized.insert(slot, (wanted, came)),
        };
    }

    fn put(&mut self, place: &Place, mut entry: Entry) -> Option<Change> {
        let now = Arc::clone(&entry.head);
        let replaced = self.entries.get(place);
        let is_same = replaced.is_some_and(|replaced| replaced.is_same(&entry));
        entry.pack(&mut self.sample);
        let replaced = self.entries.insert(place.clone(), entry);
        let before = replaced.map(|replaced| replaced.head);
        if let Some(before) = &before {
            self.disown(place, before);
        }
        self.relabel(place, before.as_deref(), Some(&now));
        if let Some(owner) = now.controller() {
            let owned = self.owned.entry(owner.uid.clone()).or_default();
            owned.insert(place.clone());
        }
        self.note_cut(place);
        (!is_same).then_some(Change {
            before,
            now: Some(now),
        })
    }

    fn remove(&mut self, place: &Place) -> Option<Change> {
        let before = self.entries.remove(place)?.head;
        self.note_cut(place);
        self.disown(place, &before);
        self.relabel(place, Some(&before), None);
        self.normalized.retain(|(other, _), _| other != place);
        Some(Change {
            before: Some(before),
            now: None,
        })
    }

    /// Notes an object by the labels that lists have asked for.
    fn relabel(&mut self, place: &Place, before: Option<&Head>, now: Option<&Head>) {
        for (label, values) in &mut self.labelled {
            let before = before.and_then(|head| head.labels.get(label));
            let now = now.and_then(|head| head.labels.get(label));
            if before == now {
                continue;
            }
            if let Some(before) = before {
                withdraw(values, before, place);
            }
            if let Some(now) = now {
                values
                    .entry(now.to_owned())
                    .or_default()
                    .insert(place.clone());
            }
        }
    }

    /// Notes whether an object is an operator's own and has more labels than are kept.
    fn note_cut(&mut self, place: &Place) {
        match self.entries.get(place).is_some_and(Entry::is_cut) {
            true => self.cut.insert(place.clone()),
            false => self.cut.remove(place),
        };
    }

    fn disown(&mut self, place: &Place, head: &Head) {
        if let Some(owner) = head.controller() {
            withdraw(&mut self.owned, &owner.uid, place);
        }
    }
}

/// Removes an object from those of a key.
fn withdraw(index: &mut HashMap<String, BTreeSet<Place>>, key: &str, place: &Place) {
    if let Some(places) = index.get_mut(key) {
        places.remove(place);
        if places.is_empty() {
            index.remove(key);
        }
    }
}

impl State {
    /// Returns the reason why the state is unknown.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Starting => "it was not looked at yet".to_owned(),
            Self::Live => String::new(),
            Self::Stale(why) | Self::Unknown(why) | Self::Absent(why) => why.to_string(),
        }
    }
}
