//! Cinder: volumes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::Column,
    list,
    parts::{
        Common, Component, Database, KeystoneAccess, Messaging, Rbd, ServiceStatus, is_default,
    },
    rule::Rule,
};

const RBD_IS_DESCRIBED: Rule = Rule::new(
    "self.driver != 'cinder.volume.drivers.rbd.RBDDriver' || has(self.rbd)",
    "a backend in Ceph lacks rbd: give rbd.pool and rbd.cephSecretRef, or another driver",
);

/// The wanted Cinder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CinderSpec {
    /// The API.
    pub api: Component<2>,
    /// What chooses a backend for each volume.
    pub scheduler: Component<2>,
    /// What works on the volumes, for each backend.
    pub volume: Component<1>,
    /// Where Cinder keeps what it knows of volumes.
    #[serde(skip_serializing_if = "is_default")]
    pub database: Database,
    /// Where Cinder's parts talk to each other.
    #[serde(skip_serializing_if = "is_default")]
    pub messaging: Messaging,
    /// How Cinder authenticates to Keystone.
    pub keystone: KeystoneAccess,
    /// Where the volumes themselves are. Each backend is a volume type too.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_name)]
    pub backends: Vec<Backend>,
    /// The volume type of volumes that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub default_volume_type: Option<String>,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// Where volumes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [RBD_IS_DESCRIBED]))]
pub struct Backend {
    /// Name of the backend, of its section in cinder.conf and of its volume type.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$")
    )]
    pub name: String,
    /// Cinder's driver, as Python names it.
    #[serde(default = "default_driver")]
    #[schemars(
        length(min = 1, max = 255),
        regex(pattern = r"^[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)+$")
    )]
    pub driver: String,
    /// The pool in Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbd: Option<Rbd>,
    /// Options of the backend's section in cinder.conf, for what no field here says.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 256,
        "additionalProperties" = { "type": "string", "maxLength": 4096 }
    ))]
    pub options: BTreeMap<String, String>,
}

fn default_driver() -> String {
    "cinder.volume.drivers.rbd.RBDDriver".to_owned()
}

impl CustomResource for CinderSpec {
    type Status = CinderStatus;
    const DESCRIPTION: &'static str = "Cinder, the volume service.";
    const GROUP: &'static str = "cinder.openstack.c5c3.io";
    const KIND: &'static str = "Cinder";
    const PLURAL: &'static str = "cinders";
    const SHORT_NAME: &'static str = "cnd";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Release", "string", ".status.release"),
        Column::wide("Backends", "string", ".status.backends[*].name"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}

/// The observed Cinder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CinderStatus {
    /// What is observed of every service.
    #[serde(flatten)]
    pub service: ServiceStatus,
    /// The backends.
    #[serde(skip_serializing_if = "is_default")]
    pub backends: Vec<BackendStatus>,
}

/// The observed backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendStatus {
    /// Name of the backend.
    pub name: String,
    /// Ready, or why it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What is free, in gigabytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_capacity_gb: Option<u64>,
}
