//! The objects of one kind, as they were last seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use provider_composer::Lookup;

use super::entry::{Entry, Head, Place};
use crate::apply::Digest;

/// What is known of a kind as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing yet.
    Starting,
    /// Everything, and every change as it comes.
    Live,
    /// Everything as it was a moment ago: what isn't here may be there by now.
    Stale(Arc<str>),
    /// Nothing that counts, for this reason.
    Unknown(Arc<str>),
    /// There is no such kind.
    Absent(Arc<str>),
}

/// The objects of one kind, as they were last seen.
pub(crate) struct Objects {
    pub state: State,
    entries: BTreeMap<Place, Entry>,
    /// By their owner's uid.
    owned: HashMap<String, BTreeSet<Place>>,
    /// What became of our last apply, where the API server writes fields in another way than we do: the digest that was
    /// wanted, and the one that came of it.
    normalized: HashMap<(Place, &'static str), (Digest, Digest)>,
    /// The version that the watch has come to.
    reached: u64,
}

/// What was known of an object before and is known now.
pub(crate) struct Change {
    pub before: Option<Head>,
    pub now: Option<Head>,
}

impl Objects {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Starting,
            entries: BTreeMap::new(),
            owned: HashMap::new(),
            normalized: HashMap::new(),
            reached: 0,
        }
    }

    /// Something was seen on the watch or in a list. None: it was known already, or something newer is.
    pub(crate) fn saw(&mut self, place: &Place, entry: Entry) -> Option<Change> {
        let head = entry.head();
        self.reached = self.reached.max(head.version());
        let before = self.head(place);
        let known = before.as_ref().is_some_and(|before| {
            before.resource_version == head.resource_version || before.version() > head.version()
        });
        (!known).then(|| self.put(place, before, head, entry))
    }

    /// Something was seen to go.
    pub(crate) fn saw_go(&mut self, place: &Place, version: u64) -> Option<Change> {
        self.reached = self.reached.max(version);
        let before = self.head(place)?;
        (before.version() <= version).then(|| self.remove(place, before))
    }

    /// A list was read to its end: what it has not, and is not newer than it, is gone.
    pub(crate) fn listed(&mut self, seen: &BTreeSet<Place>, version: u64) -> Vec<(Place, Change)> {
        self.reached = self.reached.max(version);
        let unseen: Vec<Place> = self
            .entries
            .keys()
            .filter(|place| !seen.contains(*place))
            .cloned()
            .collect();
        let gone = unseen.into_iter().filter_map(|place| {
            let before = self
                .head(&place)
                .filter(|before| before.version() <= version)?;
            let change = self.remove(&place, before);
            Some((place, change))
        });
        gone.collect()
    }

    /// What the API server answered to a write or a read of ours. What the watch has passed already, it has shown or will
    /// never show: taking it would bring back the dead. What is newer is a change like any other: when the watch shows it, it
    /// is known already.
    pub(crate) fn learn(&mut self, place: &Place, entry: Entry) -> Option<Change> {
        let head = entry.head();
        let before = self.head(place);
        let same = before
            .as_ref()
            .is_some_and(|before| before.resource_version == head.resource_version);
        if !same && head.version() <= self.reached {
            return None;
        }
        let change = self.put(place, before, head, entry);
        (!same).then_some(change)
    }

    /// One object. One that isn't known may have come while nobody was looking.
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

    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.entries.keys()
    }

    /// All objects that name an owner, in the owner's namespace: in others anybody may name any. An owner without a namespace
    /// owns objects in all of them.
    pub(crate) fn owned(
        &self,
        namespace: &str,
        uid: &str,
    ) -> impl Iterator<Item = (&Place, &Entry)> {
        let places = self.owned.get(uid).into_iter().flatten();
        let places = places.filter(move |place| namespace.is_empty() || place.is_in(namespace));
        places.filter_map(|place| Some((place, self.entries.get(place)?)))
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

    fn head(&self, place: &Place) -> Option<Head> {
        self.entries.get(place).map(Entry::head)
    }

    fn put(&mut self, place: &Place, before: Option<Head>, now: Head, entry: Entry) -> Change {
        if let Some(before) = &before {
            self.disown(place, before);
        }
        if let Some(owner) = now.controller() {
            let owned = self.owned.entry(owner.uid.clone()).or_default();
            owned.insert(place.clone());
        }
        self.entries.insert(place.clone(), entry);
        Change {
            before,
            now: Some(now),
        }
    }

    fn remove(&mut self, place: &Place, before: Head) -> Change {
        self.entries.remove(place);
        self.disown(place, &before);
        self.normalized.retain(|(other, _), _| other != place);
        Change {
            before: Some(before),
            now: None,
        }
    }

    fn disown(&mut self, place: &Place, head: &Head) {
        let Some(owner) = head.controller() else {
            return;
        };
        if let Some(places) = self.owned.get_mut(&owner.uid) {
            places.remove(place);
            if places.is_empty() {
                self.owned.remove(&owner.uid);
            }
        }
    }
}

impl State {
    /// Why something can't be told.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Starting => "it was not looked at yet".to_owned(),
            Self::Live => String::new(),
            Self::Stale(why) | Self::Unknown(why) | Self::Absent(why) => why.to_string(),
        }
    }
}
