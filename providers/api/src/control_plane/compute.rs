//! The hypervisor pools that a control plane consumes, and the cells of Nova that their nodes are in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    list,
    parts::{Exposure, PoolAgents, is_default},
    pattern::LABEL,
    rule,
};

/// The hypervisor pools of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [rule::CELLS_OF_POOLS]))]
pub struct Compute {
    /// Names of the pools. Nova's agents run on nodes of these.
    // Twice as many as a claim may name: those that it no longer names are here while they have a share.
    #[schemars(
        length(max = 32),
        inner(length(min = 1, max = 63), regex(pattern = LABEL)),
        extend("x-kubernetes-validations" = [rule::UNIQUE])
    )]
    pub hypervisor_clusters: Vec<String>,
    /// Nova's cells beside cell1, which has the pools that none of these names. `cell` of each pool's HypervisorShare must say the same.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 16),
        transform = list::by_name,
        extend("x-kubernetes-validations" = [rule::ONE_CELL])
    )]
    pub cells: Vec<ComputeCell>,
    /// What the agents of each pool in another cluster run with. Nova's former credentials stay until all of them have the present ones.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_name)]
    pub agents: Vec<PoolAgents>,
}

/// A cell of Nova: a database, a message bus and conductors for the nodes of some hypervisor pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::CELL_NAME, rule::CELL_NOT_OF_A_USER]))]
pub struct ComputeCell {
    /// Name of the cell, for instance cell2.
    #[schemars(length(min = 1, max = 20), regex(pattern = LABEL))]
    pub name: String,
    /// Names of its pools, as in hypervisorClusters.
    #[schemars(
        length(min = 1, max = 32),
        inner(length(min = 1, max = 63), regex(pattern = LABEL)),
        extend("x-kubernetes-validations" = [rule::UNIQUE])
    )]
    pub hypervisor_clusters: Vec<String>,
    /// How browsers reach the consoles of the cell's servers. Without it only from within the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consoles: Option<Exposure>,
}
