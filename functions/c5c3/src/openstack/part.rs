//! The part of each hypervisor pool that a claim gets: what its size gets, changed by what it asks for, within the site's limits.

use c5c3_api::openstack_cluster::RequestedShare;
use c5c3_api::{OpenStackClusterSpec, PoolName};

use crate::input::{ShareLimits, SharePreset};

/// The part of one hypervisor pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Against the weights of other shares.
    pub weight: u32,
    /// Nodes it gets before weights count.
    pub min_hosts: u32,
    /// Nodes that the claim requests from the pool: at least one, and none without Nova.
    pub needed: u32,
    /// Nodes it never exceeds.
    pub max_hosts: Option<u32>,
}

impl Part {
    /// The parts that the claim gets, in the order of `hypervisorClusters`.
    pub fn all(spec: &OpenStackClusterSpec, preset: &SharePreset) -> Vec<Self> {
        let pools = spec.hypervisor_clusters.iter();
        pools.map(|pool| Part::of(pool, spec, preset)).collect()
    }

    fn of(pool: &PoolName, spec: &OpenStackClusterSpec, preset: &SharePreset) -> Self {
        let mut requested = spec.hypervisor_shares.iter();
        let requested = requested.find(|share| share.name == *pool);
        let get = |field: fn(&RequestedShare) -> Option<u32>| requested.and_then(field);
        let limits = limits(preset);
        let within = |requested: Option<u32>, limit: Option<u32>| {
            requested.map(|requested| requested.min(limit.unwrap_or(requested)))
        };
        let max_hosts = within(get(|share| share.max_hosts), limits.max_hosts).or(preset.max_hosts);
        let min_hosts =
            within(get(|share| share.min_hosts), limits.min_hosts).unwrap_or(preset.min_hosts);
        let min_hosts = min_hosts.min(max_hosts.unwrap_or(u32::MAX));
        Part {
            weight: within(get(|share| share.weight), limits.weight).unwrap_or(preset.weight),
            min_hosts,
            needed: match spec.services.nova {
                true => min_hosts.max(1),
                false => 0,
            },
            max_hosts,
        }
    }
}

/// What the claim asks for beyond the site's limits, for its owner; none where it keeps to them.
pub fn exceeded(spec: &OpenStackClusterSpec, preset: &SharePreset) -> Option<String> {
    let limits = limits(preset);
    let exceeded = spec.hypervisor_shares.iter().flat_map(|share| {
        let fields = [
            ("weight", share.weight, limits.weight),
            ("minHosts", share.min_hosts, limits.min_hosts),
            ("maxHosts", share.max_hosts, limits.max_hosts),
        ];
        fields
            .into_iter()
            .filter_map(move |(field, requested, limit)| {
                let (requested, limit) = (requested?, limit?);
                (requested > limit).then(|| {
                    format!(
                        "the {field} {requested} for {} is above {limit}",
                        share.name
                    )
                })
            })
    });
    let exceeded: Vec<String> = exceeded.collect();
    (!exceeded.is_empty()).then(|| {
        format!(
            "spec.hypervisorShares: {}, the limit for claims of this size, which applies instead: lower it, choose a larger \
             size, or ask the site to raise the limit",
            exceeded.join("; ")
        )
    })
}

/// The limits for claims, at least what the size gets anyway.
fn limits(preset: &SharePreset) -> ShareLimits {
    let given = &preset.limits;
    let at_least = |limit: Option<u32>, preset: u32| Some(limit.unwrap_or(preset).max(preset));
    ShareLimits {
        weight: at_least(given.weight, preset.weight),
        min_hosts: at_least(given.min_hosts, preset.min_hosts),
        max_hosts: preset
            .max_hosts
            .and_then(|preset| at_least(given.max_hosts, preset)),
    }
}
