//! The key of an object.

use std::fmt;

use c5c3_kinds::{Resource, ResourceKind};

/// Identifies an object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: ResourceKind,
    /// Its namespace; none for an object of the whole cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Key {
    /// An object by its type; the namespace counts only where the kind has one.
    pub fn of<T: Resource>(namespace: &str, name: &str) -> Self {
        Self::new(T::KIND, namespace, name)
    }

    /// An object by its kind; the namespace counts only where the kind has one.
    pub fn new(kind: ResourceKind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: kind.namespaced.then(|| namespace.to_owned()),
            name: name.to_owned(),
        }
    }
}

/// As messages name it: `MariaDB openstack-db`.
impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, self.name)
    }
}
