//! What is cached of an object that was observed: by a watch, or by a read or write of this process.

use provider_composer::{Key, ResourceKind};
use serde_json::Value;

use super::{Cache, Entry, Interest, Place, namespace_of};
use crate::api::Extent;
use crate::apply::Digest;

impl Cache {
    /// Caches an object. Its body is kept only where the object is a subject, where a composer looked it up, where an operator applied it
    /// (until [`rest`](Self::rest)), or where it is in the namespace of a subject, whose pods would each be read by itself after a start.
    /// Others may be as many and as large as their owners like.
    pub(super) fn seen(
        &self,
        kind: ResourceKind,
        place: &Place,
        object: Value,
        whole: bool,
    ) -> Option<Entry> {
        let mut entry = Entry::of(kind, object, whole, &self.managers)?;
        let mut interests = self.interests.iter();
        // Administrators create Nodes, and whoever reads one reads all.
        let is_node = (kind.group, kind.kind) == ("", "Node");
        let is_inside = |interest: &Interest| {
            let prefix = interest.prefix.filter(|_| interest.kinds.contains(&kind));
            prefix.is_some_and(|prefix| place.namespace().starts_with(prefix))
        };
        let is_known = entry.is_own() || is_node || self.interests.iter().any(is_inside);
        let is_wanted = !whole
            || interests.any(|interest| interest.subject == kind)
            || (Self::extent(kind) == Extent::Whole && entry.is_small() && is_known);
        if !is_wanted && !self.dependencies().is_read(kind, place, &entry.head) {
            entry.drop_body();
        }
        Some(entry)
    }

    /// Takes the response to a read or write of this process.
    pub(crate) fn learn(&self, key: &Key, object: Value) {
        let place = Place::of(key);
        let seen = self.seen(key.kind, &place, object, true);
        self.take_in(key.kind, &place, seen);
    }

    /// Takes an object that a composer looked up: its body is kept from now on.
    pub(crate) fn fetched(&self, key: &Key, object: Value) {
        let seen = Entry::of(key.kind, object, true, &self.managers);
        self.take_in(key.kind, &Place::of(key), seen);
    }

    /// Wakes the dependent subjects, since the watch won't: its event is known by then.
    fn take_in(&self, kind: ResourceKind, place: &Place, seen: Option<Entry>) {
        let objects = self.objects(kind, place.namespace()).zip(seen);
        let change = objects.and_then(|(mut objects, seen)| objects.learn(place, seen));
        if let Some(change) = change {
            self.changed(kind, place, &change);
        }
    }

    /// Takes the result of an apply.
    pub(crate) fn applied(&self, key: &Key, manager: &'static str, wanted: Digest, object: Value) {
        let place = Place::of(key);
        let seen = self.seen(key.kind, &place, object, true);
        let managed = seen.as_ref().and_then(|seen| seen.managed_by(manager));
        if let Some(came) = managed.and_then(|managed| managed.digest) {
            self.remember(key, manager, wanted, came);
        }
        self.take_in(key.kind, &place, seen);
    }

    /// Records the digest that results from writing a wanted one.
    pub(crate) fn remember(&self, key: &Key, manager: &'static str, wanted: Digest, came: Digest) {
        if let Some(mut objects) = self.objects(key.kind, namespace_of(key)) {
            objects.remember(&Place::of(key), manager, wanted, came);
        }
    }

    /// Whether an object's digest results from the wanted one.
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
}
