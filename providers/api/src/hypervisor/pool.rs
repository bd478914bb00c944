//! HypervisorPool: how the nodes of one hypervisor cluster are shared.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::{CustomResource, Scope},
    kind::{Column, Kind},
    list,
    parts::{image::REPOSITORY, is_default},
    pool::{PoolNetwork, SharingMode},
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
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_NETWORKS, rule::ONE_UPLINK]))]
    pub physical_networks: Vec<PoolNetwork>,
    /// VLANs of each physical network that a share gets, where it has none yet. Without it a sixteenth of the network's range, or in
    /// a dedicated pool all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4094))]
    pub vlans_per_share: Option<u16>,
    /// Images of the agents on the nodes. An agent is an administrator of its node, so that no resource of a control plane
    /// names its image.
    #[serde(default, skip_serializing_if = "is_default")]
    pub images: AgentImages,
    /// Memory and disk of each node that are reserved for the system and the agents.
    #[serde(default, skip_serializing_if = "is_default")]
    pub system_reserved: SystemReserved,
}

/// Memory and disk of a node that are reserved for the system and the agents.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemReserved {
    /// Memory in MiB for the system, its agents, and the processes of QEMU beyond the memory of their servers.
    #[educe(Default = 4096)]
    #[serde(rename = "memoryMB")]
    #[schemars(range(min = 512, max = 1_048_576))]
    pub memory_mb: u32,
    /// Disk space in MiB, of the file system with servers' disks.
    #[serde(rename = "diskMB")]
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub disk_mb: u32,
}

/// Images of the agents on the nodes, each with its tag or digest. What is left out is the project's image, in `registry`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentImages {
    /// What stands for ghcr.io/openstack-control-planes in the names of the project's images, for instance
    /// registry.example.com/mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = REPOSITORY))]
    pub registry: Option<String>,
    /// libvirt and QEMU.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 400))]
    pub libvirt: Option<String>,
    /// Open vSwitch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 400))]
    pub open_v_switch: Option<String>,
    /// ovn-controller, by the tag of the OVNCluster's image, for instance 25.03.0.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = image()))]
    pub ovn: BTreeMap<String, String>,
    /// neutron-ovn-agent, by OpenStack's release, for instance 2025.2.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = image()))]
    pub neutron: BTreeMap<String, String>,
    /// nova-compute, by OpenStack's release.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = image()))]
    pub nova: BTreeMap<String, String>,
}

fn image() -> serde_json::Value {
    serde_json::json!({ "type": "string", "minLength": 1, "maxLength": 400 })
}

impl Kind for HypervisorPoolSpec {
    type Status = HypervisorPoolStatus;
    const DESCRIPTION: &'static str = "How the nodes of this hypervisor cluster are shared.";
    const GROUP: &'static str = "hypervisor.c5c3.io";
    const KIND: &'static str = "HypervisorPool";
    const PLURAL: &'static str = "hypervisorpools";
    const SHORT_NAME: &'static str = "hvp";
    const COLUMNS: &'static [Column] = &[
        Column::new("Mode", "string", ".spec.mode"),
        Column::new("Nodes", "integer", ".status.nodeCount"),
        Column::new("Free", "integer", ".status.nodes.free"),
        Column::wide("Draining", "integer", ".status.nodes.draining"),
        Column::wide("Free vCPUs", "integer", ".status.freeVcpus"),
        Column::wide("Free GB", "integer", ".status.freeMemoryGB"),
    ];
}

impl CustomResource for HypervisorPoolSpec {
    const SCOPE: Scope = Scope::Cluster;
}

/// What one HypervisorShare has of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolShare {
    /// Name of the HypervisorShare.
    pub name: String,
    /// The control plane that it leases nodes for.
    pub control_plane: String,
    /// Number of leased nodes, without those that are drained and those that haven't been Ready for 15 minutes.
    pub hosts: u32,
    /// Number of nodes that are drained.
    #[serde(default, skip_serializing_if = "is_default")]
    pub draining: u32,
    /// Number of nodes that the share is due, by its weight and limits.
    pub due: u32,
    /// Whether it gets no other nodes than those that it has: because of `held` of the share, or since the pool is dedicated to another.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: bool,
    /// Since when the pool waits for the share to count the servers on its surplus of nodes, for instance 2026-02-01T08:00:00Z. After
    /// an hour the pool chooses which to drain without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus_since: Option<String>,
}

/// Nodes of a pool by what may be done with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCounts {
    /// Nodes that can be leased and aren't, with those of `reserve`.
    pub free: u32,
    /// Nodes that run servers of a control plane.
    pub leased: u32,
    /// Nodes that are drained, released or wiped.
    pub draining: u32,
    /// Nodes that can't be leased: not Ready, cordoned, under maintenance or being deleted.
    pub unavailable: u32,
}

/// The nodes of one group of machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroup {
    /// Name of the group, as Gardener has it in the label `worker.gardener.cloud/pool` of its nodes.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of nodes that have servers or may have some: those with a lease, those of a former version's lease, and those that came
    /// back without the labels of theirs.
    pub in_use: u32,
}

/// What the hypervisor-pool operator says of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorPoolStatus {
    /// Nodes that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Nodes by what may be done with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
    /// The nodes of each group of machines.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 1000), transform = list::by_name)]
    pub groups: Vec<NodeGroup>,
    /// Nodes without a lease that the pool can lose: those that can't be leased, then free ones beyond `reserve`, spread over zones
    /// and racks. At most 50 are named.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 50))]
    pub removable: Vec<String>,
    /// Virtual CPUs of nodes that can be leased and aren't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_vcpus: Option<u64>,
    /// Memory of nodes that can be leased and aren't, in gigabytes.
    #[serde(rename = "freeMemoryGB", skip_serializing_if = "Option::is_none")]
    pub free_memory_gb: Option<u64>,
    /// How the pool is divided.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 1000), transform = list::by_name)]
    pub shares: Vec<PoolShare>,
    /// What holds of the pool; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
}
