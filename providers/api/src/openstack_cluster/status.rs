//! The observed control plane.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control_plane::{Connection, Verified};

/// The observed control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenStackClusterStatus {
    /// How far the control plane has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// URLs of the APIs that answer, by service: the public one where the API is exposed, otherwise the one within the cluster.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, String>,
    /// The Secret in the claim's namespace with which the tenant connects, once it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// What Tempest's last run found, with `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The pools that the control plane consumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumed_pools: Option<ConsumedPools>,
    /// What was created in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceph_resources: Option<CephResources>,
}

/// How far a control plane has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// It waits for a pool, or for leave to consume one; the conditions say which.
    Pending,
    /// Its parts are being created.
    Provisioning,
    /// Its services answer, and Tempest tests them.
    Verifying,
    /// Its services answer, and with `verify` their tests have passed.
    Ready,
    /// It was ready, and a part of it or a pool isn't any more; or its tests failed.
    Degraded,
    /// It can't be created as asked; the conditions say what to change.
    Failed,
}

/// The pools that a control plane consumes, in the order that the claim names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumedPools {
    /// Hypervisor pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hypervisor: Vec<ConsumedHypervisorPool>,
    /// Storage pools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<ConsumedStoragePool>,
}

/// A hypervisor pool as its consumer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumedHypervisorPool {
    /// The pool, as the claim names it.
    pub name: String,
    /// The pool's phase, or why it can't be consumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Nodes of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_count: Option<u32>,
}

/// A storage pool as its consumer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumedStoragePool {
    /// The pool, as the claim names it.
    pub name: String,
    /// The pool's phase, or why it can't be consumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What is free in the pool, a quantity, for instance 120Ti.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_capacity: Option<String>,
}

/// What was created in Ceph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephResources {
    /// Pool of Cinder's volumes; over all storage clusters, the least ready of them and their sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_pool: Option<CephPoolStatus>,
    /// Pool of Glance's images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pool: Option<CephPoolStatus>,
    /// Pool of Nova's ephemeral disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral_pool: Option<CephPoolStatus>,
    /// Pool of backups of Cinder's volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_pool: Option<CephPoolStatus>,
    /// Filesystem of Manila's shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<CephFilesystemStatus>,
    /// The client that volumes are reached with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<CephClientStatus>,
}

/// A Ceph pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephPoolStatus {
    /// Name of the pool in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How far it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceStatus>,
    /// Bytes in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// Bytes left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Bytes that the pool may hold, where it has a quota. Left out above 2^53, which JSON numbers can't hold exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
}

/// A CephFS filesystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephFilesystemStatus {
    /// Name of the filesystem in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How far it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceStatus>,
    /// Active metadata servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mds_active: Option<u32>,
}

/// A Ceph client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephClientStatus {
    /// Name of the client in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the Secret with its key, in the control plane's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<String>,
}

/// How far a resource in Ceph has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceStatus {
    /// Rook creates it.
    Creating,
    /// It serves.
    Ready,
    /// It served, and doesn't any more.
    Degraded,
    /// Rook gave up.
    Failed,
}
