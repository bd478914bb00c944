//! What a service waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::NAME;

/// A resource of the same namespace that is waited for, until it has a condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Kind of the resource.
    pub kind: DependencyKind,
    /// Name of the resource.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// The condition that must be True.
    #[serde(default = "ready")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z][A-Za-z0-9]*$"))]
    pub condition: String,
}

/// A kind that can be waited for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum DependencyKind {
    /// Identity.
    Keystone,
    /// Images.
    Glance,
    /// Resource inventory.
    Placement,
    /// Compute.
    Nova,
    /// Networks.
    Neutron,
    /// Volumes.
    Cinder,
    /// The scheduler.
    Cortex,
    /// Virtual networks of the nodes.
    #[serde(rename = "OVNCluster")]
    OvnCluster,
}

fn ready() -> String {
    "Ready".to_owned()
}
