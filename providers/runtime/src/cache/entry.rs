//! What is kept of an object.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use provider_composer::{Key, ResourceKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::trim::trim;
use crate::apply::{Managed, managed};
use crate::head::Head;

/// Kubernetes' own kind of annotation that repeats an object, the values of a Secret too.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The largest body that is kept before a composer has read it, in bytes.
const BODY: usize = 32 * 1024;

/// Where an object of a kind is: `namespace/name`, or `/name` for one of the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(Arc<str>);

impl Place {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self(format!("{namespace}/{name}").into())
    }

    pub(crate) fn of(key: &Key) -> Self {
        Self::new(key.namespace.as_deref().unwrap_or_default(), &key.name)
    }

    pub(crate) fn key(&self, kind: ResourceKind) -> Key {
        let (namespace, name) = self.0.split_once('/').unwrap_or(("", &self.0));
        Key::new(kind, namespace, name)
    }

    /// Before all places of a namespace, and before nothing else of it.
    pub(crate) fn first_in(namespace: &str) -> Self {
        Self::new(namespace, "")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.0.split_once('/').unwrap_or_default().0
    }

    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        self.0
            .strip_prefix(namespace)
            .is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.strip_prefix('/').unwrap_or(&self.0))
    }
}

/// A cached object: its JSON without managedFields, and what these contain about this project's operators.
#[derive(Clone)]
pub(crate) struct Entry {
    pub managed: Vec<Managed>,
    /// Whether the body is here too.
    pub whole: bool,
    json: Box<str>,
}

/// How the JSON of an entry says that labels were left out.
const CUT: &str = "\"isCut\":true";

/// An object that was just seen: what is kept of it, and its head, for all that want it now.
pub(crate) struct Seen {
    pub entry: Entry,
    pub head: Head,
}

impl Seen {
    /// Of an object as the API server gives it, with its body or without.
    pub(crate) fn of(
        kind: ResourceKind,
        mut object: Value,
        whole: bool,
        managers: &[&'static str],
    ) -> Self {
        let managed = managed(&object, whole, managers);
        trim(kind, &mut object);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.shift_remove(LAST_APPLIED);
            }
        }
        let mut seen = Self {
            head: Head::of(&object),
            entry: Entry {
                managed,
                whole: true,
                json: object.to_string().into(),
            },
        };
        if !whole {
            seen.head_only();
        }
        seen
    }

    /// Drops the body, and all metadata that the runtime doesn't read.
    pub(crate) fn head_only(&mut self) {
        self.head = mem::take(&mut self.head).reduced();
        self.entry.keep_only(&self.head);
    }
}

impl Entry {
    /// Drops the body, and all metadata that the runtime doesn't read.
    pub(crate) fn head_only(&mut self) {
        if self.whole {
            self.keep_only(&self.head().reduced());
        }
    }

    fn keep_only(&mut self, head: &Head) {
        self.json = json!({ "metadata": head }).to_string().into();
        self.whole = false;
    }

    /// Whether an operator applied the object.
    pub(crate) fn is_own(&self) -> bool {
        self.managed.iter().any(|managed| managed.applied)
    }

    /// Whether the body is no larger than what operators apply.
    pub(crate) fn is_small(&self) -> bool {
        self.json.len() <= BODY
    }

    /// Whether the object may have all these labels, as [`written`] has them. Unlike [`Head::has`], it parses nothing.
    pub(crate) fn may_have(&self, written: &[String]) -> bool {
        written.iter().all(|label| self.json.contains(label)) || self.may_be_cut()
    }

    /// Whether it is an operator's own and has more labels than are kept.
    pub(super) fn may_be_cut(&self) -> bool {
        !self.whole && !self.managed.is_empty() && self.json.contains(CUT)
    }

    /// The object, as far as it is here.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// Its head, for which the whole text is parsed.
    pub(crate) fn head(&self) -> Head {
        #[derive(Default, Deserialize)]
        struct Headed {
            metadata: Head,
        }
        let headed: Headed = serde_json::from_str(&self.json).unwrap_or_default();
        headed.metadata
    }

    /// Whether both are here with their bodies, and differ in nothing but the resourceVersion.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let unversioned = |entry: &Self| {
            let mut object = entry.value();
            let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
            metadata.and_then(|metadata| metadata.shift_remove("resourceVersion"));
            object
        };
        // Versions of one object rarely differ in length: most changes need no parsing.
        let close = self.json.len().abs_diff(other.json.len()) <= 1;
        let whole = self.whole && other.whole;
        whole && close && self.managed == other.managed && unversioned(self) == unversioned(other)
    }

    /// How much memory it takes, in bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.json.len() + size_of_val(&*self.managed)
    }

    /// What an operator has to do with it.
    pub(crate) fn managed_by(&self, manager: &str) -> Option<&Managed> {
        self.managed
            .iter()
            .find(|managed| managed.manager == manager)
    }
}

/// Labels as the JSON of an entry has them.
pub(crate) fn written(labels: &BTreeMap<String, String>) -> Vec<String> {
    let text = |text: &String| Value::from(text.as_str());
    let written = labels
        .iter()
        .map(|(label, value)| format!("{}:{}", text(label), text(value)));
    written.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::SECRET;

    #[test]
    fn entry_has_what_was_seen() {
        let seen = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "a", "uid": "1", "resourceVersion": "7", "labels": { "b": "c" } },
            "data": { "password": "bcO8Cg==", "empty": "" },
        });
        let Seen { mut entry, head } = Seen::of(SECRET, seen.clone(), true, &[]);
        assert_eq!(entry.value(), seen);
        assert_eq!(entry.head(), head);
        assert_eq!((head.uid.as_str(), head.version()), ("1", 7));
        entry.head_only();
        assert!(!entry.whole && entry.value().get("data").is_none());
        assert_eq!(entry.head(), head);
    }

    #[test]
    fn object_without_a_label_is_known_by_its_text() {
        let labels = json!({ "a/b": "c", "d": "" });
        let object =
            json!({ "metadata": { "name": "one", "labels": labels, "annotations": { "e": "f" } } });
        let entry = Seen::of(SECRET, object, true, &[]).entry;
        let may_have = |labels: &[(&str, &str)]| {
            let labels = labels
                .iter()
                .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()));
            let labels: BTreeMap<String, String> = labels.collect();
            (entry.may_have(&written(&labels)), entry.head().has(&labels))
        };
        for own in [&[][..], &[("a/b", "c")], &[("d", ""), ("a/b", "c")]] {
            assert_eq!(may_have(own), (true, true), "{own:?}");
        }
        for other in [
            &[("a/b", "cc")][..],
            &[("b", "c")],
            &[("a/b", "c"), ("g", "h")],
        ] {
            assert_eq!(may_have(other), (false, false), "{other:?}");
        }
        assert_eq!(may_have(&[("e", "f")]), (true, false), "annotations");
    }
}
