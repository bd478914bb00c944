//! What is kept of an object.

use std::fmt;
use std::mem;
use std::sync::Arc;

use provider_composer::{Key, ResourceKind};
use serde_json::Value;

use super::body::{Body, Sample};
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

/// A cached object: what the runtime reads of it, and what its managedFields contain about this project's operators.
#[derive(Clone)]
pub(crate) struct Entry {
    pub head: Arc<Head>,
    pub managed: Vec<Managed>,
    /// Its JSON without managedFields, where it is kept.
    body: Option<Body>,
}

impl Entry {
    /// Of an object as the API server gives it, with its body or without; none if its metadata can't be understood.
    pub(crate) fn of(
        kind: ResourceKind,
        mut object: Value,
        whole: bool,
        managers: &[&'static str],
    ) -> Option<Self> {
        let managed = managed(&object, whole, managers);
        trim(kind, &mut object);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                annotations.shift_remove(LAST_APPLIED);
            }
        }
        let head = Head::of(&object)?;
        let head = match whole {
            true => head,
            false => head.reduced(),
        };
        Some(Self {
            head: Arc::new(head),
            managed,
            body: whole.then(|| Body::of(&object)),
        })
    }

    /// Compresses the body, if it is here.
    pub(crate) fn pack(&mut self, sample: &mut Sample) {
        if let Some(body) = &mut self.body {
            body.pack(sample);
        }
    }

    /// Drops the body, and all metadata that the runtime doesn't read.
    pub(crate) fn drop_body(&mut self) {
        if self.body.take().is_some() {
            let head = Arc::unwrap_or_clone(mem::take(&mut self.head));
            self.head = Arc::new(head.reduced());
        }
    }

    /// Whether the body is here too.
    pub(crate) fn is_whole(&self) -> bool {
        self.body.is_some()
    }

    /// Whether an operator applied the object.
    pub(crate) fn is_own(&self) -> bool {
        self.managed.iter().any(|managed| managed.applied)
    }

    /// Whether the body is here, and no larger than what operators apply.
    pub(crate) fn is_small(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.length() <= BODY)
    }

    /// Whether it is an operator's own and has more labels than are kept.
    pub(super) fn is_cut(&self) -> bool {
        self.head.is_cut && !self.managed.is_empty()
    }

    /// The object, if its body is here.
    pub(crate) fn value(&self) -> Option<Value> {
        self.body.as_ref()?.value()
    }

    /// Whether both are here with their bodies, and differ in nothing but the resourceVersion.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let unversioned = |entry: &Self| {
            let mut object = entry.value()?;
            if let Some(version) = object.pointer_mut("/metadata/resourceVersion") {
                version.take();
            }
            Some(object)
        };
        let (Some(body), Some(other_body)) = (&self.body, &other.body) else {
            return false;
        };
        // Versions of one object rarely differ in length: most changes need no parsing.
        let close = body.length().abs_diff(other_body.length()) <= 1;
        close && self.managed == other.managed && unversioned(self) == unversioned(other)
    }

    /// How much memory it takes, in bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        let body = self.body.as_ref().map_or(0, Body::size);
        body + size_of_val(&*self.managed) + format!("{:?}", self.head).len()
    }

    /// What an operator has to do with it.
    pub(crate) fn managed_by(&self, manager: &str) -> Option<&Managed> {
        self.managed
            .iter()
            .find(|managed| managed.manager == manager)
    }
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
        let mut entry = Entry::of(SECRET, seen.clone(), true, &[]).unwrap();
        assert_eq!(entry.value(), Some(seen));
        let head = Arc::clone(&entry.head);
        assert_eq!((head.uid.as_str(), head.version()), ("1", 7));
        assert_eq!(
            (head.labels.get("b"), head.labels.get("c")),
            (Some("c"), None)
        );
        entry.drop_body();
        assert_eq!(entry.value(), None);
        assert_eq!(entry.head, head);
    }
}
