//! Storage of a control plane.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pool::PoolName, rule};

/// Storage of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// What is created in the Ceph clusters of the storage pools.
    pub ceph: CephStorage,
}

/// What is created in the Ceph clusters of the storage pools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephStorage {
    /// Volumes of Cinder, a pool in every storage cluster.
    pub volume_pool: VolumePool,
    /// Images of Glance, in the first storage cluster.
    pub image_pool: ImagePool,
    /// Ephemeral disks of Nova, in the first storage cluster.
    pub ephemeral_pool: EphemeralPool,
    /// Backups of Cinder's volumes, in one storage cluster.
    pub backup_pool: BackupPool,
    /// Shared file systems of Manila, in the first storage cluster.
    pub filesystem: Filesystem,
    /// Swift and S3, in the first storage cluster.
    pub object_store: ObjectStore,
}

/// Pool of Cinder's volumes.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumePool {
    /// Copies kept of each object.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub replication: u8,
    /// When data are compressed.
    #[educe(Default = Compression::Aggressive)]
    pub compression: Compression,
    /// Most that the pool may hold, in gigabytes, where the site doesn't allow less. 0: as much as the site allows.
    #[serde(rename = "quotaGB")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub quota_gb: u64,
}

/// Pool of Glance's images.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ImagePool {
    /// Copies kept of each object.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub replication: u8,
    /// When data are compressed.
    #[educe(Default = Compression::Aggressive)]
    pub compression: Compression,
}

/// Pool of Nova's ephemeral disks.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct EphemeralPool {
    /// Whether ephemeral disks live in Ceph. Otherwise on the hypervisors.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Copies kept of each object.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub replication: u8,
}

/// Pool of backups of Cinder's volumes.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [rule::BACKUPS_STAY]))]
pub struct BackupPool {
    /// Whether users can back up volumes.
    pub enabled: bool,
    /// The storage pool that has the backups, as storageClusters names it. Without it the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_cluster: Option<PoolName>,
    /// Copies kept of each object.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub replication: u8,
    /// When data are compressed.
    #[educe(Default = Compression::Aggressive)]
    pub compression: Compression,
    /// Most that the pool may hold, in gigabytes, where the site doesn't allow less. 0: as much as the site allows.
    #[serde(rename = "quotaGB")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub quota_gb: u64,
}

/// CephFS for Manila's shares.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Filesystem {
    /// Whether there is a filesystem without Manila too. With services.manila there always is one.
    pub enabled: bool,
    /// Copies kept of file contents.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub data_pool_replication: u8,
    /// Copies kept of names and attributes.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub metadata_pool_replication: u8,
}

/// Object store, served as Swift and S3.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectStore {
    /// Whether there is an object store.
    pub enabled: bool,
    /// Copies kept of each object.
    #[educe(Default = 3)]
    #[schemars(range(min = 2, max = 5))]
    pub data_pool_replication: u8,
}

/// When Ceph compresses data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Never.
    None,
    /// Where the client says that it pays.
    Passive,
    /// Unless the client says that it doesn't pay.
    Aggressive,
    /// Always.
    Force,
}
