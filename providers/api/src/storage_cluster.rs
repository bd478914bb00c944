//! StorageCluster: a pool of storage, a Gardener Shoot on IronCore with a CephCluster in it.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cidr::Ranges,
    kind::{Claim, Column, Kind},
    parts::number,
    pattern::{LABEL_VALUE, label_value},
    pool::{self, Consumer, PoolName, Sharing, SharingMode},
    rule::{self, Rule},
};

/// The wanted pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::ENOUGH_HOSTS, rule::IRONCORE, rule::ONE_CAPACITY, rule::ARBITER, rule::SHARED_BUT_DEDICATED, rule::NODE_ADDRESSES_FOR_WORKERS, rule::POD_BLOCKS_FOR_WORKERS]))]
pub struct StorageClusterSpec {
    /// Gardener's region, for instance eu-de-1.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = LABEL_VALUE),
        extend("x-kubernetes-validations" = [rule::REGION])
    )]
    pub region: String,
    /// The pool's name, the same as the resource's own, for instance st-pool-a.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        extend("x-kubernetes-validations" = [rule::POOL_NAME])
    )]
    pub name: String,
    /// Kubernetes version, for instance 1.35 or 1.35.2. A new cluster without it has the Composition's default. Gardener raises
    /// versions that are no longer supported, and none is lowered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(length(max = 16), regex(pattern = r"^1\.[0-9]{1,3}(\.[0-9]{1,3})?$"))]
    pub kubernetes_version: Option<String>,
    /// Number of storage nodes.
    #[serde(default = "number::<5>")]
    #[schemars(range(min = 1, max = 1000))]
    pub workers: u32,
    /// The bare metal that the nodes come from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ironcore: Option<IronCore>,
    /// Labels of the pool, for instance availability-zone, tier, dedicated and compliance.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = label_value(), "x-kubernetes-validations" = [rule::LABEL_KEYS, rule::ZONE]))]
    pub labels: BTreeMap<String, String>,
    /// The Ceph cluster.
    #[serde(default)]
    pub ceph: Ceph,
    /// Short form of ceph.targetCapacity: give one or the other.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(
        length(max = 16),
        regex(pattern = r"^[1-9][0-9]*(\.[0-9]+)?(Gi|Ti|Pi|G|T|P)$")
    )]
    pub capacity: Option<String>,
    /// The cluster that runs the tie-breaking monitor of a stretched pool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arbiter_cluster: Option<PoolName>,
    /// Who may consume the pool.
    #[serde(default)]
    pub sharing: Sharing,
    /// Addresses of the cluster.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [rule::RANGES, rule::DISJOINT]))]
    pub network: Ranges,
}

impl Kind for StorageClusterSpec {
    type Status = StorageClusterStatus;
    const DESCRIPTION: &'static str =
        "A pool of Ceph storage that OpenStack control planes consume.";
    const GROUP: &'static str = "crossplane.c5c3.io";
    const KIND: &'static str = "StorageCluster";
    const PLURAL: &'static str = "storageclusters";
    const SHORT_NAME: &'static str = "stc";
    const COLUMNS: &'static [Column] = &[
        Column::new("Region", "string", ".spec.region"),
        Column::new("Workers", "integer", ".spec.workers"),
        Column::new("Capacity", "string", ".status.capacity.total"),
        Column::new("Available", "string", ".status.capacity.available"),
        Column::new("Health", "string", ".status.health"),
        Column::new("Phase", "string", ".status.phase"),
        Column::wide("Sharing", "string", ".spec.sharing.mode"),
        Column::wide("Consumers", "string", ".status.consumers[*].name"),
    ];
    const RULES: &'static [Rule] = &[rule::STORAGE_IN_USE];
}

impl Claim for StorageClusterSpec {
    const COMPOSITION: &'static str = "storage-pool";
    const NAME_RULES: &'static [Rule] = &[rule::SAME_NAME, rule::NOT_A_PROVIDER_CONFIG];
}

impl StorageClusterSpec {
    /// The sharing mode: the one given, else Dedicated where the labels say so.
    pub fn sharing_mode(&self) -> SharingMode {
        pool::sharing_mode(&self.sharing, &self.labels)
    }

    /// How many copies Ceph keeps where so many are wanted: a stretched pool always keeps four, two in each zone.
    pub fn copies(&self, wanted: u32) -> u32 {
        match self.arbiter_cluster {
            Some(_) => 4,
            None => wanted,
        }
    }

    /// The capacity aimed for, in either of its two places.
    pub fn target_capacity(&self) -> Option<&str> {
        self.capacity
            .as_deref()
            .or(self.ceph.target_capacity.as_deref())
    }
}

/// Where IronCore takes the nodes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IronCore {
    /// IronCore's machine pool.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub machine_pool: String,
    /// IronCore's machine class.
    #[serde(default = "default_machine_class")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub machine_class: String,
}

/// The machine class of a pool that names none.
pub fn default_machine_class() -> String {
    "baremetal-storage".to_owned()
}

/// The Ceph cluster of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Ceph {
    /// Disks (OSDs) of each node.
    #[educe(Default = 15)]
    #[schemars(range(min = 1, max = 200))]
    pub osd_count: u32,
    /// Kind of the disks. Decided once: data doesn't move to disks of another kind.
    #[educe(Default = DeviceClass::Nvme)]
    #[schemars(extend("x-kubernetes-validations" = [rule::DEVICE_CLASS]))]
    pub device_class: DeviceClass,
    /// Raw capacity aimed for, for instance 500Ti.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        regex(pattern = r"^[1-9][0-9]*(\.[0-9]+)?(Gi|Ti|Pi|G|T|P)$")
    )]
    pub target_capacity: Option<String>,
    /// Copies that the pool has enough nodes for. Each consumer says how many are kept.
    #[educe(Default = 3)]
    #[schemars(range(min = 1, max = 5))]
    pub replication_factor: u8,
    /// Whether the disks are encrypted. Decided once: disks aren't encrypted afterwards.
    #[schemars(extend("x-kubernetes-validations" = [rule::ENCRYPTED]))]
    pub encrypted: bool,
    /// Whether all connections of the Ceph cluster are encrypted: between its daemons and with its clients.
    pub encrypted_in_transit: bool,
}

/// Kind of disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceClass {
    /// Spinning disks.
    Hdd,
    /// Solid state disks on SATA or SAS.
    Ssd,
    /// Solid state disks on PCIe.
    Nvme,
}

/// The observed pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClusterStatus {
    /// How far the pool has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Name of the cluster, of its Gardener Shoot and of the ProviderConfig that reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// What Ceph can store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Ceph's own judgement of its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Addresses of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Ranges>,
    /// Zones that hold data. With more than one, each copy is in a zone of its own, so that one zone may fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub zones: Vec<String>,
    /// The control planes that consume the pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub consumers: Vec<Consumer>,
}

/// How far a storage pool has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Gardener creates its cluster, or Rook its Ceph.
    Provisioning,
    /// It can be consumed.
    Ready,
    /// It can be consumed, and grows.
    Expanding,
    /// Gardener or Rook gave up; the message is in the conditions.
    Failed,
}

/// What Ceph can store, as quantities, for instance 480Ti.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Capacity {
    /// All there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
    /// What is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<String>,
    /// What is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<String>,
}

/// Ceph's own judgement of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Health {
    /// All is well.
    #[serde(rename = "HEALTH_OK")]
    Ok,
    /// Needs attention; data are safe and served.
    #[serde(rename = "HEALTH_WARN")]
    Warn,
    /// Data are at risk or not served.
    #[serde(rename = "HEALTH_ERR")]
    Err,
}
