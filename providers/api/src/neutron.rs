//! Neutron: networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::Column,
    parts::{
        Common, Component, Database, KeystoneAccess, Messaging, NamespacedRef, ServiceStatus,
        is_default,
    },
    pool::PhysicalNetwork,
    rule::{self, Rule},
};

const OFFERED_TYPES: Rule = Rule::new(
    "!has(self.tenantNetworkTypes) || !has(self.typeDrivers) || \
     self.tenantNetworkTypes.all(kind, kind in self.typeDrivers)",
    "tenantNetworkTypes has a type that typeDrivers lacks: add it to typeDrivers, or remove it",
);

const OVN_HAS_ITS_DRIVER: Rule = Rule::new(
    "!self.ovn.enabled || 'ovn' in self.ml2.mechanismDrivers",
    "ovn is enabled without its driver: add ovn to ml2.mechanismDrivers, or switch ovn off",
);

/// The wanted Neutron.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [OVN_HAS_ITS_DRIVER]))]
pub struct NeutronSpec {
    /// The API.
    #[serde(default)]
    pub api: Component<3>,
    /// Where Neutron keeps its data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// Where Neutron's parts talk to each other.
    #[serde(default, skip_serializing_if = "is_default")]
    pub messaging: Messaging,
    /// How Neutron authenticates to Keystone.
    #[serde(default)]
    pub keystone: KeystoneAccess,
    /// The virtual network that Neutron drives.
    pub ovn: Ovn,
    /// Kinds of networks, and who makes them.
    #[serde(default)]
    pub ml2: Ml2,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// The virtual network that Neutron drives.
///
/// A connection that is given wins over clusterRef. With neither, the OVNCluster of the same namespace is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ovn {
    /// Whether Neutron drives OVN.
    pub enabled: bool,
    /// The OVNCluster, whose status has the connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<NamespacedRef>,
    /// The northbound database, for instance ssl:ovn-nb.openstack:6641; members of a cluster have commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = CONNECTION))]
    pub nb_connection: Option<String>,
    /// The southbound database, for instance ssl:ovn-sb.openstack:6642; members of a cluster have commas between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = CONNECTION))]
    pub sb_connection: Option<String>,
}

/// How OVSDB writes where a server listens (<https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#connection-methods>).
const CONNECTION: &str =
    r"^(tcp|ssl):[^\s,]+:[1-9][0-9]{0,4}(,(tcp|ssl):[^\s,]+:[1-9][0-9]{0,4})*$";

impl Default for Ovn {
    fn default() -> Self {
        Self {
            enabled: true,
            cluster_ref: None,
            nb_connection: None,
            sb_connection: None,
        }
    }
}

/// Kinds of networks, and who makes them, by Neutron's plugin ML2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [OFFERED_TYPES]))]
pub struct Ml2 {
    /// Kinds of networks that there may be.
    #[schemars(length(min = 1, max = 8))]
    pub type_drivers: Vec<NetworkType>,
    /// Kinds of networks that projects get, the first that is free.
    #[schemars(length(max = 8))]
    pub tenant_network_types: Vec<NetworkType>,
    /// Who makes networks, by the driver's name.
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 1, max = 64), regex(pattern = DRIVER))
    )]
    pub mechanism_drivers: Vec<String>,
    /// What networks and ports have beyond the usual, by the driver's name.
    #[schemars(length(max = 16), inner(length(min = 1, max = 64), regex(pattern = DRIVER)))]
    pub extension_drivers: Vec<String>,
    /// Networks that the nodes are wired to, and the VLANs that this control plane may use on them.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_NETWORKS]))]
    pub physical_networks: Vec<PhysicalNetwork>,
    /// Largest packet of the physical networks, in bytes.
    #[schemars(range(min = 1280, max = 9216))]
    pub mtu: u32,
}

/// What an entry point of Python may be called.
const DRIVER: &str = r"^[a-zA-Z0-9_][-.a-zA-Z0-9_]*$";

impl Default for Ml2 {
    fn default() -> Self {
        Self {
            type_drivers: vec![NetworkType::Geneve, NetworkType::Vlan, NetworkType::Flat],
            tenant_network_types: vec![NetworkType::Geneve],
            mechanism_drivers: vec!["ovn".to_owned()],
            extension_drivers: vec!["port_security".to_owned()],
            physical_networks: Vec::new(),
            mtu: 1500,
        }
    }
}

/// A kind of network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum NetworkType {
    /// Tunnels, as OVN makes them.
    Geneve,
    /// Tunnels, where switches are to be reached.
    Vxlan,
    /// A VLAN of a physical network.
    Vlan,
    /// A physical network as a whole.
    Flat,
    /// Within a node.
    Local,
}

impl CustomResource for NeutronSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Neutron, the network service.";
    const GROUP: &'static str = "neutron.openstack.c5c3.io";
    const KIND: &'static str = "Neutron";
    const PLURAL: &'static str = "neutrons";
    const SHORT_NAME: &'static str = "ntr";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Release", "string", ".status.release"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}
