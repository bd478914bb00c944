//! The names of kinds, and the kinds of other projects, as far as they are composed or read. Each is checked against its
//! own schema in the lab. No logic, no client.

pub mod ceph;
pub mod cert_manager;
pub mod crossplane;
pub mod external_secrets;
pub mod gardener;
pub mod gateway;
mod kind;
pub mod korc;
pub mod kubernetes;
mod manifest;
pub mod mariadb;
pub mod prometheus;
pub mod provider_kubernetes;
pub mod rabbitmq;
pub mod valkey;

pub use kind::{Resource, ResourceKind, Spec};
pub use manifest::Manifest;
