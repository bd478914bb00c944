//! HypervisorPool: how the nodes of one hypervisor cluster are shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::{CustomResource, Scope},
    kind::Column,
    list,
    parts::is_default,
    pool::{PhysicalNetwork, SharingMode},
    rule,
};

/// How the nodes of one hypervisor cluster are shared. One object in each cluster, named as the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorPoolSpec {
    /// Whether several control planes may lease nodes.
    pub mode: SharingMode,
    /// Nodes kept free of any lease.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10000))]
    pub reserve: u32,
    /// Networks that the nodes are wired to, divided among the shares.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_NETWORKS]))]
    pub physical_networks: Vec<PhysicalNetwork>,
}

impl CustomResource for HypervisorPoolSpec {
    type Status = HypervisorPoolStatus;
    const DESCRIPTION: &'static str = "How the nodes of this hypervisor cluster are shared.";
    const GROUP: &'static str = "hypervisor.c5c3.io";
    const KIND: &'static str = "HypervisorPool";
    const PLURAL: &'static str = "hypervisorpools";
    const SHORT_NAME: &'static str = "hvp";
    const SCOPE: Scope = Scope::Cluster;
    const COLUMNS: &'static [Column] = &[
        Column::new("Mode", "string", ".spec.mode"),
        Column::new("Nodes", "integer", ".status.nodeCount"),
        Column::wide("Free vCPUs", "integer", ".status.freeVcpus"),
        Column::wide("Free GB", "integer", ".status.freeMemoryGB"),
    ];
}

/// What the hypervisor-pool operator says of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorPoolStatus {
    /// Nodes that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Virtual CPUs of nodes without a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_vcpus: Option<u64>,
    /// Memory of nodes without a lease, in gigabytes.
    #[serde(rename = "freeMemoryGB", skip_serializing_if = "Option::is_none")]
    pub free_memory_gb: Option<u64>,
    /// What holds of the pool; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
}
