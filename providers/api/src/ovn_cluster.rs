//! OVNCluster: the databases of a virtual network, and the daemons on its nodes.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    ovn_chassis::BridgeMapping,
    parts::{Image, OperatorNamespaces, Resources, Schedule, Tls, Topology, Volume, is_default},
    pattern::{LABEL, label_value},
    rule::Rule,
};

/// The condition, of an OVNCluster and of its ControlPlane, that says whether the issuer of certificates signs for this OVNCluster alone. It
/// is only set while it isn't True.
pub const ISSUER_EXCLUSIVE: &str = "IssuerExclusive";

pub(crate) const ODD_RAFT: Rule = Rule::new(
    "self % 2 == 1",
    "an even number of OVN database members has no majority when it is split: make replicas odd, for instance 3",
);

const SAME_STORAGE: Rule = Rule::new(
    "!has(self.storage) || !has(oldSelf.storage) || self.storage == oldSelf.storage",
    "storage can't be changed, since a StatefulSet creates volumes once: resize the PersistentVolumeClaims, or restore a \
     backup into a new OVNCluster",
);

const SAME_PROTOCOL: Rule = Rule::new(
    "!has(self.tls) || !has(oldSelf.tls) || self.tls.enabled == oldSelf.tls.enabled",
    "tls.enabled can't be changed, since members of a database know each other by addresses that contain the protocol: \
     back up the databases, create the OVNCluster anew and restore them",
);

const TWO_SERVICES: Rule = Rule::new(
    "!has(self.neutronIntegration) || \
     self.neutronIntegration.nbConnection.service.name != self.neutronIntegration.sbConnection.service.name",
    "both databases have one Service, and one would replace the other: give nbConnection and sbConnection Services of different names",
);

/// The wanted virtual network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [SAME_PROTOCOL, TWO_SERVICES]))]
pub struct OvnClusterSpec {
    /// Image of OVN. Without it the one that the operator knows.
    #[serde(skip_serializing_if = "is_default")]
    pub ovn_image: Image,
    /// Has no effect: the platform's HypervisorPool names the image of Open vSwitch, which runs on hypervisors only.
    #[serde(skip_serializing_if = "is_default")]
    pub ovs_image: Image,
    /// The northbound database: desired networks, switches and routers.
    pub northbound: OvnDatabase,
    /// The southbound database: nodes, and where each port is.
    pub southbound: OvnDatabase,
    /// When members of a database and their clients give each other up.
    pub timers: OvnTimers,
    /// ovn-northd, which translates the northbound database into the southbound one.
    pub northd: Northd,
    /// Read-only copies of the southbound database, to which nodes connect instead of its members.
    #[serde(skip_serializing_if = "is_default")]
    pub relay: OvnRelay,
    /// Has no effect: HypervisorPool and HypervisorShares have the physical networks and gateways.
    #[serde(skip_serializing_if = "is_default")]
    pub chassis: ChassisTemplate,
    /// Backups of both databases. Without it there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<OvnBackup>,
    /// ovn-controller, which configures Open vSwitch on each node as the southbound database says.
    pub controller: NodeDaemon,
    /// The switch on each node.
    pub ovs: NodeDaemon,
    /// Where Neutron finds the databases.
    pub neutron_integration: NeutronIntegration,
    /// Encryption between all of them. The issuer must sign for this control plane alone, because every certificate of it gives
    /// access to the databases.
    pub tls: Tls,
    /// Namespaces besides the OVNCluster's own whose pods may connect to the northbound database and, without TLS, to the
    /// southbound one: those of ovn-operator, and of a Neutron elsewhere. Without it c5c3-system, infrastructure-operators,
    /// mariadb-system, monitoring and rabbitmq-system.
    #[serde(skip_serializing_if = "is_default")]
    pub operator_namespaces: OperatorNamespaces,
    /// Where the databases run.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
}

/// A database of OVN.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = [SAME_STORAGE]))]
pub struct OvnDatabase {
    /// Members, an odd number.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-validations" = [ODD_RAFT]))]
    pub replicas: u32,
    /// Volume of each member.
    pub storage: Volume<10>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

/// When members of a database and their clients give each other up.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct OvnTimers {
    /// Milliseconds without a word from the leader after which members elect another. A member that is busy for longer
    /// causes an election; one that dies is missed for up to twice as long.
    #[educe(Default = 5000)]
    #[schemars(range(min = 1000, max = 600_000))]
    pub election_milliseconds: u32,
    /// Milliseconds of silence after which members, relays and northd ask whether the other end of a connection is still there;
    /// they give it up after as many more.
    #[educe(Default = 60_000)]
    #[schemars(range(min = 5000, max = 600_000))]
    pub inactivity_probe_milliseconds: u32,
}

/// ovn-northd: one replica is active, the others are standby.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct Northd {
    /// Replicas.
    #[educe(Default = 2)]
    #[schemars(range(min = 1, max = 5))]
    pub replicas: u32,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

/// Read-only copies of the southbound database, for more than some hundred nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnRelay {
    /// Copies; with 0 nodes connect to the members of the database.
    #[schemars(range(min = 0, max = 32))]
    pub replicas: u32,
    /// CPU and memory of each copy.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

/// What is the same on every node of the virtual network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ChassisTemplate {
    /// The bridge to each physical network.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), transform = list::by_physical_network)]
    pub bridge_mappings: Vec<BridgeMapping>,
    /// Labels of the nodes that are gateways. Without it no node is one.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub gateway_node_selector: BTreeMap<String, String>,
}

/// Backups of both databases, on a volume that stays when the OVNCluster is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct OvnBackup {
    /// When backups are written.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Backups that are kept of each database.
    #[educe(Default = 14)]
    #[schemars(range(min = 1, max = 1000))]
    pub keep: u32,
    /// Volume of the backups.
    pub storage: Volume<10>,
}

/// Label of the nodes that OVN's daemons run on.
const HYPERVISOR: &str = "node-role.kubernetes.io/hypervisor";

/// A daemon that runs on every node of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeDaemon {
    /// Labels of the nodes that it runs on.
    #[educe(Default = BTreeMap::from([(HYPERVISOR.to_owned(), String::new())]))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub node_selector: BTreeMap<String, String>,
    /// CPU and memory on each node.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
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

impl Kind for OvnClusterSpec {
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

impl CustomResource for OvnClusterSpec {}

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
    /// The northbound database, as its members were last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub northbound: Option<OvnDatabaseStatus>,
    /// The southbound database, as its members were last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub southbound: Option<OvnDatabaseStatus>,
    /// Nodes that have registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chassis_count: Option<u32>,
    /// Nodes whose controller runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_controllers: Option<u32>,
}

/// A database, as its members were last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnDatabaseStatus {
    /// Pod of the leader; none while there is no leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Its members.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_name)]
    pub members: Vec<OvnMember>,
}

/// A member of a database, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OvnMember {
    /// Its pod.
    pub name: String,
    /// Whether it is connected to a majority of the members.
    pub connected: bool,
    /// Changes that it had still to copy; none where it didn't answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<i64>,
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
