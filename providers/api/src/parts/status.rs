//! What an operator says of a service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{condition::Condition, list};

/// The observed service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// What holds of the service; Ready is the sum of the others, but for CapacityAvailable, DeletedRowsPurged, Exposed and
    /// Monitored, and for CephConnected once each pool was reached.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// URL of the API within the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// URL of the API for its users, while it answers: the one outside the cluster where the API is exposed, otherwise the one
    /// within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_endpoint: Option<String>,
    /// OpenStack release that runs, for instance 2025.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// ID of the application credential that all pods run with. An older one is revoked only after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_credential: Option<String>,
    /// The users of its databases in a MariaDB of this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_users: Option<Users>,
    /// The users of its message buses in a RabbitMQ of this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messaging_users: Option<Users>,
}

/// Users of a service, by number. Each rotation creates the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Users {
    /// The numbers of those that exist, the newest last.
    pub numbers: Vec<u32>,
    /// The number that all pods run with. An older user is deleted only after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_use: Option<u32>,
}
