//! The cells of Nova that a claim asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pool::PoolName, rule};

/// What a cell may be called: a part of the host name of its consoles, which has no dash.
const NAME: &str = r"^[a-z][a-z0-9]*$";
/// The same in words.
const NAME_FORM: &str = "a letter, then letters and digits, in lower case, for instance cell2";

/// A cell of Nova: a database, a message bus and conductors for the nodes of some hypervisor pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::CELL_NAME]))]
pub struct RequestedCell {
    /// Name of the cell.
    #[schemars(
        length(min = 1, max = 20),
        regex(pattern = NAME),
        extend("title" = NAME_FORM)
    )]
    pub name: String,
    /// The hypervisor pools whose nodes are in the cell, as in hypervisorClusters.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE]))]
    pub hypervisor_clusters: Vec<PoolName>,
}
