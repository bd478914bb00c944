//! Objects as they are composed.

pub mod kubernetes;

use std::collections::BTreeMap;

use c5c3_kinds::Spec;
use serde::{Deserialize, Serialize};

/// A Kubernetes object with a spec, as it is composed: unlike [`c5c3_kinds::Manifest`], with its kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest<S> {
    pub(crate) api_version: String,
    pub(crate) kind: &'static str,
    /// Name, namespace, labels.
    pub metadata: ObjectMeta,
    pub(crate) spec: S,
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
        Manifest {
            api_version: S::KIND.api_version(),
            kind: S::KIND.kind,
            metadata: ObjectMeta::named(name),
            spec,
        }
    }
}

/// A manifest of any kind.
pub trait KubernetesObject: Serialize {
    /// Its kind.
    fn kind(&self) -> &'static str;
    /// Its metadata.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

impl<S: Serialize> KubernetesObject for Manifest<S> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
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

impl ObjectMeta {
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
