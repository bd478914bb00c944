//! The resource that a composer is called for.

use std::collections::BTreeMap;

use c5c3_api::CustomResource;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::kind::Resource;

/// The resource that a composer is called for.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound(deserialize = "S: DeserializeOwned, S::Status: DeserializeOwned + Default"))]
pub struct Subject<S: CustomResource> {
    /// What it is called, and where it lives.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: S,
    /// What was last said of it.
    #[serde(default)]
    pub status: S::Status,
}

impl<S: CustomResource> Subject<S> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Whether it is being deleted: then only what still has to be there for that is composed.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// The part of an object's metadata that composers look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Namespace; none for an object of the whole cluster.
    pub namespace: Option<String>,
    /// Unique among all objects of all times; none in a plan.
    pub uid: Option<String>,
    /// Counts the changes of the spec.
    pub generation: Option<i64>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// When it was made, RFC 3339.
    pub creation_timestamp: Option<String>,
    /// When somebody asked for its deletion, RFC 3339.
    pub deletion_timestamp: Option<String>,
}

impl<S: CustomResource> Resource for Subject<S> {
    const KIND: crate::ResourceKind = crate::ResourceKind::of::<S>();
}
