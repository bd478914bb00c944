//! Real API servers, Crossplane and providers on one bare machine.

mod cluster;
mod definitions;
mod eventually;
mod golang;
mod machine;
mod namespace;
mod objects;
mod pki;
mod say;
mod story;
pub mod tools;

pub use anyhow::{Context, Result, bail, ensure};
pub use cluster::{Cluster, Etcd};
pub use eventually::{eventually, throughout};
pub use kube::core::DynamicObject;
pub use machine::{Machine, Program};
pub use objects::{Kind, condition, documents, is, kind};
pub use story::on_a_bare_machine;
