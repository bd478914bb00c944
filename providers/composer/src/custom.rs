//! This project's resources.

use c5c3_api::CustomResource;
use c5c3_kinds::{Resource, ResourceKind};
use serde::{Deserialize, Serialize};

/// One of this project's resources, by its spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "S: Serialize, S::Status: Serialize",
    deserialize = "S: serde::de::DeserializeOwned, S::Status: serde::de::DeserializeOwned + Default"
))]
pub struct Custom<S: CustomResource> {
    /// What is wanted.
    pub spec: S,
    /// The status. Never composed: only its own operator writes it.
    #[serde(default, skip_serializing)]
    pub status: S::Status,
}

impl<S: CustomResource> Custom<S>
where
    S::Status: Default,
{
    /// A resource that is wanted.
    pub fn wanted(spec: S) -> Self {
        Self {
            spec,
            status: S::Status::default(),
        }
    }
}

impl<S: CustomResource> Resource for Custom<S> {
    const KIND: ResourceKind = ResourceKind::of::<S>();
}
