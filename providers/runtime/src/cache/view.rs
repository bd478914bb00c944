//! The cache as a composer's source.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provider_composer::{Key, Outside, ResourceKind, Seen, Source};
use serde_json::Value;

use super::Cache;
use super::entry::{Entry, Place};
use crate::outside::Outsides;

/// Something that was looked up and isn't at hand, but can be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    Object(Key),
    Outside(Outside),
}

/// What a composer sees. It notes what could be fetched, so that composing again would tell more.
pub(crate) struct View<'a> {
    cache: &'a Cache,
    outsides: &'a Outsides,
    /// What could not be fetched, and why.
    failed: &'a BTreeMap<Wanted, String>,
    wanted: RefCell<BTreeSet<Wanted>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        cache: &'a Cache,
        outsides: &'a Outsides,
        failed: &'a BTreeMap<Wanted, String>,
    ) -> Self {
        Self {
            cache,
            outsides,
            failed,
            wanted: RefCell::default(),
        }
    }

    /// What could be fetched.
    pub(crate) fn wanted(self) -> BTreeSet<Wanted> {
        self.wanted.into_inner()
    }

    fn want<T>(&self, wanted: Wanted) -> Seen<T> {
        match self.failed.get(&wanted) {
            Some(why) => Seen::Unread(why.clone()),
            None => {
                self.wanted.borrow_mut().insert(wanted);
                Seen::Unread("it is being read".to_owned())
            }
        }
    }

    fn read(&self, key: Key, entry: &Entry) -> Seen<Arc<Value>> {
        match entry.whole {
            true => Seen::Found(Arc::new(entry.value())),
            false => self.want(Wanted::Object(key)),
        }
    }
}

impl Source for View<'_> {
    fn object(&self, key: &Key) -> Seen<Arc<Value>> {
        match self.cache.find(key) {
            Seen::Found(entry) => self.read(key.clone(), &entry),
            Seen::Missing => Seen::Missing,
            Seen::Unread(why) => Seen::Unread(why),
        }
    }

    fn objects(
        &self,
        kind: ResourceKind,
        namespace: &str,
        labels: &BTreeMap<String, String>,
    ) -> Seen<Vec<Arc<Value>>> {
        let Some(objects) = self.cache.objects(kind, namespace) else {
            return Seen::Unread(self.cache.state(kind, namespace).why());
        };
        // An object that nobody can have stands for those that can't be seen.
        if let Seen::Unread(why) = objects.find(&Place::first_in(namespace)) {
            return Seen::Unread(why);
        }
        let mut found = Vec::new();
        for (place, entry) in objects.within(namespace) {
            if !entry.head().has(labels) {
                continue;
            }
            match self.read(place.key(kind), entry) {
                Seen::Found(object) => found.push(object),
                // Goes on, so that all that is missing is fetched at once.
                Seen::Unread(_) | Seen::Missing => {}
            }
        }
        match self.wanted.borrow().is_empty() {
            true => Seen::Found(found),
            false => Seen::Unread("they are being read".to_owned()),
        }
    }

    fn outside(&self, question: &Outside) -> Seen<Arc<Value>> {
        let remembered = self.outsides.remembered(question);
        remembered.unwrap_or_else(|| self.want(Wanted::Outside(question.clone())))
    }
}
