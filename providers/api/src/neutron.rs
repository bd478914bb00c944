//! Neutron: networks.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind, SERVICE_COLUMNS},
    parts::{
        ApiComponent, Common, Component, Database, KeystoneAccess, Messaging, NamedRef,
        NamespacedRef, ServiceStatus, is_default,
    },
    pool::PhysicalNetwork,
    rule::{self, Rule},
};

const OFFERED_TYPES: Rule = Rule::new(
    "!has(self.tenantNetworkTypes) || !has(self.typeDrivers) || \
     self.tenantNetworkTypes.all(kind, kind in self.typeDrivers)",
    "tenantNetworkTypes has a type that typeDrivers lacks: add it to typeDrivers, or remove it",
);

const OVN_ONLY: Rule = Rule::new(
    "self.all(driver, driver == 'ovn')",
    "ml2.mechanismDrivers offers ovn only: leave the others out, for instance openvswitch, whose agents this version doesn't \
     deploy",
);

const OVN_ENABLED: Rule = Rule::new(
    "self.enabled",
    "ovn.enabled must be true: OVN is the only mechanism driver that this version offers",
);

pub(crate) const DISJOINT_VLANS: Rule = Rule::new(
    "self.all(one, self.all(other, one.name == other.name || one.bridge != other.bridge || !has(one.vlanRange) || \
     !has(other.vlanRange) || int(one.vlanRange.split('-')[1]) < int(other.vlanRange.split('-')[0]) || \
     int(other.vlanRange.split('-')[1]) < int(one.vlanRange.split('-')[0])))",
    "two physical networks of one bridge have overlapping vlanRanges: give each VLANs of its own, or a bridge of its own",
);

const VLAN_NEEDS_A_RANGE: Rule = Rule::new(
    "!has(self.tenantNetworkTypes) || !('vlan' in self.tenantNetworkTypes) || \
     (has(self.physicalNetworks) && self.physicalNetworks.exists(network, has(network.vlanRange)))",
    "tenantNetworkTypes has vlan, and no physical network has a vlanRange: give one of physicalNetworks a vlanRange, or remove \
     vlan",
);

/// The wanted Neutron.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeutronSpec {
    /// The API.
    #[serde(default)]
    pub api: ApiComponent<3>,
    /// The periodic tasks of Neutron's plugins.
    #[serde(default)]
    pub periodic_workers: Component<1>,
    /// The comparison of Neutron's database with OVN's. One replica works; the others stand by.
    #[serde(default)]
    pub ovn_maintenance_worker: Component<1>,
    /// The RPC server, for agents that are deployed by other means. Without it there is none, since OVN's agents need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc_server: Option<Component<1>>,
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
    /// Kinds of networks, and who creates them.
    #[serde(default)]
    pub ml2: Ml2,
    /// Extensions of the API.
    #[serde(default = "Plugin::all")]
    #[schemars(length(max = 8))]
    pub plugins: Vec<Plugin>,
    /// Names of ports.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dns: Dns,
    /// Availability zones of networks and routers whose users name none. Chassis belong to zones by their cms-options.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 255), regex(pattern = ZONE))
    )]
    pub default_availability_zones: Vec<String>,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// The virtual network that Neutron drives.
///
/// A connection that is given wins over clusterRef. With neither, the OVNCluster of the same namespace is meant.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [OVN_ENABLED]))]
pub struct Ovn {
    /// Whether Neutron drives OVN. It must be true.
    #[educe(Default = true)]
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
    /// Secret with ca.crt, tls.crt and tls.key for connections that begin with ssl. Without it `<clusterRef.name>-client`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_ref: Option<NamedRef>,
}

/// How OVSDB writes where a server listens (<https://docs.openvswitch.org/en/latest/ref/ovsdb.7/#connection-methods>).
const CONNECTION: &str =
    r"^(tcp|ssl):[^\s,]+:[1-9][0-9]{0,4}(,(tcp|ssl):[^\s,]+:[1-9][0-9]{0,4})*$";

/// Kinds of networks, and who creates them, by Neutron's plugin ML2.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [OFFERED_TYPES, VLAN_NEEDS_A_RANGE]))]
pub struct Ml2 {
    /// Kinds of networks that there may be.
    #[educe(Default = vec![NetworkType::Geneve, NetworkType::Vlan, NetworkType::Flat])]
    #[schemars(length(min = 1, max = 8))]
    pub type_drivers: Vec<NetworkType>,
    /// Kinds of networks that projects get, the first that is free.
    #[educe(Default = vec![NetworkType::Geneve])]
    #[schemars(length(max = 8))]
    pub tenant_network_types: Vec<NetworkType>,
    /// Who creates networks, by the driver's name: ovn.
    #[educe(Default = vec!["ovn".to_owned()])]
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 1, max = 64), regex(pattern = DRIVER)),
        extend("x-kubernetes-validations" = [OVN_ONLY])
    )]
    pub mechanism_drivers: Vec<String>,
    /// What networks and ports have beyond the usual, by the driver's name.
    #[educe(Default = vec!["port_security".to_owned()])]
    #[schemars(length(max = 16), inner(length(min = 1, max = 64), regex(pattern = DRIVER)))]
    pub extension_drivers: Vec<String>,
    /// Networks that the nodes are wired to, and the VLANs that this control plane may use on them.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_NETWORKS, DISJOINT_VLANS]))]
    pub physical_networks: Vec<PhysicalNetwork>,
    /// Largest packet of the physical networks, in bytes.
    #[educe(Default = 1500)]
    #[schemars(range(min = 1280, max = 9216))]
    pub mtu: u32,
}

/// An extension of the API, by the name of Neutron's plugin.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Plugin {
    /// Bandwidth limits and DSCP marks.
    Qos,
    /// Ports of a floating IP that lead to ports of servers.
    PortForwarding,
    /// Ports that carry several VLANs into a server.
    Trunk,
}

impl Plugin {
    /// All of them.
    pub fn all() -> Vec<Self> {
        vec![Self::Qos, Self::PortForwarding, Self::Trunk]
    }
}

/// Names of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dns {
    /// The domain of all ports, for instance cloud.example.com. Without it ports have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = DOMAIN))]
    pub domain: Option<String>,
    /// Addresses of the name servers of subnets that name none. Such a subnet has no name server of an IP version that has none here.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 8), inner(length(max = 45), regex(pattern = ADDRESS)))]
    pub servers: Vec<String>,
}

/// A domain, with a dot at its end or without.
const DOMAIN: &str =
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*\.?$";
/// An address, of IPv4 or of IPv6.
const ADDRESS: &str = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)$";
/// An availability zone; Neutron separates them by commas, and in `ovn-cms-options` by colons, where a zone ends at a second equals sign
/// (`get_chassis_availability_zones` of `neutron/common/ovn/utils.py`).
pub(crate) const ZONE: &str = r"^[^\s,:=]+$";
/// What an entry point of Python may be called.
const DRIVER: &str = r"^[a-zA-Z0-9_][-.a-zA-Z0-9_]*$";

/// A kind of network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum NetworkType {
    /// Tunnels, as OVN creates them.
    Geneve,
    /// Tunnels, which OVN creates as those of geneve.
    Vxlan,
    /// A VLAN of a physical network.
    Vlan,
    /// A physical network as a whole.
    Flat,
    /// Within a node.
    Local,
}

impl Kind for NeutronSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Neutron, the network service.";
    const GROUP: &'static str = "neutron.openstack.c5c3.io";
    const KIND: &'static str = "Neutron";
    const PLURAL: &'static str = "neutrons";
    const SHORT_NAME: &'static str = "ntr";
    const COLUMNS: &'static [Column] = SERVICE_COLUMNS;
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for NeutronSpec {}
