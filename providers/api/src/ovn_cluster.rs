//! OVNCluster: the databases of a virtual network, and the daemons on its nodes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::Column,
    list,
    parts::{Image, Resources, Tls, Topology, Volume, is_default, reference::LABEL},
    rule::Rule,
};

const ODD_RAFT: Rule = Rule::new(
    "self % 2 == 1",
    "an even number of OVN database members has no majority when it is split: make replicas odd, for instance 3",
);

/// The wanted virtual network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OvnClusterSpec {
    /// Image of OVN. Without it the one that the operator knows.
    #[serde(skip_serializing_if = "is_default")]
    pub ovn_image: Image,
    /// Image of Open vSwitch. Without it the one that the operator knows.
    #[serde(skip_serializing_if = "is_default")]
    pub ovs_image: Image,
    /// The database of what is wanted: networks, switches, routers.
    pub northbound: OvnDatabase,
    /// The database of what is: nodes, and which port is where.
    pub southbound: OvnDatabase,
    /// What carries out on each node what the southbound database says.
    pub controller: NodeDaemon,
    /// The switch on each node.
    pub ovs: NodeDaemon,
    /// Where Neutron finds the databases.
    pub neutron_integration: NeutronIntegration,
    /// Encryption between all of them.
    pub tls: Tls,
    /// Where the databases run.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
}

/// A database of OVN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnDatabase {
    /// Members, an odd number.
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-validations" = [ODD_RAFT]))]
    pub replicas: u32,
    /// Volume of each member.
    pub storage: Volume<10>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

impl Default for OvnDatabase {
    fn default() -> Self {
        Self {
            replicas: 3,
            storage: Volume::default(),
            resources: Resources::default(),
        }
    }
}

/// A daemon that runs on every node of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeDaemon {
    /// Labels of the nodes that it runs on.
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = crate::pool::label_value()))]
    pub node_selector: BTreeMap<String, String>,
    /// CPU and memory on each node.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

impl Default for NodeDaemon {
    fn default() -> Self {
        let role = "node-role.kubernetes.io/hypervisor".to_owned();
        Self {
            node_selector: BTreeMap::from([(role, String::new())]),
            resources: Resources::default(),
        }
    }
}

/// Where Neutron finds the databases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NeutronIntegration {
    /// The northbound database.
    pub nb_connection: OvnConnection,
    /// The southbound database.
    pub sb_connection: OvnConnection,
}

impl Default for NeutronIntegration {
    fn default() -> Self {
        let connection = |name: &str, port| OvnConnection {
            service: OvnService {
                name: name.to_owned(),
                port,
            },
        };
        Self {
            nb_connection: connection("ovn-nb", 6641),
            sb_connection: connection("ovn-sb", 6642),
        }
    }
}

/// Where a database of OVN is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OvnConnection {
    /// The Service before its members.
    pub service: OvnService,
}

/// A Service, and its port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OvnService {
    /// Name of the Service, in the same namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub name: String,
    /// Port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
}

impl CustomResource for OvnClusterSpec {
    type Status = OvnClusterStatus;
    const DESCRIPTION: &'static str =
        "OVN: the databases of a virtual network, and the daemons on its nodes.";
    const GROUP: &'static str = "ovn.c5c3.io";
    const KIND: &'static str = "OVNCluster";
    const PLURAL: &'static str = "ovnclusters";
    const SHORT_NAME: &'static str = "ovn";
    const COLUMNS: &'static [Column] = &[
        Column::new("Northbound", "string", ".status.endpoints.northbound"),
        Column::new("Chassis", "integer", ".status.chassisCount"),
        Column::wide("Southbound", "string", ".status.endpoints.southbound"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}

/// The observed virtual network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OvnClusterStatus {
    /// What holds of the virtual network: NorthboundReady, SouthboundReady and ControllersReady; Ready is the sum of the
    /// others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// Where the databases listen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<OvnEndpoints>,
    /// Nodes that have registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chassis_count: Option<u32>,
    /// Nodes whose controller runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_controllers: Option<u32>,
}

/// Where the databases listen, as OVSDB writes it, for instance ssl:ovn-nb.openstack.svc.cluster.local:6641.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnEndpoints {
    /// The northbound database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub northbound: Option<String>,
    /// The southbound database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub southbound: Option<String>,
}
