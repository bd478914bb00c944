//! The observed control plane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Connection, RunningInfrastructure};
use crate::{
    condition::Condition,
    list,
    parts::{AgentEndpoint, is_default},
};

/// What the c5c3-operator says of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneStatus {
    /// What holds of the control plane: InfrastructureReady, KeystoneReady, KORCReady, ServicesReady and one for each
    /// service; Ready is the sum of the others, but for CapacityAvailable, CephConnected, CortexReady, Exposed, ImagesReady,
    /// Monitored, RabbitMQUnblocked and TestsPassed.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// How far a change of release has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_phase: Option<UpdatePhase>,
    /// The last release that ran well, and that a failed change returns to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The change of release that goes on, or that failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<ReleaseUpdate>,
    /// The databases and message buses that exist: where their owners can't follow a change of the spec, it differs from this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<RunningInfrastructure>,
    /// The services, by name.
    #[serde(skip_serializing_if = "is_default")]
    pub services: BTreeMap<String, ServiceState>,
    /// URLs of the APIs that answer, by service: the public one where the API is exposed, otherwise the one within the cluster.
    #[serde(skip_serializing_if = "is_default")]
    pub endpoints: BTreeMap<String, String>,
    /// How the tenant's first user connects, once it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// Where hypervisors of other clusters reach the control plane, with `hypervisorAccess`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_name)]
    pub agent_endpoints: Vec<AgentEndpoint>,
    /// What Tempest's last run found, with `tempest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
}

/// What Tempest's last run found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verified {
    /// When it ended, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub time: String,
    /// Tests that passed.
    pub passed: u32,
    /// Tests that failed.
    pub failed: u32,
    /// Tests that were skipped.
    pub skipped: u32,
}

/// A service of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceState {
    /// Whether it serves.
    pub ready: bool,
    /// Version that runs, for instance 32.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it waits for, or what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A change of release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseUpdate {
    /// The release that is changed to.
    pub release: String,
    /// When the present step began, RFC 3339. A step that takes too long fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    /// Why it failed. It isn't tried again until the spec changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Generation of the spec that it failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_generation: Option<i64>,
}

/// Steps of a change of release.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum UpdatePhase {
    /// Nothing changes.
    Idle,
    /// The wanted release is checked.
    Validating,
    /// Databases, message bus and caches change.
    UpdatingInfra,
    /// Keystone changes.
    UpdatingKeystone,
    /// The other services change.
    UpdatingServices,
    /// The new release is checked.
    Verifying,
    /// The change is done.
    Complete,
    /// The last good release comes back.
    RollingBack,
}
