//! OVNChassis: one node of a virtual network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::is_default,
    rule::Rule,
};

const ADDRESS: Rule = Rule::new(
    "isIP(self)",
    "encapsulation.ip is not a valid address: write the node's IPv4 or IPv6 address, without a port",
);

/// A node, as OVN needs to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OvnChassisSpec {
    /// Name of the node.
    #[schemars(length(min = 1, max = 253))]
    pub hostname: String,
    /// OVN's name of the node. Without it the one with which the node has registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub system_id: Option<String>,
    /// Has no effect: the HypervisorPool has the physical networks.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), transform = list::by_physical_network)]
    pub bridge_mappings: Vec<BridgeMapping>,
    /// Has no effect: the HypervisorShare names the interface at which tunnels end.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// Has no effect: the HypervisorShare says whether its nodes are gateways.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gateway: bool,
}

impl OvnChassisSpec {
    /// A node, and nothing else said.
    pub fn of(hostname: &str) -> Self {
        Self {
            hostname: hostname.to_owned(),
            system_id: None,
            bridge_mappings: Vec::new(),
            encapsulation: Encapsulation::default(),
            gateway: false,
        }
    }
}

/// The bridge to a physical network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeMapping {
    /// What Neutron calls the network.
    #[schemars(length(min = 1, max = 64))]
    pub physical_network: String,
    /// The Open vSwitch bridge on the node.
    #[schemars(length(min = 1, max = 15))]
    pub bridge: String,
}

/// How packets travel to other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Encapsulation {
    /// Kind of the tunnels.
    #[serde(rename = "type")]
    pub type_: EncapsulationType,
    /// Address of the node that tunnels end at. Without it the node's internal one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 45), extend("x-kubernetes-validations" = [ADDRESS]))]
    pub ip: Option<String>,
}

/// Kind of the tunnels between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EncapsulationType {
    /// Geneve.
    #[default]
    Geneve,
    /// VXLAN, for which OVN knows fewer networks and ports.
    Vxlan,
}

impl Kind for OvnChassisSpec {
    type Status = OvnChassisStatus;
    const DESCRIPTION: &'static str = "One node of a virtual network.";
    const GROUP: &'static str = "ovn.c5c3.io";
    const KIND: &'static str = "OVNChassis";
    const PLURAL: &'static str = "ovnchassis";
    const SHORT_NAME: &'static str = "chassis";
    const COLUMNS: &'static [Column] = &[
        Column::new("Address", "string", ".status.address"),
        Column::new("Heartbeat", "date", ".status.lastHeartbeat"),
        Column::wide("Host", "string", ".spec.hostname"),
    ];
    const MAX_NAME_LENGTH: u8 = 253;
}

impl CustomResource for OvnChassisSpec {}

/// The observed node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OvnChassisStatus {
    /// What holds of the node, for instance OVSConnected; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// OVN's name of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// The address at which the node's tunnels end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The node's part in OVN, for instance `enable-chassis-as-gw,availability-zones=az-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// The node's bridges to physical networks, for instance `physnet1:br-ex`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge_mappings: Option<String>,
    /// When the node registered, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub registered_at: Option<String>,
    /// When the node was last heard of, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_heartbeat: Option<String>,
}
