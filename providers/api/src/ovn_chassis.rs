//! OVNChassis: one node of a virtual network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition, custom_resource::CustomResource, kind::Column, list, parts::is_default,
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
    /// OVN's name of the node, which stays when the node is made anew. Without it the hostname.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub system_id: Option<String>,
    /// The bridge to each physical network.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), transform = list::by_physical_network)]
    pub bridge_mappings: Vec<BridgeMapping>,
    /// How packets travel to other nodes.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// Whether the node is a gateway to physical networks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gateway: bool,
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

impl CustomResource for OvnChassisSpec {
    type Status = OvnChassisStatus;
    const DESCRIPTION: &'static str = "One node of a virtual network.";
    const GROUP: &'static str = "ovn.c5c3.io";
    const KIND: &'static str = "OVNChassis";
    const PLURAL: &'static str = "ovnchassis";
    const SHORT_NAME: &'static str = "chassis";
    const COLUMNS: &'static [Column] = &[
        Column::new("Address", "string", ".spec.encapsulation.ip"),
        Column::new("Heartbeat", "date", ".status.lastHeartbeat"),
        Column::wide("Host", "string", ".spec.hostname"),
    ];
    const MAX_NAME_LENGTH: u8 = 253;
}

/// The observed node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OvnChassisStatus {
    /// What holds of the node, for instance OVSConnected; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// When the node registered, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub registered_at: Option<String>,
    /// When the node was last heard of, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_heartbeat: Option<String>,
}
