//! The CephCluster: its hosts and disks.

use std::collections::BTreeMap;

use c5c3_api::parts::Resources;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Spec of a CephCluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephCluster {
    /// Release of Ceph.
    pub ceph_version: CephVersion,
    /// Where daemons keep state on a host.
    pub data_dir_host_path: &'static str,
    /// The monitors.
    pub mon: Mon,
    /// The managers.
    pub mgr: Mgr,
    /// How daemons and clients reach each other.
    pub network: Network,
    /// Requests and limits by daemon: mon, mgr, osd and so on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Resources>,
    /// How Rook protects daemons while nodes are drained.
    pub disruption_management: DisruptionManagement,
    /// The disks.
    pub storage: CephStorage,
}

/// How daemons and clients of a CephCluster reach each other.
#[derive(Clone, Debug, Serialize)]
pub struct Network {
    /// Always `host`: daemons have the addresses of their nodes, which other clusters reach and which stay.
    pub provider: &'static str,
    /// What connections are like.
    pub connections: Connections,
}

/// What connections to Ceph are like.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connections {
    /// Whether version 2 of the protocol is the only one, on port 3300 of the monitors.
    pub require_msgr2: bool,
    /// Encryption of connections.
    pub encryption: Encryption,
}

/// Encryption of connections.
#[derive(Clone, Debug, Serialize)]
pub struct Encryption {
    /// Whether all data are encrypted in transit.
    pub enabled: bool,
}

/// How Rook protects daemons while nodes are drained.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisruptionManagement {
    /// Whether Rook lets one failure domain be drained at a time, and the next when all data are whole again.
    pub manage_pod_budgets: bool,
}

/// Release of Ceph.
#[derive(Clone, Debug, Serialize)]
pub struct CephVersion {
    /// Container image.
    pub image: String,
}

/// Monitors.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mon {
    /// How many.
    pub count: u32,
    /// Whether two may share a host.
    pub allow_multiple_per_node: bool,
    /// Node label that names the zone, where monitors are spread over zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain_label: Option<&'static str>,
    /// Zones to spread monitors over, three at least.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<MonZone>,
    /// Two zones and an arbiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_cluster: Option<StretchCluster>,
}

/// A cluster over two zones, with a third that only votes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StretchCluster {
    /// Node label that names the zone.
    pub failure_domain_label: &'static str,
    /// What may fail within a zone.
    pub sub_failure_domain: &'static str,
    /// The zones.
    pub zones: Vec<MonZone>,
}

/// A zone of a stretched cluster.
#[derive(Clone, Debug, Serialize)]
pub struct MonZone {
    /// Name.
    pub name: String,
    /// Whether it only votes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub arbiter: bool,
}

/// Managers.
#[derive(Clone, Debug, Serialize)]
pub struct Mgr {
    /// How many.
    pub count: u32,
}

/// Disks of a CephCluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CephStorage {
    /// Sets of equal disks.
    pub storage_class_device_sets: Vec<DeviceSet>,
}

/// Equal disks, an OSD on each.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceSet {
    /// Name.
    pub name: String,
    /// How many OSDs.
    pub count: u32,
    /// Whether an OSD may move to another host; local disks don't.
    pub portable: bool,
    /// Whether the disks are encrypted.
    pub encrypted: bool,
    /// On which nodes.
    pub placement: Value,
    /// The disks, as claims of volumes.
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,
}

/// A claim of a disk.
#[derive(Clone, Debug, Serialize)]
pub struct VolumeClaimTemplate {
    /// Name and annotations.
    pub metadata: ClaimMetadata,
    /// What is claimed.
    pub spec: VolumeClaim,
}

/// Name and annotations of a claim of a disk.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimMetadata {
    /// Name.
    pub name: &'static str,
    /// Annotations, with that which sets the device class.
    pub annotations: BTreeMap<&'static str, String>,
}

/// What is claimed of a disk.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaim {
    /// StorageClass of the local disks.
    pub storage_class_name: String,
    /// Always `Block`.
    pub volume_mode: &'static str,
    /// Always `ReadWriteOnce`.
    pub access_modes: [&'static str; 1],
    /// Size.
    pub resources: VolumeRequest,
}

/// Size of a claimed disk.
#[derive(Clone, Debug, Serialize)]
pub struct VolumeRequest {
    /// `storage`, as a quantity.
    pub requests: BTreeMap<&'static str, String>,
}

/// What is read of a CephCluster's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CephClusterStatus {
    /// `Ready`, `Progressing`, `Error`, ...
    pub phase: String,
    /// What Rook does, or why it fails.
    pub message: String,
    /// What Ceph says.
    pub ceph: CephHealth,
    /// The disks in use.
    pub storage: Option<CephDisks>,
}

impl CephClusterStatus {
    /// Number of disks that Ceph has, once Rook has counted them.
    pub fn osds(&self) -> Option<u32> {
        let disks = self.storage.as_ref()?.osd.store_type.values();
        Some(disks.fold(0, |sum: u32, disks| sum.saturating_add(*disks))).filter(|osds| *osds > 0)
    }
}

/// The disks of a Ceph cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CephDisks {
    /// One daemon for each disk.
    pub osd: Osds,
}

/// Daemons for disks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Osds {
    /// How many, by the format of their disks.
    pub store_type: BTreeMap<String, u32>,
}

/// What Ceph says of itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct CephHealth {
    /// `HEALTH_OK`, `HEALTH_WARN`, `HEALTH_ERR`.
    pub health: String,
    /// What is wrong, by Ceph's name for it, for instance `OSD_NEARFULL`
    /// (<https://docs.ceph.com/en/tentacle/rados/operations/health-checks/>).
    pub details: BTreeMap<String, IgnoredAny>,
    /// Raw bytes.
    pub capacity: CephCapacity,
}

/// Raw bytes of a Ceph cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CephCapacity {
    /// All.
    pub bytes_total: u64,
    /// Taken.
    pub bytes_used: u64,
    /// Free.
    pub bytes_available: u64,
}
