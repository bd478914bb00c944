//! The cache as the source of a composer's lookups.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provider_composer::{ExternalRequest, Key, Lookup, ResourceKind, Selection, Source};
use serde_json::Value;

use super::entry::{Entry, Place};
use super::{Cache, State};
use crate::external::ExternalSystems;

/// Something that was looked up, isn't in the cache, and can be fetched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    Object(Key),
    External(ExternalRequest),
}

/// How many objects are parsed once for one attempt to compose. What a composer looks up beyond these, for instance of each of a thousand
/// nodes, is parsed each time, so that it isn't all in memory at once.
const PARSED: usize = 256;

/// The responses of external systems that one reconcile has seen.
pub(crate) type Responses = BTreeMap<ExternalRequest, Arc<Value>>;

/// A composer's view of the cache. It records what can be fetched for another attempt, and each response that it finds: another attempt
/// finds the same one, however long it has waited for others.
pub(crate) struct View<'a> {
    cache: &'a Cache,
    external: &'a ExternalSystems,
    /// What could not be fetched, and why.
    failed: &'a BTreeMap<Wanted, String>,
    responses: RefCell<&'a mut Responses>,
    wanted: RefCell<BTreeSet<Wanted>>,
    /// Objects that were looked up: composers look up one, then each of its conditions.
    parsed: RefCell<BTreeMap<Key, Arc<Value>>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        cache: &'a Cache,
        external: &'a ExternalSystems,
        failed: &'a BTreeMap<Wanted, String>,
        responses: &'a mut Responses,
    ) -> Self {
        Self {
            cache,
            external,
            failed,
            responses: RefCell::new(responses),
            wanted: RefCell::default(),
            parsed: RefCell::default(),
        }
    }

    /// Returns what can be fetched.
    pub(crate) fn wanted(self) -> BTreeSet<Wanted> {
        self.wanted.into_inner()
    }

    fn want<T>(&self, wanted: Wanted) -> Lookup<T> {
        match self.failed.get(&wanted) {
            Some(why) => Lookup::Unknown(why.clone()),
            None => {
                self.wanted.borrow_mut().insert(wanted);
                Lookup::Unknown("it is being read".to_owned())
            }
        }
    }

    fn read(&self, key: Key, entry: &Entry) -> Lookup<Arc<Value>> {
        match entry.value() {
            Some(object) => Lookup::Found(Arc::new(object)),
            None => self.want(Wanted::Object(key)),
        }
    }

    /// Looks up the objects of a selection, by name. Where one is unknown, all are.
    fn select<T>(
        &self,
        selection: &Selection,
        look: impl Fn(Key, &Entry) -> Lookup<T>,
    ) -> Lookup<Vec<T>> {
        let (kind, namespace, labels) = (selection.kind, &selection.namespace, &selection.labels);
        let Some(mut objects) = self.cache.objects(kind, namespace) else {
            return Lookup::Unknown(self.cache.state(kind, namespace).why());
        };
        // No object has this name: its state is the state of all that can't be read.
        if let Lookup::Unknown(why) = objects.find(&Place::first_in(namespace)) {
            return Lookup::Unknown(why);
        }
        let first = labels.first_key_value();
        let candidates: Box<dyn Iterator<Item = (&Place, &Entry)> + '_> = match first {
            Some((label, value)) if !kind.namespaced => Box::new(objects.with_label(label, value)),
            _ => Box::new(objects.within(namespace)),
        };
        let lookups = candidates.filter_map(|(place, entry)| {
            if entry.head.has(labels) {
                return Some(look(place.key(kind), entry));
            }
            // One of ours, by which something may be decided. Others may have as many as their owners like.
            entry.is_cut().then(|| {
                Lookup::Unknown(format!(
                    "{} has more labels than the operator keeps: remove those that others have added",
                    place.key(kind)
                ))
            })
        });
        lookups.collect()
    }
}

impl Source for View<'_> {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        let mut parsed = self.parsed.borrow_mut();
        if let Some(object) = parsed.get(key) {
            return Lookup::Found(Arc::clone(object));
        }
        let entry = self.cache.find(key);
        let object = entry.and_then(|entry| self.read(key.clone(), &entry));
        if let Lookup::Found(object) = &object
            && parsed.len() < PARSED
        {
            parsed.insert(key.clone(), Arc::clone(object));
        }
        object
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        self.select(selection, |key, entry| self.read(key, entry))
    }

    fn keys(&self, selection: &Selection) -> Lookup<Vec<Key>> {
        self.select(selection, |key, _| Lookup::Found(key))
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        let mut responses = self.responses.borrow_mut();
        if let Some(seen) = responses.get(request) {
            return Lookup::Found(Arc::clone(seen));
        }
        match self.external.cached(request) {
            Some(response) => {
                responses.insert(request.clone(), Arc::clone(&response));
                Lookup::Found(response)
            }
            None => self.want(Wanted::External(request.clone())),
        }
    }

    fn is_installed(&self, kind: ResourceKind, namespace: &str) -> bool {
        !matches!(self.cache.state(kind, namespace), State::Absent(_))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{WIDGET, things};

    #[test]
    fn object_is_parsed_once_for_an_attempt_and_anew_for_the_next() {
        let cache = Cache::new(&things(), &[]);
        cache.set_state(WIDGET, "", State::Live);
        let key = Key::new(WIDGET, "a", "one");
        let see = |version: &str| {
            let metadata = json!({ "name": "one", "namespace": "a", "resourceVersion": version });
            cache.fetched(&key, json!({ "metadata": metadata }));
        };
        let external = ExternalSystems::new(Vec::new());
        let failed = BTreeMap::new();
        let looked_up = || {
            let mut responses = Responses::new();
            let view = View::new(&cache, &external, &failed, &mut responses);
            let look = || view.object(&key).found().unwrap();
            let (first, second) = (look(), look());
            assert!(Arc::ptr_eq(&first, &second));
            assert!(view.wanted().is_empty());
            first["metadata"]["resourceVersion"].clone()
        };
        see("1");
        assert_eq!(looked_up(), "1");
        see("2");
        assert_eq!(looked_up(), "2");
    }
}
