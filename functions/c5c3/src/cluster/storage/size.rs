//! How many hosts a storage pool has: never fewer than hold data.

use c5c3_api::{Consumer, StorageClusterSpec};
use function_protocol::{Fatal, Request, Response};

use super::{CEPH, DATA};
use crate::cluster::shoot::last_size;
use crate::cluster::size_accepted;
use crate::manifest::ceph::CephClusterStatus;
use crate::observed::Observation;

/// The hosts of a pool. It is made smaller only once Ceph has no disks any more on the hosts that would go, since Gardener
/// chooses them.
///
/// # Errors
/// The observed Shoot isn't one.
pub fn accepted(
    spec: &StorageClusterSpec,
    consumers: &[Consumer],
    request: &Request,
    response: &mut Response,
) -> Result<u32, Fatal> {
    let last = last_size(request, DATA)?.unwrap_or_default();
    let ceph: Observation<CephClusterStatus> = Observation::of(request.observed().get(CEPH));
    // Without a report every host may hold data.
    let holding = ceph
        .status
        .osds()
        .map_or(last, |osds| osds.div_ceil(spec.ceph.osd_count.max(1)));
    let copies = consumers
        .iter()
        .filter_map(|consumer| consumer.min_hosts)
        .max();
    let least = holding.max(copies.unwrap_or_default()).min(last);
    if spec.workers >= least {
        size_accepted(None, response);
        return Ok(spec.workers);
    }
    let refusal = format!(
        "spec.workers is {}, and {least} hosts hold data or are needed for copies; the pool keeps {last}: remove the OSDs of the \
         other hosts from Ceph first, or raise spec.workers",
        spec.workers
    );
    size_accepted(Some(refusal), response);
    Ok(last)
}
