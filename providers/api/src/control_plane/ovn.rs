//! OVN of a control plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ovn_cluster::{Northd, ODD_RAFT, OvnBackup, OvnRelay, OvnTimers},
    parts::{Resources, Volume, is_default},
};

/// OVN of a control plane, which runs with Neutron. What isn't given is as in an OVNCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnInfrastructure {
    /// The northbound database: desired networks, switches and routers.
    pub northbound: OvnMembers,
    /// The southbound database: nodes, and where each port is.
    pub southbound: OvnMembers,
    /// When members of a database and their clients give each other up.
    pub timers: OvnTimers,
    /// ovn-northd, which translates the northbound database into the southbound one.
    pub northd: Northd,
    /// Read-only copies of the southbound database, to which nodes connect instead of its members.
    pub relay: OvnRelay,
    /// Backups of both databases. Without it there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<OvnBackup>,
}

/// A database of OVN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OvnMembers {
    /// Members, an odd number. Without it as many as of MariaDB, three at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9), extend("x-kubernetes-validations" = [ODD_RAFT]))]
    pub replicas: Option<u32>,
    /// Volume of each member. Members that exist keep theirs.
    pub storage: Volume<10>,
    /// CPU and memory of each member.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}
