//! The c5c3-operator's composers: a ControlPlane becomes infrastructure, service catalogue and services, in the order of
//! one graph; credentials rotate; Secrets of several services become one.

pub mod aggregate;
pub mod catalogue;
pub mod credentials;
pub mod manifest;
mod recipe;
pub mod rotation;
pub mod services;

pub use recipe::{ControlPlane, Recipe};
