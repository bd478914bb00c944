//! Rook's kinds (ceph.rook.io/v1), as of Rook 1.19.10.

mod cluster;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Spec;
use crate::kind::kinds;

pub use cluster::{
    CephCapacity, CephCluster, CephClusterStatus, CephDisks, CephHealth, CephStorage, CephVersion,
    ClaimMetadata, Connections, DeviceSet, DisruptionManagement, Encryption, Mgr, Mon, MonZone,
    Network, Osds, StretchCluster, VolumeClaim, VolumeClaimTemplate, VolumeRequest,
};

/// Namespace of Rook and its CephCluster in every storage cluster.
pub const NAMESPACE: &str = "rook-ceph";

kinds! { Spec "ceph.rook.io" "v1":
    CephCluster "CephCluster" "cephclusters",
    CephBlockPool "CephBlockPool" "cephblockpools",
    CephClient "CephClient" "cephclients",
    CephFilesystem "CephFilesystem" "cephfilesystems",
    CephObjectStore "CephObjectStore" "cephobjectstores",
    CephObjectStoreUser "CephObjectStoreUser" "cephobjectstoreusers",
}

/// The kinds whose objects contain data.
pub const DATA_KINDS: [&str; 3] = [
    CephBlockPool::KIND.kind,
    CephFilesystem::KIND.kind,
    CephObjectStore::KIND.kind,
];

/// The conditions that are True while Rook doesn't delete an object because of what is in it (rook, pkg/apis/ceph.rook.io/v1/types.go).
pub const BLOCKED: [&str; 2] = ["PoolDeletionIsBlocked", "DeletionIsBlocked"];

/// Spec of a CephBlockPool: an RBD pool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephBlockPool {
    /// Redundancy and placement.
    #[serde(flatten)]
    pub pool: Pool,
    /// Whether Ceph counts reads and writes of each image.
    #[serde(rename = "enableRBDStats")]
    pub enable_rbd_stats: bool,
}

/// Redundancy and placement of a pool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pool {
    /// What may fail without loss: `host`, or `zone` in a stretched cluster.
    pub failure_domain: &'static str,
    /// Kind of the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_class: Option<String>,
    /// Copies.
    pub replicated: Replicated,
    /// Pool parameters, `compression_mode` among them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<&'static str, String>,
    /// Limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Quotas>,
}

/// Copies of each object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replicated {
    /// How many.
    pub size: u32,
    /// Whether Ceph refuses fewer copies than are safe.
    pub require_safe_replica_size: bool,
    /// Copies in each failure domain of a stretched cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas_per_failure_domain: Option<u32>,
    /// What may fail within a failure domain of a stretched cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_failure_domain: Option<&'static str>,
}

/// Limits of a pool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quotas {
    /// Most bytes, as a quantity.
    pub max_size: String,
}

/// Spec of a CephClient: a Ceph user.
#[derive(Clone, Debug, Serialize)]
pub struct CephClient {
    /// Capabilities by daemon: mon, osd, mgr, mds.
    pub caps: BTreeMap<&'static str, String>,
    /// How it authenticates.
    pub security: ClientSecurity,
}

/// How a Ceph user authenticates.
#[derive(Clone, Debug, Serialize)]
pub struct ClientSecurity {
    /// Its key.
    pub cephx: ClientKey,
}

/// The key of a Ceph user.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientKey {
    /// Type of a new key, `aes` or `aes256k`. A key that exists keeps its type.
    pub key_type: &'static str,
}

/// Spec of a CephFilesystem.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephFilesystem {
    /// Pool of the metadata.
    pub metadata_pool: Pool,
    /// Pools of the data.
    pub data_pools: Vec<NamedPool>,
    /// The metadata servers.
    pub metadata_server: MetadataServer,
}

/// A pool with a name of its own.
#[derive(Clone, Debug, Serialize)]
pub struct NamedPool {
    /// Name, appended to the filesystem's.
    pub name: &'static str,
    /// Redundancy and placement.
    #[serde(flatten)]
    pub pool: Pool,
}

/// Metadata servers of a filesystem.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataServer {
    /// Servers at work.
    pub active_count: u32,
    /// Whether each has another that stands by.
    pub active_standby: bool,
    /// Of each pod.
    pub resources: PodResources,
}

/// CPU and memory of a pod, by resource.
#[derive(Clone, Debug, Serialize)]
pub struct PodResources {
    /// What the scheduler sets aside.
    pub requests: BTreeMap<&'static str, &'static str>,
    /// What the pod may not exceed.
    pub limits: BTreeMap<&'static str, &'static str>,
}

/// Spec of a CephObjectStore.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephObjectStore {
    /// Pool of the metadata.
    pub metadata_pool: Pool,
    /// Pool of the data.
    pub data_pool: Pool,
    /// The gateways.
    pub gateway: Gateway,
}

/// Gateways of an object store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// Whether gateways have their nodes' addresses. They don't, since those of several claims share nodes, and a port.
    pub host_network: bool,
    /// Port.
    pub port: u16,
    /// How many.
    pub instances: u32,
    /// Of each pod.
    pub resources: PodResources,
}

/// Spec of a CephObjectStoreUser.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephObjectStoreUser {
    /// Name of the object store.
    pub store: String,
    /// Name shown to people.
    pub display_name: String,
}

/// What is read of the status of pools, clients, filesystems and object stores.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PhaseStatus {
    /// `Ready`, `Progressing`, `Failure`, `Deleting`, ...
    pub phase: String,
    /// Generation of the spec that Rook last reconciled without an error.
    pub observed_generation: Option<i64>,
}
