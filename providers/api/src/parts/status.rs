//! What an operator says of a service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{condition::Condition, list};

/// The observed service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// What holds of the service; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// URL of the API within the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// OpenStack release that runs, for instance 2025.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// ID of the application credential that all pods run with. An older one is revoked only after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_credential: Option<String>,
}
