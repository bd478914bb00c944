//! How many hosts a storage pool has: never fewer than hold data.

use c5c3_api::{Consumer, StorageClusterSpec, StorageClusterStatus};
use c5c3_kinds::ceph::CephClusterStatus;
use function_protocol::{Fatal, Request, Response};
use serde::Deserialize;

use super::{CEPH, DATA};
use crate::cluster::Cluster;
use crate::cluster::marked::{self, Choice};
use crate::cluster::shoot;
use crate::cluster::size_accepted;
use crate::composite::Composite;
use crate::manifest::ObjectMeta;
use crate::observed::{Observation, last_composed};

/// Annotation of the CephCluster with the most OSDs that a host of the pool has. `ceph.osdCount` isn't that number: it may be raised
/// without any host getting disks.
pub const OSDS_PER_HOST: &str = "c5c3.io/osds-per-host";

/// Which machines a person may mark.
const CHOICE: Choice = Choice {
    loses: "data",
    of: "hosts without OSDs",
};

/// The size of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Hosts with disks.
    pub hosts: shoot::Size,
    /// The most OSDs that a host has.
    pub osds_per_host: u32,
}

/// The CephCluster as it was last composed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Composed {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    storage: Storage,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Storage {
    storage_class_device_sets: Vec<DeviceSet>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeviceSet {
    count: u32,
}

/// The size of a pool. It is made smaller only once Ceph has so few disks that the hosts that would go may have none, and a person has marked
/// as many machines in each group as Gardener would delete.
///
/// # Errors
/// The observed Shoot or CephCluster isn't one.
pub fn accepted(
    cluster: &Cluster<'_>,
    claim: &Composite<StorageClusterSpec, StorageClusterStatus>,
    consumers: &[Consumer],
    request: &Request,
    response: &mut Response,
) -> Result<Size, Fatal> {
    let spec = &claim.spec;
    let sizes = cluster.last_size(request, DATA)?;
    // Of a Shoot that wasn't composed like this, as many hosts may have disks.
    let last = sizes.all.maximum;
    let ceph: Observation<CephClusterStatus> = Observation::of(request.observed().get(CEPH));
    let osds = ceph.status.osds();
    let composed: Option<Composed> = last_composed(request, CEPH)?;
    let osds_per_host = osds_per_host(spec.ceph.osd_count, last, osds, composed);
    // Without a report every host may hold data.
    let holding = osds.map_or(last, |osds| osds.div_ceil(osds_per_host));
    let copies = consumers
        .iter()
        .filter_map(|consumer| consumer.min_hosts)
        .max();
    let least = holding.max(copies.unwrap_or_default()).min(last);
    let wanted = shoot::Size::exactly(spec.workers);
    let groups = sizes
        .resized(wanted)
        .map(|(name, last, size)| marked::Group {
            name,
            deleted: last.maximum.saturating_sub(size.maximum),
        });
    let groups: Vec<marked::Group<'_>> = groups.collect();
    let obstacle = if spec.workers < least {
        Some(format!(
            "{least} hosts hold data or are needed for copies; the pool keeps {last}: remove the OSDs of the other hosts from Ceph first, \
             or raise spec.workers"
        ))
    } else if spec.workers < last {
        let unmarked = marked::unmarked(&groups, &CHOICE, &claim.metadata);
        unmarked.map(|unmarked| format!("the pool keeps {last}: {unmarked}"))
    } else {
        None
    };
    let (hosts, accepted) = match obstacle {
        None => (wanted, Ok(marked::outdated(&groups, &claim.metadata))),
        Some(obstacle) => {
            let refusal = format!("spec.workers is {}, and {obstacle}", spec.workers);
            let kept = shoot::Size {
                minimum: spec.workers.max(sizes.all.minimum),
                maximum: last,
            };
            (kept, Err(refusal))
        }
    };
    size_accepted(accepted, response);
    Ok(Size {
        hosts,
        osds_per_host,
    })
}

/// The most OSDs that a host has: what was recorded, until fewer are wanted or Ceph has more on every host.
fn osds_per_host(wanted: u32, hosts: u32, osds: Option<u32>, composed: Option<Composed>) -> u32 {
    let recorded = composed.and_then(|composed| {
        let annotation = composed.metadata.annotations.get(OSDS_PER_HOST);
        let recorded = annotation.and_then(|osds| osds.parse().ok());
        // A CephCluster of a version that recorded nothing.
        let sets = composed.spec.storage.storage_class_device_sets;
        let all = sets.iter().map(|set| set.count).sum::<u32>();
        recorded.or_else(|| all.checked_div(hosts))
    });
    let all_have = osds.is_some_and(|osds| osds >= hosts.saturating_mul(wanted));
    match recorded {
        Some(recorded) if !all_have => recorded.min(wanted).max(1),
        _ => wanted.max(1),
    }
}
