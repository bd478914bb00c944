//! Databases and message buses that run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MaxScale;
use crate::parts::{Members, Size, Storage};

/// What exists of a control plane's databases and message buses, whatever the spec says by now. What is external isn't part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunningInfrastructure {
    /// Members of MariaDB; none where there is no MariaDB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mariadb: Option<RunningMembers>,
    /// MaxScale before them, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scale: Option<MaxScale>,
    /// Members of RabbitMQ; none where there is no RabbitMQ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rabbitmq: Option<RunningMembers>,
}

/// Members of a database or a message bus that exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningMembers {
    /// Number of members.
    pub replicas: u32,
    /// Size of each member's volume.
    pub storage_size: Size,
    /// StorageClass of the volumes. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
}

impl From<Members> for RunningMembers {
    fn from(members: Members) -> Self {
        Self {
            replicas: members.replicas,
            storage_size: members.storage.size,
            storage_class: members.storage.class,
        }
    }
}

impl From<RunningMembers> for Members {
    fn from(running: RunningMembers) -> Self {
        Self {
            replicas: running.replicas,
            storage: Storage {
                size: running.storage_size,
                class: running.storage_class,
            },
        }
    }
}
