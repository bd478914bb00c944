//! Crossplane's Usages.

use serde::{Deserialize, Serialize};

use crate::ResourceKind;

/// A Usage of what cluster-scoped composite resources are composed of. Crossplane 2 serves it still.
pub const USAGE: ResourceKind =
    ResourceKind::cluster_scoped("apiextensions.crossplane.io", "v1beta1", "Usage", "usages");

/// A Usage of what namespaced composite resources are composed of, since Crossplane 2.
pub const NAMESPACED_USAGE: ResourceKind =
    ResourceKind::namespaced("protection.crossplane.io", "v1beta1", "Usage", "usages");

/// Spec of a Usage of either kind: `of` isn't deleted while `by` exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// What is used.
    pub of: UsageRef,
    /// What uses it.
    pub by: UsageRef,
    /// Why, for whoever tries to delete it.
    pub reason: String,
    /// Delete again, once the Usage is gone, what could not be deleted because of it.
    #[serde(default)]
    pub replay_deletion: bool,
}

/// One side of a Usage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRef {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The object.
    pub resource_ref: ResourceRef,
}

/// An object by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceRef {
    /// Name.
    pub name: String,
    /// Namespace, where it isn't the Usage's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
