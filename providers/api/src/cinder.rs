//! Cinder: volumes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{
        ApiComponent, Bucket, Common, Component, Database, DeletedRows, KeystoneAccess, Messaging,
        Rbd, ServiceStatus, is_default,
    },
    pattern::LABEL,
    rule::Rule,
};

/// Cinder's driver for Ceph, as Python names it.
const RBD_DRIVER: &str = "cinder.volume.drivers.rbd.RBDDriver";

const RBD_ONLY: Rule = Rule::new(
    "self.driver == 'cinder.volume.drivers.rbd.RBDDriver'",
    "this version offers volumes in Ceph only: leave driver out; other drivers need privileges that Cinder's pods don't have",
);

const ONE_PLACE: Rule = Rule::new(
    "has(self.rbd) != has(self.s3)",
    "backups are in one place: give backup.rbd or backup.s3",
);

const SNAPSHOTS_IN_CEPH: Rule = Rule::new(
    "!has(self.snapshots) || !has(self.s3)",
    "backups in a bucket leave no snapshots: remove snapshots, or give backup.rbd instead of backup.s3",
);

/// The wanted Cinder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CinderSpec {
    /// The API.
    pub api: ApiComponent<2>,
    /// What chooses a backend for each volume.
    pub scheduler: Component<2>,
    /// What works on the volumes, for each backend.
    pub volume: Component<1>,
    /// Backups of volumes. Without it, none can be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<VolumeBackup>,
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
    /// Volumes that each backend keeps as copies of images, so that it needn't fetch an image again. Without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_volume_cache: Option<ImageVolumeCache>,
    /// The volume type of volumes that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub default_volume_type: Option<String>,
    /// What becomes of rows that Cinder has marked as deleted.
    #[serde(skip_serializing_if = "is_default")]
    pub deleted_rows: DeletedRows,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// Where volumes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [RBD_ONLY]))]
pub struct Backend {
    /// Name of the backend, of its section in cinder.conf and of its volume type.
    #[schemars(length(min = 1, max = 40), regex(pattern = LABEL))]
    pub name: String,
    /// Cinder's driver, as Python names it: that for Ceph.
    #[serde(default = "default_driver")]
    #[schemars(length(max = 255))]
    pub driver: String,
    /// The pool in Ceph.
    pub rbd: Rbd,
    /// UUID of the secret under which libvirt on hypervisors finds the key of Ceph's user. Without it, one that is derived from the
    /// names of namespace, resource and backend. Servers that have a volume keep the one that they began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(equal = 36),
        regex(pattern = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
    )]
    pub secret_uuid: Option<String>,
    /// Options of the backend's section in cinder.conf, for what no field here says.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 256,
        "additionalProperties" = { "type": "string", "maxLength": 4096 }
    ))]
    pub options: BTreeMap<String, String>,
}

fn default_driver() -> String {
    RBD_DRIVER.to_owned()
}

/// What creates backups of volumes, and where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_PLACE, SNAPSHOTS_IN_CEPH]))]
pub struct VolumeBackup {
    /// What copies volumes.
    #[serde(flatten)]
    pub component: Component<1>,
    /// A pool in Ceph, best one of another cluster than the volumes'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbd: Option<Rbd>,
    /// A bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<Bucket>,
    /// How many snapshots backups to Ceph leave of each volume, in the volume's pool. An incremental backup needs that of the backup before
    /// it, and is a full one without. By default all are left until the volume is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub snapshots: Option<u16>,
}

/// Volumes that a backend keeps as copies of images. They belong to a project of the service's own, whose quota they count for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageVolumeCache {
    /// Gigabytes of each backend; the volume that wasn't used longest is deleted first.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_size_gb: u32,
    /// Volumes of each backend. Without it, any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_count: Option<u32>,
    /// ID of the project in Keystone.
    #[schemars(length(min = 1, max = 64), regex(pattern = ID))]
    pub project_id: String,
    /// ID of a user in Keystone, for instance Cinder's own.
    #[schemars(length(min = 1, max = 64), regex(pattern = ID))]
    pub user_id: String,
}

/// What Keystone's IDs are made of.
const ID: &str = r"^[-0-9a-zA-Z]+$";

impl Kind for CinderSpec {
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

impl CustomResource for CinderSpec {}

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
    /// UUID of the secret under which libvirt finds the key of Ceph's user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_uuid: Option<String>,
    /// What is free, in gigabytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_capacity_gb: Option<u64>,
}
