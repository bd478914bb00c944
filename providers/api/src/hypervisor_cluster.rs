//! HypervisorCluster: a pool of hypervisors, a Gardener Shoot on IronCore bare metal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cidr::{Cidr, Ranges},
    hypervisor::{HostSettings, NodeCounts, SystemReserved, TUNNEL_OF_NETDEV},
    kind::{Claim, Column, Kind},
    parts::{is_default, number},
    pattern::{LABEL_VALUE, label_value},
    pool::{self, Consumer, PoolNetwork, Sharing, SharingMode},
    rule::{self, Rule},
};

/// The wanted pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::MAX_WORKERS, rule::IRONCORE, rule::SHARED_BUT_DEDICATED, rule::RESERVE, rule::NODE_ADDRESSES_FOR_MAX_WORKERS, rule::POD_BLOCKS_FOR_MAX_WORKERS]))]
pub struct HypervisorClusterSpec {
    /// Gardener's region, for instance eu-de-1.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = LABEL_VALUE),
        extend("x-kubernetes-validations" = [rule::REGION])
    )]
    pub region: String,
    /// The pool's name, the same as the resource's own, for instance hv-pool-a.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        extend("x-kubernetes-validations" = [rule::POOL_NAME])
    )]
    pub name: String,
    /// Kubernetes version, for instance 1.35 or 1.35.2. A new cluster without it has the Composition's default. Gardener raises
    /// versions that are no longer supported, and none is lowered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(length(max = 16), regex(pattern = r"^1\.[0-9]{1,3}(\.[0-9]{1,3})?$"))]
    pub kubernetes_version: Option<String>,
    /// Number of hypervisor nodes.
    #[serde(default = "number::<20>")]
    #[schemars(range(min = 1, max = 10000))]
    pub workers: u32,
    /// Number of nodes that the pool may grow to.
    #[serde(default = "number::<100>")]
    #[schemars(range(min = 1, max = 10000))]
    pub max_workers: u32,
    /// The bare metal that the nodes come from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ironcore: Option<IronCore>,
    /// Labels of the pool, for instance availability-zone, tier, dedicated and compliance.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = label_value(), "x-kubernetes-validations" = [rule::LABEL_KEYS, rule::ZONE, rule::LABELS_OF_LEASES]))]
    pub labels: BTreeMap<String, String>,
    /// Who may consume the pool.
    #[serde(default)]
    pub sharing: Sharing,
    /// Addresses of the cluster, and how its nodes are wired.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [rule::RANGES, rule::DISJOINT]))]
    pub network: Network,
    /// How the nodes run servers and forward packets.
    #[serde(skip_serializing_if = "is_default", default)]
    #[schemars(extend("x-kubernetes-validations" = [TUNNEL_OF_NETDEV]))]
    pub agents: HostSettings,
    /// Memory and disk of each node that are reserved for the system and the agents.
    #[serde(skip_serializing_if = "is_default", default)]
    pub system_reserved: SystemReserved,
}

impl Kind for HypervisorClusterSpec {
    type Status = HypervisorClusterStatus;
    const DESCRIPTION: &'static str =
        "A pool of hypervisors that OpenStack control planes consume.";
    const GROUP: &'static str = "crossplane.c5c3.io";
    const KIND: &'static str = "HypervisorCluster";
    const PLURAL: &'static str = "hypervisorclusters";
    const SHORT_NAME: &'static str = "hvc";
    const COLUMNS: &'static [Column] = &[
        Column::new("Region", "string", ".spec.region"),
        Column::new("Workers", "integer", ".spec.workers"),
        Column::new("Nodes", "integer", ".status.nodeCount"),
        Column::new("Phase", "string", ".status.phase"),
        Column::wide("Sharing", "string", ".spec.sharing.mode"),
        Column::wide("Consumers", "string", ".status.consumers[*].name"),
    ];
    const RULES: &'static [Rule] = &[rule::HYPERVISORS_IN_USE];
}

impl Claim for HypervisorClusterSpec {
    const COMPOSITION: &'static str = "hypervisor-pool";
    const NAME_RULES: &'static [Rule] = &[rule::SAME_NAME, rule::NOT_A_PROVIDER_CONFIG];
}

impl HypervisorClusterSpec {
    /// The sharing mode: the one given, else Dedicated where the labels say so.
    pub fn sharing_mode(&self) -> SharingMode {
        pool::sharing_mode(&self.sharing, &self.labels)
    }
}

/// Where IronCore takes the nodes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IronCore {
    /// IronCore's machine pool.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub machine_pool: String,
    /// IronCore's machine class.
    #[serde(default = "default_machine_class")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub machine_class: String,
}

/// The machine class of a pool that names none.
pub fn default_machine_class() -> String {
    "baremetal-kvm".to_owned()
}

/// Addresses of a pool, and how its nodes are wired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Network {
    /// Range of the nodes' addresses, for instance 10.180.0.0/20. No other cluster that a control plane uses may have them. Without it the Composition's
    /// default for this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Cidr>,
    /// Range of the pods' addresses, for instance 100.64.0.0/12. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Cidr>,
    /// Range of the services' addresses, for instance 100.104.0.0/13. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Cidr>,
    /// Physical networks that each node reaches.
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_NETWORKS, rule::ONE_UPLINK]))]
    pub physical_networks: Vec<PoolNetwork>,
}

impl Network {
    /// The addresses.
    pub fn ranges(&self) -> Ranges {
        Ranges {
            nodes: self.nodes,
            pods: self.pods,
            services: self.services,
        }
    }
}

/// The observed pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorClusterStatus {
    /// How far the pool has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Name of the cluster, of its Gardener Shoot and of the ProviderConfig that reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Number of nodes that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
    /// Addresses of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Ranges>,
    /// Nodes by what may be done with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
    /// What is left for new servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_capacity: Option<AvailableCapacity>,
    /// The control planes that consume the pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub consumers: Vec<Consumer>,
}

/// How far a hypervisor pool has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Gardener creates it.
    Provisioning,
    /// It can be consumed.
    Ready,
    /// It can be consumed, and its number of nodes changes.
    Scaling,
    /// Gardener gave up; its message is in the conditions.
    Failed,
}

/// What a hypervisor pool has left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AvailableCapacity {
    /// Virtual CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<u64>,
    /// Memory in gigabytes.
    #[serde(rename = "memoryGB", skip_serializing_if = "Option::is_none")]
    pub memory_gb: Option<u64>,
}
