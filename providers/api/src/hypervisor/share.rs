//! HypervisorShare: one control plane's part of a hypervisor pool.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::{CustomResource, Scope},
    kind::{Column, Kind},
    list,
    neutron::ZONE,
    nova::TRAIT,
    parts::{AgentEndpoint, IssuerRef, is_default},
    pattern::LABEL,
    pool::PhysicalNetwork,
    rule::{self, Rule},
};

const SAME_CONTROL_PLANE: Rule = Rule::immutable(
    "controlPlane can't be changed, since its servers run on the leased nodes: create another share for another control plane",
);

const OWN_ISSUER: Rule = Rule::new(
    "!has(self.issuerRef) || !has(self.issuerRef.kind) || self.issuerRef.kind == 'Issuer'",
    "agents.issuerRef must be an Issuer of the agents' namespace, since libvirt trusts all that it signs, and a ClusterIssuer signs for \
     others too: name an Issuer, or set agents.encrypted instead",
);

/// A rule on [`HostSettings`].
pub(crate) const TUNNEL_OF_NETDEV: Rule = Rule::new(
    "!has(self.datapath) || self.datapath != 'netdev' || has(self.tunnelInterface)",
    "with the datapath netdev tunnels can't end at an address of the kernel: set tunnelInterface to an interface with an address of its own",
);

const SAME_CELL: Rule = Rule::new(
    "(has(self.cell) ? self.cell : 'cell1') == (has(oldSelf.cell) ? oldSelf.cell : 'cell1')",
    "cell can't be changed, since Nova can't move the leased nodes to another cell: free the nodes, delete the share, and create it with the other cell",
);

/// One control plane's part of a hypervisor pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::LEAST_BELOW_MOST, SAME_CELL]))]
pub struct HypervisorShareSpec {
    /// The control plane that leases nodes.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = LABEL),
        extend("x-kubernetes-validations" = [SAME_CONTROL_PLANE])
    )]
    pub control_plane: String,
    /// Part of the pool, against the weights of the other shares. With 0 it gets minHosts alone.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub weight: u32,
    /// Nodes that it gets before weights count. It is Ready while as many work, and at least one.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10000))]
    pub min_hosts: u32,
    /// Nodes that it never exceeds. Without it there is no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_hosts: Option<u32>,
    /// Whether it gets no other nodes than those that it has. A claim sets it where it doesn't name the pool any more, or where the
    /// pool doesn't allow its namespace any more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub held: bool,
    /// Availability zone of the nodes in Nova and Neutron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = ZONE))]
    pub availability_zone: Option<String>,
    /// Nova's aggregate of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregate>,
    /// Placement's traits of the nodes, for instance CUSTOM_TIER_PREMIUM.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 255), regex(pattern = TRAIT)))]
    pub traits: Vec<String>,
    /// Namespace of the control plane in this cluster, from which the agents' configuration is copied. Without it
    /// `openstack-<controlPlane>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub namespace: Option<String>,
    /// Nova's cell that the nodes belong to. Without it cell1. Nova can't move a node to another cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20), regex(pattern = LABEL))]
    pub cell: Option<String>,
    /// Identity of the share whose files and servers are on the nodes. A node stores it until it is wiped, and agents of another
    /// identity don't start there. By default the share's UID. For a share that was created again for the same control plane, set
    /// that of the earlier one, which HostsReady names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub identity: Option<String>,
    /// Where the agents reach the control plane, if it is in another cluster. Without it by the names of its Services.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_name)]
    pub endpoints: Vec<AgentEndpoint>,
    /// Settings of the agents on the nodes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agents: Agents,
    /// What Nova has of the nodes that are drained, where a person must say so because Nova can't be read any more. A node is
    /// freed only if its own libvirt has no domain either.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 10000), transform = list::by_name)]
    pub compute_services: Vec<ComputeService>,
}

/// What Nova reports of a node that is drained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComputeService {
    /// Name of the node.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The drain that the report is of: `since` of the node in the share's status. Reports of an earlier drain don't count.
    #[schemars(length(min = 1, max = 63))]
    pub since: String,
    /// Whether Nova still has the compute service.
    pub state: ComputeState,
    /// Servers on the node, with those that migrate from or to it and those whose resize or migration isn't confirmed.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub instances: u32,
}

/// Whether Nova still has the compute service of a node that is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ComputeState {
    /// It is disabled, so that Nova schedules nothing to the node.
    Disabled,
    /// Compute service, resource provider and chassis don't exist any more.
    Removed,
}

impl HypervisorShareSpec {
    /// The namespace of the control plane.
    pub fn control_plane_namespace(&self) -> String {
        match &self.namespace {
            Some(namespace) => namespace.clone(),
            None => format!("openstack-{}", self.control_plane),
        }
    }

    /// Nova's cell that the nodes belong to.
    pub fn cell(&self) -> &str {
        self.cell.as_deref().unwrap_or(super::FIRST_CELL)
    }
}

/// Settings of the agents on the nodes of a share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [TUNNEL_OF_NETDEV, OWN_ISSUER]))]
pub struct Agents {
    /// What the nodes of the pool are.
    #[serde(flatten)]
    pub hosts: HostSettings,
    /// Whether traffic between virtual and physical networks may pass through the nodes. It passes only through nodes whose bridge to
    /// the physical network has an uplink.
    #[serde(skip_serializing_if = "is_default")]
    pub gateway: bool,
    /// Issuer of the certificates of live migration, in the namespace of the agents, instead of an authority of the share's own. With it
    /// connections are encrypted as with encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
}

impl Agents {
    /// Whether servers migrate live, over encrypted connections, and consoles are encrypted and authenticated.
    pub fn is_encrypted(&self) -> bool {
        self.hosts.encrypted || self.issuer_ref.is_some()
    }
}

/// How the nodes of a pool run servers and forward packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostSettings {
    /// How servers are run: kvm needs /dev/kvm on every node, qemu emulates a processor and is slow.
    #[serde(skip_serializing_if = "is_default")]
    pub virtualization: Virtualization,
    /// Where Open vSwitch forwards packets.
    #[serde(skip_serializing_if = "is_default")]
    pub datapath: Datapath,
    /// Network interface of every node whose address is the end of tunnels. Without it the node's internal address is. With
    /// the datapath netdev it is required, and becomes a port of the bridge br-tunnel, which takes over its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    pub tunnel_interface: Option<String>,
    /// Whether servers migrate live, with certificates of an authority that cert-manager keeps for each share alone. Consoles are then
    /// encrypted and authenticated too, by certificates of the control plane. Otherwise they are neither in the nodes' network, and live
    /// migration is off.
    #[serde(skip_serializing_if = "is_default")]
    pub encrypted: bool,
}

/// How servers are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Virtualization {
    /// By the processor.
    #[default]
    Kvm,
    /// By emulation.
    Qemu,
}

/// Where Open vSwitch forwards packets (<https://docs.openvswitch.org/en/latest/ref/ovs-vswitchd.conf.db.5/>, datapath_type).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Datapath {
    /// In the kernel, whose module openvswitch every node needs.
    #[default]
    System,
    /// In a process, for kernels without that module.
    Netdev,
}

/// A host aggregate of Nova.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// Name of the aggregate.
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
    /// Metadata of the aggregate, which flavors refer to.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 64,
        "additionalProperties" = { "type": "string", "maxLength": 255 }
    ))]
    pub metadata: BTreeMap<String, String>,
}

impl Kind for HypervisorShareSpec {
    type Status = HypervisorShareStatus;
    const DESCRIPTION: &'static str = "One control plane's part of this hypervisor cluster.";
    const GROUP: &'static str = "hypervisor.c5c3.io";
    const KIND: &'static str = "HypervisorShare";
    const PLURAL: &'static str = "hypervisorshares";
    const SHORT_NAME: &'static str = "hvs";
    // The agents' namespace is named after the share.
    const MAX_NAME_LENGTH: u8 = 56;
    const COLUMNS: &'static [Column] = &[
        Column::new("Control plane", "string", ".spec.controlPlane"),
        Column::new("Weight", "integer", ".spec.weight"),
        Column::new("Hosts", "integer", ".status.hostCount"),
        Column::wide("Draining", "integer", ".status.draining"),
        Column::wide("Pending", "integer", ".status.pending"),
        Column::wide("Zone", "string", ".spec.availabilityZone"),
    ];
}

impl CustomResource for HypervisorShareSpec {
    const SCOPE: Scope = Scope::Cluster;
}

/// What the hypervisor-pool operator says of a share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorShareStatus {
    /// At most 1,000 of the leased nodes, first those that are drained.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 10000), transform = list::by_name)]
    pub hosts: Vec<ShareHost>,
    /// Number of the leased nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_count: Option<u32>,
    /// Number of those nodes that are drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draining: Option<u32>,
    /// Nodes that are due and not free yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
    /// Whether enough nodes for Ready worked when Nova last answered.
    #[serde(skip_serializing_if = "is_default")]
    pub hosts_worked: bool,
    /// Whether nodes have the SSH key of their cell, by which servers are resized and migrated between them and those of other pools, or
    /// a key of this share alone. None while nodes have no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell_key: Option<bool>,
    /// Stands for the configuration that nova-compute has on all nodes, or Mixed while nodes have different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The `surplusSince` of this share, from the pool's status, for which `hosts` has the servers on leased nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surplus_counted: Option<String>,
    /// At most 1,000 nodes that the share leased until someone deleted their Node or its labels. Nova has something of them still, or
    /// didn't answer since, so that they may have servers of the share.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 1000), inner(length(min = 1, max = 253)))]
    pub lost: Vec<String>,
    /// At most 128 traits that nodes have in Placement or may have: those of the spec, then those of an earlier spec until no node has
    /// them.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 128), inner(length(min = 1, max = 255)))]
    pub traits: Vec<String>,
    /// The part of each physical network that is this control plane's alone.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16))]
    pub physical_networks: Vec<PhysicalNetwork>,
    /// What holds of the share. Ready waits for HostsWorking only while too few nodes work, and not for HostsReady,
    /// ComputeServicesUp, ComputeServicesEnabled and UplinksReady.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
}

impl HypervisorShareStatus {
    /// Whether the share has no nodes and has lost none; false while its operator hasn't reported that.
    pub fn is_empty(&self) -> bool {
        self.host_count == Some(0) && self.lost.is_empty()
    }
}

/// A leased node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShareHost {
    /// Name of the node.
    pub name: String,
    /// How far the node's lease has come.
    pub phase: LeasePhase,
    /// Servers on the node while it is drained, with migrations that haven't ended, as Nova reports them. In the phase Leased the
    /// servers alone, and only while the pool chooses which nodes to drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<u32>,
    /// Whether Nova still has the compute service while the node is drained; none while that isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_service: Option<ComputeState>,
    /// When the node was leased or, in every other phase, when it began to be drained, for instance 20260201T080000Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// How far the lease of a node has come. A node without a lease is free.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum LeasePhase {
    /// Its agents run.
    #[default]
    Leased,
    /// Its compute service is disabled until no server is left on it.
    Draining,
    /// It is empty: its agents stop, and Nova and OVN forget it.
    Releasing,
    /// What its agents left on it is deleted.
    Wiping,
}

impl LeasePhase {
    /// Every phase, in order.
    pub const ALL: [Self; 4] = [Self::Leased, Self::Draining, Self::Releasing, Self::Wiping];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leased => "Leased",
            Self::Draining => "Draining",
            Self::Releasing => "Releasing",
            Self::Wiping => "Wiping",
        }
    }
}
