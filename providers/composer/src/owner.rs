//! The owner of an object.

use std::collections::BTreeMap;

use c5c3_kinds::ResourceKind;
use serde_json::{Value, json};

use crate::subject::Metadata;

/// Label with the operator that applies an object.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Label with the owner's kind.
const KIND: &str = "c5c3.io/owner-kind";
/// Label with the owner's namespace.
const NAMESPACE: &str = "c5c3.io/owner-namespace";
/// Label with the owner's name.
const NAME: &str = "c5c3.io/owner-name";

/// The resource that an object was composed for. Labels name it in every namespace, an ownerReference only in its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Its kind, for instance `ControlPlane`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Owner {
    /// The label that every composed object has, for selectors.
    pub const KIND: &str = KIND;

    /// The owner that is this resource.
    pub fn of(kind: ResourceKind, metadata: &Metadata) -> Self {
        Self {
            kind: kind.kind.to_owned(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone(),
        }
    }

    /// The owner that an object's labels name.
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Option<Self> {
        Some(Self {
            kind: labels.get(KIND)?.clone(),
            namespace: labels.get(NAMESPACE)?.clone(),
            name: labels.get(NAME)?.clone(),
        })
    }

    /// The owner as messages name it, by kind and name.
    pub fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// The labels that name this owner.
    pub fn labels(&self) -> [(&'static str, &str); 3] {
        [
            (KIND, &self.kind),
            (NAMESPACE, &self.namespace),
            (NAME, &self.name),
        ]
    }
}

/// The ownerReference to a resource, of which it is the controller.
pub fn owner_reference(kind: ResourceKind, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind,
        "name": name,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
