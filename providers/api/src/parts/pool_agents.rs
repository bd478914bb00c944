//! What the agents of a hypervisor pool run with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::LABEL;

/// The agents of a hypervisor pool, as its HypervisorShare reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolAgents {
    /// Name of the pool.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub name: String,
    /// What `status.configuration` of the HypervisorShare says.
    #[schemars(length(min = 1, max = 63))]
    pub configuration: String,
}
