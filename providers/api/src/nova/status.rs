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
    /// The cells.
    #[serde(skip_serializing_if = "is_default")]
    pub cells: Vec<CellStatus>,
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
}
