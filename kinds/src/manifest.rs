//! Objects of other projects' kinds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::{Resource, ResourceKind, Spec};

/// An object of another project's kind, by its spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest<S> {
    /// Labels and annotations, which are written and not read: whoever reads an object reads its metadata by another type.
    #[serde(skip_deserializing)]
    pub metadata: ObjectMeta,
    /// The spec.
    pub spec: S,
}

impl<S> Manifest<S> {
    /// An object with no other metadata than its operator writes.
    pub fn of(spec: S) -> Self {
        Self {
            metadata: ObjectMeta::default(),
            spec,
        }
    }
}

impl<S: Spec> Resource for Manifest<S> {
    const KIND: ResourceKind = S::KIND;
}
