//! As many replicas as are needed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number;

/// More replicas of an API when it has much to do (autoscaling/v2). `replicas` are the least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Autoscaling {
    /// Most replicas.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: u32,
    /// How much of the CPU that replicas request they use on average, in percent: above it there are more of them. They must
    /// request some in `resources`.
    #[serde(default = "number::<70>")]
    #[schemars(range(min = 1, max = 1000))]
    pub target_cpu_utilization: u32,
}
