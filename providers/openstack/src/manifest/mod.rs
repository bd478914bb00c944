//! Kinds of other operators, with the fields that are composed or read.

pub mod cert_manager;
pub mod gateway;
pub mod mariadb;
pub mod prometheus;
pub mod rabbitmq;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{Resource, ResourceKind};
use serde::{Deserialize, Serialize};

/// The kind of a spec.
pub trait Kind {
    /// The kind.
    const KIND: ResourceKind;
}

/// An object of another operator's kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest<S> {
    /// Labels and annotations.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The spec.
    pub spec: S,
}

impl<S: Kind> Resource for Manifest<S> {
    const KIND: ResourceKind = S::KIND;
}
