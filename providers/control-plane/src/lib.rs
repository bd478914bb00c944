//! The c5c3-operator's composers: a ControlPlane becomes infrastructure, service catalogue and services, in the order of
//! one graph; credentials rotate; Secrets of several services become one.

pub mod aggregate;
pub mod catalogue;
mod composer;
pub mod credentials;
mod deletion;
pub mod graph;
pub mod images;
mod infrastructure;
mod node_state;
mod recipe;
pub mod rollout;
pub mod rotation;
mod services;
mod status;

use provider_composer::Operator;

pub use composer::ControlPlaneComposer;
pub use recipe::{ControlPlane, Recipe};

/// Everything that the c5c3-operator carries.
pub fn operators() -> Vec<Box<dyn Operator>> {
    vec![
        Box::new(ControlPlaneComposer),
        Box::new(rotation::CredentialRotationComposer),
        Box::new(aggregate::SecretAggregateComposer),
    ]
}
