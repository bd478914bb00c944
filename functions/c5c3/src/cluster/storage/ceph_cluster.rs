//! The CephCluster of a storage pool: one OSD on each local disk.

use std::collections::BTreeMap;

use c5c3_api::StorageClusterSpec;
use c5c3_api::parts::{Quantity, name_of};
use c5c3_kinds::ceph::{
    CephCluster, CephStorage, CephVersion, ClaimMetadata, Connections, DeviceSet,
    DisruptionManagement, Encryption, Mgr, Mon, MonZone, Network, StretchCluster, VolumeClaim,
    VolumeClaimTemplate, VolumeRequest,
};
use function_protocol::Fatal;
use serde_json::json;

use crate::input::CephPreset;

/// Fewest hosts of a CephCluster: each monitor is on a host of its own.
const MONITORS: u32 = 3;

/// Label of a node whose disks hold data.
const DATA_NODE: &str = "node-role.kubernetes.io/storage";

/// Label of a node that names its zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The CephCluster that a pool wants, of an image: its data in `zones`, and in a stretched pool a monitor that only votes in `arbiter`.
///
/// # Errors
/// The pool has too few hosts for its monitors or copies.
pub fn wanted(
    spec: &StorageClusterSpec,
    preset: &CephPreset,
    image: String,
    zones: &[String],
    arbiter: Option<&str>,
) -> Result<CephCluster, Fatal> {
    let copies = u32::from(spec.ceph.replication_factor);
    let hosts = spec.workers;
    let least = copies.max(spec.copies(copies)).max(MONITORS);
    if hosts < least {
        return Err(Fatal::new(format!(
            "spec.workers is {hosts}; monitors and copies each want a host of their own, so choose at least {least}"
        )));
    }
    let device_class = name_of(spec.ceph.device_class);
    let template = VolumeClaimTemplate {
        metadata: ClaimMetadata {
            name: "data",
            annotations: BTreeMap::from([("crushDeviceClass", device_class.clone())]),
        },
        spec: VolumeClaim {
            storage_class_name: preset.storage_class.clone(),
            volume_mode: "Block",
            access_modes: ["ReadWriteOnce"],
            resources: VolumeRequest {
                requests: BTreeMap::from([("storage", format!("{}Gi", preset.disk_gib))]),
            },
        },
    };
    Ok(CephCluster {
        ceph_version: CephVersion { image },
        data_dir_host_path: "/var/lib/rook",
        mon: monitors(zones, arbiter),
        mgr: Mgr { count: 2 },
        network: Network {
            provider: "host",
            connections: Connections {
                require_msgr2: true,
                encryption: Encryption {
                    enabled: spec.ceph.encrypted_in_transit,
                },
            },
        },
        resources: preset.resources.clone(),
        disruption_management: DisruptionManagement {
            manage_pod_budgets: true,
        },
        storage: CephStorage {
            storage_class_device_sets: vec![DeviceSet {
                name: device_class,
                count: disks(spec),
                portable: false,
                encrypted: spec.ceph.encrypted,
                placement: json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": DATA_NODE, "operator": "Exists"}]}
                ]}}}),
                volume_claim_templates: vec![template],
            }],
        },
    })
}

/// What Kubernetes refuses of the daemons' requests and limits, if anything. No API server checks the Composition's input.
pub fn refused(preset: &CephPreset) -> Option<String> {
    let mut daemons = preset.resources.iter();
    daemons.find_map(|(daemon, resources)| {
        let problem = resources.problem()?;
        Some(format!(
            "ceph.resources.{daemon} of the Composition's input: {problem}"
        ))
    })
}

/// Why the pool's disks don't reach its target capacity, if they don't.
pub fn shortfall(spec: &StorageClusterSpec, preset: &CephPreset) -> Option<String> {
    let target = spec.target_capacity()?;
    let disk = preset.disk_gib.max(1) as f64 * f64::from(1_u32 << 30);
    let capacity: Quantity = target.parse().ok()?;
    let needed = (capacity.amount() / disk).ceil();
    let disks = disks(spec);
    (needed > f64::from(disks)).then(|| {
        format!(
            "{target} take {needed} disks of {} GiB, and {} nodes with {} each have {disks}; raise spec.workers or \
             spec.ceph.osdCount",
            preset.disk_gib, spec.workers, spec.ceph.osd_count
        )
    })
}

fn disks(spec: &StorageClusterSpec) -> u32 {
    spec.workers.saturating_mul(spec.ceph.osd_count)
}

/// Monitors in every zone, each on a host of its own.
fn monitors(zones: &[String], arbiter: Option<&str>) -> Mon {
    let zone = |name: &str, arbiter| MonZone {
        name: name.to_owned(),
        arbiter,
    };
    let mut of_data: Vec<MonZone> = zones.iter().map(|name| zone(name, false)).collect();
    let mut mon = Mon {
        count: MONITORS,
        ..Mon::default()
    };
    if let Some(arbiter) = arbiter {
        of_data.insert(0, zone(arbiter, true));
        mon.count = 5;
        mon.stretch_cluster = Some(StretchCluster {
            failure_domain_label: ZONE,
            sub_failure_domain: "host",
            zones: of_data,
        });
    } else if zones.len() > 1 {
        mon.failure_domain_label = Some(ZONE);
        mon.zones = of_data;
    }
    mon
}
