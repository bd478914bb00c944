//! How large what a service is composed of is.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Composed, Resource, ResourceKind};

/// How large what a service is composed of is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Objects, those included whose values are made once.
    pub objects: usize,
    /// Bytes of the largest Deployment, as JSON.
    pub deployment: usize,
    /// Bytes of the largest Secret, as JSON: the one with its configuration.
    pub secret: usize,
}

impl Size {
    /// The size of what is composed.
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
