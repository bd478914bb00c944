//! Databases and message buses that run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MaxScale;
use crate::parts::Members;

/// What exists of a control plane's databases and message buses, whatever the spec says by now. What is external isn't part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunningInfrastructure {
    /// Members of MariaDB; none where there is no MariaDB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mariadb: Option<Members>,
    /// MaxScale before them, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scale: Option<MaxScale>,
    /// Members of RabbitMQ; none where there is no RabbitMQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rabbitmq: Option<Members>,
}
