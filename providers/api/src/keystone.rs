//! Keystone: identity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::Column,
    parts::{
        Autoscaling, Cache, Common, Database, Resources, Schedule, SecretKeyRef, ServiceStatus,
        Switch, is_default, keystone_access::default_region,
    },
};

/// The wanted Keystone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeystoneSpec {
    /// Replicas of the API.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: u32,
    /// More replicas when there is much to do. Without it as many as `replicas` says, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// CPU and memory of each replica.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// Where Keystone keeps its data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// Where Keystone keeps what it would otherwise ask the database again.
    #[serde(default)]
    pub cache: Cache,
    /// The keys that tokens are encrypted with.
    #[serde(default)]
    pub fernet: Fernet,
    /// Users of other identity providers.
    #[serde(default)]
    pub federation: Switch<false>,
    /// What is made in an empty Keystone.
    pub bootstrap: Bootstrap,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

fn default_replicas() -> u32 {
    3
}

/// The keys that tokens are encrypted with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Fernet {
    /// When keys are rotated, as cron has it. A token may live for maxActiveKeys less two rotations.
    pub rotation_schedule: Schedule,
    /// Most keys that are kept, the staged one among them.
    #[schemars(range(min = 3, max = 100))]
    pub max_active_keys: u32,
}

impl Default for Fernet {
    fn default() -> Self {
        Self {
            rotation_schedule: Schedule::weekly(),
            max_active_keys: 3,
        }
    }
}

/// What is made in an empty Keystone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Name of the first user.
    #[serde(default = "default_admin_user")]
    #[schemars(length(min = 1, max = 255))]
    pub admin_user: String,
    /// The first user's password.
    pub admin_password_secret_ref: SecretKeyRef,
    /// The first region.
    #[serde(default = "default_region")]
    #[schemars(length(min = 1, max = 255))]
    pub region: String,
}

fn default_admin_user() -> String {
    "admin".to_owned()
}

impl CustomResource for KeystoneSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Keystone, the identity service.";
    const GROUP: &'static str = "keystone.openstack.c5c3.io";
    const KIND: &'static str = "Keystone";
    const PLURAL: &'static str = "keystones";
    const SHORT_NAME: &'static str = "kst";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Release", "string", ".status.release"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}
