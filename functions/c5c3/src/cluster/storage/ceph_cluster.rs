//! The CephCluster of a storage pool: one OSD on each local disk.

use std::collections::BTreeMap;

use c5c3_api::StorageClusterSpec;
use c5c3_api::storage_cluster::DeviceClass;
use function_protocol::Fatal;

use crate::input::CephPreset;
use crate::manifest::ObjectMeta;
use crate::manifest::ceph::{
    CephCluster, CephStorage, CephVersion, DeviceSet, DisruptionManagement, Mgr, Mon, MonZone,
    StretchCluster, VolumeClaim, VolumeClaimTemplate, VolumeRequest,
};
use crate::quantity;

/// Fewest hosts of a CephCluster: each monitor is on a host of its own.
const MONITORS: u32 = 3;

/// The CephCluster that a pool wants.
///
/// # Errors
/// The pool has too few hosts for its monitors or copies, or too few zones to be stretched.
pub fn wanted(
    spec: &StorageClusterSpec,
    preset: &CephPreset,
    zones: &[String],
) -> Result<CephCluster, Fatal> {
    let copies = u32::from(spec.ceph.replication_factor);
    let hosts = spec.workers;
    if hosts < copies.max(MONITORS) {
        return Err(Fatal::new(format!(
            "spec.workers is {hosts}; {MONITORS} monitors and {copies} copies each want a host of their own, so choose \
             at least {}",
            copies.max(MONITORS)
        )));
    }
    let stretch_cluster = match &spec.arbiter_cluster {
        None => None,
        Some(arbiter) => Some(stretch(arbiter.name(), &spec.region, zones)?),
    };
    let device_class = device_class(spec.ceph.device_class);
    let template = VolumeClaimTemplate {
        metadata: ObjectMeta {
            annotations: BTreeMap::from([("crushDeviceClass".to_owned(), device_class.to_owned())]),
            ..ObjectMeta::named("data")
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
        ceph_version: CephVersion {
            image: preset.image.clone(),
        },
        data_dir_host_path: "/var/lib/rook",
        mon: Mon {
            count: if stretch_cluster.is_some() {
                5
            } else {
                MONITORS
            },
            allow_multiple_per_node: false,
            stretch_cluster,
        },
        mgr: Mgr { count: 2 },
        disruption_management: DisruptionManagement {
            manage_pod_budgets: true,
        },
        storage: CephStorage {
            storage_class_device_sets: vec![DeviceSet {
                name: device_class.to_owned(),
                count: disks(spec),
                portable: false,
                encrypted: spec.ceph.encrypted,
                volume_claim_templates: vec![template],
            }],
        },
    })
}

/// Why the pool's disks don't reach its target capacity, if they don't.
pub fn shortfall(spec: &StorageClusterSpec, preset: &CephPreset) -> Option<String> {
    let target = spec.target_capacity()?;
    let disk = quantity::bytes(&format!("{}Gi", preset.disk_gib.max(1)))?;
    let needed = (quantity::bytes(target)? / disk).ceil();
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

fn device_class(class: DeviceClass) -> &'static str {
    match class {
        DeviceClass::Hdd => "hdd",
        DeviceClass::Ssd => "ssd",
        DeviceClass::Nvme => "nvme",
    }
}

fn stretch(arbiter: &str, region: &str, zones: &[String]) -> Result<StretchCluster, Fatal> {
    let [one, other, ..] = zones else {
        return Err(Fatal::new(format!(
            "spec.arbiterCluster stretches the pool over two zones, and the Composition's input names {} for region \
             {region}; add them to gardener.zones",
            zones.len()
        )));
    };
    let zone = |name: &str, arbiter| MonZone {
        name: name.to_owned(),
        arbiter,
    };
    Ok(StretchCluster {
        failure_domain_label: "topology.kubernetes.io/zone",
        sub_failure_domain: "host",
        zones: vec![zone(arbiter, true), zone(one, false), zone(other, false)],
    })
}
