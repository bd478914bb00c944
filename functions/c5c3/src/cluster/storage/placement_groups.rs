//! How many claims a storage pool has placement groups for. Ceph refuses a pool that takes its OSDs above their limit, and Rook's status
//! doesn't say why.

use std::collections::BTreeMap;

use c5c3_api::{Consumer, Reason, StorageClusterSpec};
use c5c3_kinds::ceph::CephClusterStatus;
use function_protocol::{Request, Response};
use serde::Deserialize;

use super::CEPH;
use crate::observed::{Specified, last_observed};
use crate::pools::{PLACEMENT_GROUPS, Rbd};
use crate::transitions;

/// Ceph's option with the most placement groups of an OSD, each copy counted, and its default
/// (<https://github.com/ceph/ceph/blob/tentacle/src/common/options/global.yaml.in>).
const LIMIT: &str = "mon_max_pg_per_osd";
const DEFAULT_LIMIT: u64 = 250;

/// The fewest placement groups of a pool (`PG_NUM_MIN` of
/// <https://github.com/ceph/ceph/blob/tentacle/src/pybind/mgr/pg_autoscaler/module.py>).
const FEWEST: u64 = 32;

/// The RBD pools of a claim, at most.
const POOLS: u64 = Rbd::ALL.len() as u64;

/// The options that the platform team has set in the CephCluster.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    ceph_config: BTreeMap<String, BTreeMap<String, String>>,
}

/// Says for how many claims the pool has placement groups, and whether it may admit more. The claims that it has admitted stay.
pub fn condition(
    spec: &StorageClusterSpec,
    ceph: &CephClusterStatus,
    consumers: &[Consumer],
    request: &Request,
    response: &mut Response,
) {
    let Some(osds) = ceph.osds() else {
        let message = "Rook hasn't counted Ceph's disks";
        return transitions::lapse(response, PLACEMENT_GROUPS, None, Reason::Waiting, message);
    };
    let limit = limit(request);
    let copies = u64::from(spec.copies(spec.ceph.replication_factor.into()));
    let fitting = claims_that_fit(osds, limit, copies);
    let said = format!(
        "{osds} OSDs with at most {limit} placement groups each ({LIMIT}) have room for about {fitting} claims of {POOLS} pools with \
         {copies} copies"
    );
    let admitted = consumers.len();
    let most = u64::from(spec.sharing.max_consumers());
    let is_enough =
        most <= fitting || u64::try_from(admitted).is_ok_and(|admitted| admitted < fitting);
    let (reason, message) = match is_enough {
        true => (Reason::EnoughDisks, said),
        false => (
            Reason::TooFewDisks,
            format!(
                "{said}, and the pool has {admitted} and admits up to {most}: Ceph may refuse the pools of further claims; the platform \
                 team adds disks, raises {LIMIT} in spec.cephConfig.global of the CephCluster, or lowers sharing.maxConsumers"
            ),
        ),
    };
    transitions::set(response, PLACEMENT_GROUPS, is_enough, reason, message);
}

/// How many claims fit, with each pool at its fewest placement groups.
fn claims_that_fit(osds: u32, limit: u64, copies: u64) -> u64 {
    let of_a_claim = FEWEST * POOLS * copies.max(1);
    u64::from(osds).saturating_mul(limit) / of_a_claim
}

/// The most placement groups of an OSD.
fn limit(request: &Request) -> u64 {
    let ceph: Option<Specified<Options>> = last_observed(request, CEPH).ok().flatten();
    let options = ceph
        .as_ref()
        .and_then(|ceph| ceph.spec.ceph_config.get("global"));
    let limit: Option<u64> = options.and_then(|options| options.get(LIMIT)?.parse().ok());
    limit.unwrap_or(DEFAULT_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::three_hosts(45, 250, 3, 29)]
    #[case::stretched(300, 250, 4, 146)]
    #[case::with_a_higher_limit(45, 500, 3, 58)]
    #[case::without_room(1, 250, 3, 0)]
    fn claims_that_fit_follow_from_disks_their_limit_and_copies(
        #[case] osds: u32,
        #[case] limit: u64,
        #[case] copies: u64,
        #[case] claims: u64,
    ) {
        assert_eq!(claims_that_fit(osds, limit, copies), claims);
    }
}
