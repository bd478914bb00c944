//! Foreign kinds, as far as they are composed or read. Each is checked against its own schema in the lab.

pub mod external_secrets;
pub mod korc;
pub mod mariadb;
pub mod rabbitmq;
pub mod valkey;

use provider_composer::{Resource, ResourceKind};
use serde::Serialize;

/// A foreign object, by its spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest<S> {
    /// What is wanted.
    pub spec: S,
}

/// The spec of a foreign kind.
pub trait Spec {
    /// The kind.
    const KIND: ResourceKind;
}

impl<S: Spec> Resource for Manifest<S> {
    const KIND: ResourceKind = S::KIND;
}
