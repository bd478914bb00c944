//! The part of a hypervisor pool that a claim asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pool::PoolName, rule};

/// The part of one hypervisor pool. What isn't given follows from the claim's size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::LEAST_BELOW_MOST]))]
pub struct RequestedShare {
    /// The pool, as in hypervisorClusters.
    pub name: PoolName,
    /// Part of the pool, against the weights of other claims. With 0 the claim gets minHosts alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub weight: Option<u32>,
    /// Nodes that the claim gets before weights count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(range(min = 0, max = 10000))]
    pub min_hosts: Option<u32>,
    /// Nodes that the claim never exceeds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(range(min = 1, max = 10000))]
    pub max_hosts: Option<u32>,
}
