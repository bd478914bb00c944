//! Sizes of the objects that a service composes.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Composed, Resource, ResourceKind};

/// Sizes of the objects that a service composes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of objects, including generated Secrets.
    pub objects: usize,
    /// Bytes of the largest Deployment, as JSON.
    pub deployment: usize,
    /// Bytes of the largest Secret, as JSON: the one with its configuration.
    pub secret: usize,
}

impl Size {
    /// Measures the composed objects.
    pub fn of(composed: &Composed) -> Self {
        let largest = |kind: ResourceKind| {
            let objects = composed
                .desired
                .objects
                .iter()
                .filter(|(key, _)| key.kind == kind);
            objects
                .map(|(_, object)| object.to_string().len())
                .max()
                .unwrap_or_default()
        };
        Self {
            objects: composed.desired.objects.len() + composed.desired.generated.len(),
            deployment: largest(Deployment::KIND),
            secret: largest(Secret::KIND),
        }
    }
}
