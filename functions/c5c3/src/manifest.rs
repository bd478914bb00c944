//! Objects as they are composed.

use std::collections::BTreeMap;

use c5c3_kinds::{ResourceKind, Spec};
use serde::{Deserialize, Serialize};

/// A Kubernetes object as it is composed: unlike [`c5c3_kinds::Manifest`], with its kind, and with metadata in the order in which people
/// write it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest<S> {
    api_version: String,
    kind: &'static str,
    /// Name, namespace, labels.
    #[serde(skip_serializing_if = "ObjectMeta::is_empty")]
    pub metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<S>,
}

impl<S: Spec> Manifest<S> {
    /// A namespaced object.
    pub fn new(namespace: &str, name: impl Into<String>, spec: S) -> Self {
        let mut manifest = Self::cluster_scoped(name, spec);
        manifest.metadata.namespace = Some(namespace.to_owned());
        manifest
    }

    /// A cluster-scoped object.
    pub fn cluster_scoped(name: impl Into<String>, spec: S) -> Self {
        Self::of(S::KIND, ObjectMeta::named(name), Some(spec))
    }

    /// A cluster-scoped object without a spec.
    pub fn without_spec(name: impl Into<String>) -> Self {
        Self::of(S::KIND, ObjectMeta::named(name), None)
    }
}

impl<S> Manifest<S> {
    /// An object of this kind, where several kinds have one type of spec.
    pub fn of(kind: ResourceKind, metadata: ObjectMeta, spec: Option<S>) -> Self {
        Manifest {
            api_version: kind.api_version(),
            kind: kind.kind,
            metadata,
            spec,
        }
    }
}

/// Metadata of a composed object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectMeta {
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace; none for a cluster-scoped object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
}

/// Where an object is: `namespace/name`, or the name of a cluster-scoped one.
pub fn place(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(
        || name.to_owned(),
        |namespace| format!("{namespace}/{name}"),
    )
}

impl ObjectMeta {
    /// Where the object is.
    pub fn place(&self) -> String {
        place(self.namespace.as_deref(), &self.name)
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.labels.is_empty() && self.annotations.is_empty()
    }

    /// Metadata that is a name alone.
    pub fn named(name: impl Into<String>) -> Self {
        ObjectMeta {
            name: name.into(),
            ..ObjectMeta::default()
        }
    }
}
