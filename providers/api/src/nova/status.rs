//! The observed Nova.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parts::{ServiceStatus, is_default};

/// The observed Nova.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NovaStatus {
    /// What is observed of every service.
    #[serde(flatten)]
    pub service: ServiceStatus,
    /// Where the disks of servers are. It is decided when Nova is installed: servers would lose disks that are elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<Disks>,
    /// The cells.
    #[serde(skip_serializing_if = "is_default")]
    pub cells: Vec<CellStatus>,
}

/// Where the disks of servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Disks {
    /// On the hosts.
    Hosts,
    /// In the pool `ephemeral` in Ceph.
    Ceph,
}

/// The observed cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CellStatus {
    /// Name of the cell.
    pub name: String,
    /// Ready, or why it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Hosts that are up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_nodes: Option<u32>,
    /// What Nova's API database was last told of the cell: the Secret that its mapping was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<String>,
}
