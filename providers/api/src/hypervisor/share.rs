//! HypervisorShare: one control plane's part of a hypervisor pool.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::{CustomResource, Scope},
    kind::Column,
    list,
    nova::TRAIT,
    parts::{is_default, reference::LABEL},
    pool::PhysicalNetwork,
    rule::Rule,
};

const LEAST_BELOW_MOST: Rule = Rule::new(
    "!has(self.maxHosts) || self.minHosts <= self.maxHosts",
    "minHosts is above maxHosts: lower minHosts or raise maxHosts",
);

const SAME_CONTROL_PLANE: Rule = Rule::immutable(
    "controlPlane can't be changed, since its servers run on the leased nodes: make another share for another control plane",
);

/// One control plane's part of a hypervisor pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [LEAST_BELOW_MOST]))]
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
    /// Nodes that it gets before weights count.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10000))]
    pub min_hosts: u32,
    /// Nodes that it never exceeds. Without it there is no such number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_hosts: Option<u32>,
    /// Nova's availability zone of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[^:]+$"))]
    pub availability_zone: Option<String>,
    /// Nova's aggregate of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregate>,
    /// Placement's traits of the nodes, for instance CUSTOM_TIER_PREMIUM.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 255), regex(pattern = TRAIT)))]
    pub traits: Vec<String>,
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

impl CustomResource for HypervisorShareSpec {
    type Status = HypervisorShareStatus;
    const DESCRIPTION: &'static str = "One control plane's part of this hypervisor cluster.";
    const GROUP: &'static str = "hypervisor.c5c3.io";
    const KIND: &'static str = "HypervisorShare";
    const PLURAL: &'static str = "hypervisorshares";
    const SHORT_NAME: &'static str = "hvs";
    const SCOPE: Scope = Scope::Cluster;
    const COLUMNS: &'static [Column] = &[
        Column::new("Control plane", "string", ".spec.controlPlane"),
        Column::new("Weight", "integer", ".spec.weight"),
        Column::new("Hosts", "integer", ".status.hostCount"),
        Column::wide("Pending", "integer", ".status.pending"),
        Column::wide("Zone", "string", ".spec.availabilityZone"),
    ];
}

/// What the hypervisor-pool operator says of a share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HypervisorShareStatus {
    /// Names of the leased nodes.
    #[serde(skip_serializing_if = "is_default")]
    pub hosts: Vec<String>,
    /// Number of the leased nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_count: Option<u32>,
    /// Nodes that are due and not free yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<u32>,
    /// The part of each physical network that is this control plane's alone.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16))]
    pub physical_networks: Vec<PhysicalNetwork>,
    /// What holds of the share; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
}
