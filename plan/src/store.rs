//! Every object of every cluster, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::manifest::{Manifest, path};

/// The cluster that Crossplane runs in.
pub const MANAGEMENT: &str = "management";

/// Which object of which cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The cluster, by the name of its provider configuration.
    pub cluster: String,
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// The key of an object in a cluster.
    pub fn of(cluster: &str, manifest: &Manifest) -> Self {
        Self {
            cluster: cluster.to_owned(),
            api_version: manifest.api_version().to_owned(),
            kind: manifest.kind().to_owned(),
            namespace: manifest.namespace().to_owned(),
            name: manifest.name().to_owned(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path(&self.namespace, &self.name);
        write!(out, "{} {path} in {}", self.kind, self.cluster)
    }
}

/// Every object of every cluster, and the object that it was composed for.
#[derive(Clone, Debug, Default)]
pub struct Store {
    entries: BTreeMap<Key, Entry>,
    made: BTreeMap<Key, BTreeSet<Key>>,
    changed: BTreeSet<Key>,
    log: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Entry {
    manifest: Manifest,
    maker: Option<Key>,
}

impl Store {
    /// The object at a key.
    pub fn get(&self, key: &Key) -> Option<&Manifest> {
        self.entries.get(key).map(|entry| &entry.manifest)
    }

    /// Every object, in the order of its key.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Manifest)> {
        self.entries
            .iter()
            .map(|(key, entry)| (key, &entry.manifest))
    }

    /// The objects that were composed for another one.
    pub fn made_by<'a>(&'a self, maker: &Key) -> impl Iterator<Item = (&'a Key, &'a Manifest)> {
        let made = self.made.get(maker).into_iter().flatten();
        made.filter_map(|key| Some((key, self.get(key)?)))
    }

    /// The object that an object was composed for.
    pub fn maker(&self, key: &Key) -> Option<&Key> {
        self.entries.get(key)?.maker.as_ref()
    }

    /// The root that an object was composed for, over all levels, or itself.
    pub fn origin<'a>(&'a self, key: &'a Key) -> &'a Key {
        self.maker(key).map_or(key, |maker| self.origin(maker))
    }

    /// The objects of a kind in one cluster. No namespace: of every one.
    pub fn of_kind<'a>(
        &'a self,
        cluster: &'a str,
        api_version: &'a str,
        kind: &'a str,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Manifest)> {
        let first = Key {
            cluster: cluster.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        self.entries
            .range(first..)
            .take_while(move |(key, _)| {
                key.cluster == cluster && key.api_version == api_version && key.kind == kind
            })
            .filter(move |(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace))
            .map(|(key, entry)| (key, &entry.manifest))
    }

    /// Makes an object as wanted. The status that it has stays, as it does with every apply of a spec.
    pub fn apply(&mut self, cluster: &str, wanted: Manifest, maker: Option<&Key>) -> Key {
        let key = Key::of(cluster, &wanted);
        let status = self.get(&key).map_or(&Value::Null, Manifest::status);
        let manifest = match status {
            Value::Null => wanted,
            status => wanted.with_status(status.clone()),
        };
        self.put(key.clone(), manifest, maker.cloned());
        key
    }

    /// Writes the status of an object; nothing where it isn't there.
    pub fn set_status(&mut self, key: &Key, status: Value) {
        let entry = self.entries.get_mut(key);
        if let Some(entry) = entry.filter(|entry| *entry.manifest.status() != status) {
            entry.manifest.set_status(status);
            self.touch(key);
        }
    }

    /// Deletes an object, and what was composed for it.
    pub fn remove(&mut self, key: &Key) {
        for made in self.made.remove(key).unwrap_or_default() {
            self.remove(&made);
        }
        if let Some(entry) = self.entries.remove(key) {
            if let Some(made) = entry.maker.and_then(|maker| self.made.get_mut(&maker)) {
                made.remove(key);
            }
            self.touch(key);
        }
    }

    /// Records a change of an object that the store doesn't contain.
    pub fn touch(&mut self, key: &Key) {
        self.changed.insert(key.clone());
        self.log.push(key.clone());
    }

    /// How much has ever changed: a moment to come back to by [`Store::since`].
    pub fn moment(&self) -> usize {
        self.log.len()
    }

    /// What has changed since a moment, in the order in which it has.
    pub fn since(&self, moment: usize) -> &[Key] {
        self.log.get(moment..).unwrap_or_default()
    }

    /// The changes since the last call.
    pub fn take_changed(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.changed)
    }

    fn put(&mut self, key: Key, manifest: Manifest, maker: Option<Key>) {
        if self.get(&key) != Some(&manifest) {
            self.touch(&key);
        }
        if let Some(maker) = &maker {
            let made = self.made.entry(maker.clone()).or_default();
            made.insert(key.clone());
        }
        self.entries.insert(key, Entry { manifest, maker });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thing(name: &str, size: u32) -> Manifest {
        let value = json!({
            "apiVersion": "test/v1", "kind": "Thing", "metadata": { "name": name }, "spec": { "size": size },
        });
        Manifest::try_from(value).unwrap()
    }

    #[test]
    fn an_apply_keeps_the_status_and_says_what_changed() {
        let mut store = Store::default();
        let key = store.apply(MANAGEMENT, thing("a", 1), None);
        store.set_status(&key, json!({ "phase": "Ready" }));
        store.take_changed();

        store.apply(MANAGEMENT, thing("a", 1), None);
        assert!(store.take_changed().is_empty());

        store.apply(MANAGEMENT, thing("a", 2), None);
        assert_eq!(store.take_changed(), BTreeSet::from([key.clone()]));
        assert_eq!(store.get(&key).unwrap().text("/status/phase"), "Ready");
        assert_eq!(store.get(&key).unwrap().spec()["size"], 2);
    }

    #[test]
    fn what_an_object_made_goes_with_it() {
        let mut store = Store::default();
        let parent = store.apply(MANAGEMENT, thing("parent", 1), None);
        let child = store.apply(MANAGEMENT, thing("child", 1), Some(&parent));
        let grandchild = store.apply("elsewhere", thing("grandchild", 1), Some(&child));
        let other = store.apply(MANAGEMENT, thing("other", 1), None);
        assert_eq!(store.origin(&grandchild), &parent);

        store.remove(&parent);
        let left: Vec<&Key> = store.iter().map(|(key, _)| key).collect();
        assert_eq!(left, [&other]);
    }

    #[test]
    fn a_kind_is_listed_in_one_namespace_or_in_all() {
        let mut store = Store::default();
        for namespace in ["b", "a"] {
            let mut value = thing("same", 1).value().clone();
            value["metadata"]["namespace"] = json!(namespace);
            store.apply(MANAGEMENT, Manifest::try_from(value).unwrap(), None);
        }
        store.apply("elsewhere", thing("same", 1), None);
        let namespaces = |wanted| -> Vec<String> {
            let found = store.of_kind(MANAGEMENT, "test/v1", "Thing", wanted);
            found.map(|(key, _)| key.namespace.clone()).collect()
        };
        assert_eq!(namespaces(None), ["a", "b"]);
        assert_eq!(namespaces(Some("b")), ["b"]);
        assert!(namespaces(Some("c")).is_empty());
    }
}
