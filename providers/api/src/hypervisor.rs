//! What lives in a hypervisor cluster: the pool's own settings, and one share for each control plane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::{PhysicalNetwork, SharingMode};

/// How the nodes of one hypervisor cluster are shared. One object in each cluster, named as the pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorPoolSpec {
    /// Whether several control planes may lease nodes.
    pub mode: SharingMode,
    /// Nodes kept free of any lease.
    #[serde(default)]
    pub reserve: u32,
    /// Networks the nodes are wired to, divided among the shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub physical_networks: Vec<PhysicalNetwork>,
}

/// What the hypervisor-pool operator says of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorPoolStatus {
    /// Nodes that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Virtual CPUs of nodes without a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_vcpus: Option<u64>,
    /// Memory of nodes without a lease, in GB.
    #[serde(rename = "freeMemoryGB", skip_serializing_if = "Option::is_none")]
    pub free_memory_gb: Option<u64>,
    /// `Ready` is the sum of the others.
    pub conditions: Vec<Condition>,
}

/// One control plane's part of a hypervisor pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorShareSpec {
    /// The control plane that leases nodes.
    pub control_plane: String,
    /// Part of the pool, against the weights of the other shares.
    pub weight: u32,
    /// Nodes it gets before weights count.
    #[serde(default)]
    pub min_hosts: u32,
    /// Nodes it never exceeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hosts: Option<u32>,
    /// Nova's availability zone for these nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Nova's aggregate for these nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregate>,
    /// Placement traits of these nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
}

/// A host aggregate in Nova.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// Name of the aggregate.
    pub name: String,
    /// Metadata of the aggregate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// What the hypervisor-pool operator says of a share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorShareStatus {
    /// Names of the leased nodes.
    pub hosts: Vec<String>,
    /// Nodes that are due but not free yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
    /// `Ready` is the sum of the others.
    pub conditions: Vec<Condition>,
}
