//! The addresses of a Shoot: those that its claim names, else a block of its own. Gardener can't change them later.

use c5c3_api::{
    Cidr, Claim, ControlPlaneClusterSpec, HypervisorClusterSpec, Ranges, StorageClusterSpec,
};
use c5c3_kinds::gardener::{Networking, Worker};
use function_protocol::{Fatal, Match, Request, Response};
use serde::Deserialize;

use crate::cluster::Cluster;
use crate::composite::Metadata;
use crate::names::hash;
use crate::pools::selector;

/// Prefix length of each node's range of pods, which is Gardener's default.
const NODE_POD_PREFIX: u8 = 24;

/// Addresses of the nodes' range that no node gets: network, broadcast, gateway, and two for the infrastructure.
const RESERVED_NODE_ADDRESSES: u64 = 5;

/// The most blocks that are tried, which bounds the time of one reconcile.
const TRIES: u64 = 4096;

/// Another cluster.
#[derive(Deserialize)]
struct Other {
    metadata: Metadata,
    #[serde(default)]
    spec: Addressed,
    #[serde(default)]
    status: Addressed,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Addressed {
    network: Option<Ranges>,
}

impl Other {
    /// The addresses that its nodes have, or are to have.
    fn nodes(&self) -> Option<Cidr> {
        let has = self.status.network.and_then(|network| network.nodes);
        has.or_else(|| self.spec.network?.nodes)
    }
}

impl Cluster<'_> {
    /// The addresses of a cluster: those of its Shoot; else the claim's, and the Composition's.
    ///
    /// # Errors
    /// A new Shoot can't have these addresses.
    pub fn networking<K: Claim>(
        &self,
        claim: Ranges,
        request: &Request,
        response: &mut Response,
    ) -> Result<Networking, Fatal> {
        if let Some(networking) = self.running.networking() {
            return Ok(networking.clone());
        }
        let gardener = &self.presets.gardener;
        let preset = &gardener.networking;
        let nodes = match (claim.nodes, gardener.node_block) {
            (Some(nodes), _) => nodes,
            (None, Some(length)) => self.free_block::<K>(length, request, response)?,
            (None, None) => preset.nodes,
        };
        let networking = Networking {
            type_: preset.type_.clone(),
            nodes,
            pods: claim.pods.unwrap_or(preset.pods),
            services: claim.services.unwrap_or(preset.services),
        };
        check(&networking)?;
        Ok(networking)
    }

    /// The first free block of node addresses, starting at the one that the cluster's name selects. Older clusters of every kind that
    /// have no addresses yet choose first, as if their Compositions had the same range and block size.
    fn free_block<K: Claim>(
        &self,
        length: u8,
        request: &Request,
        response: &mut Response,
    ) -> Result<Cidr, Fatal> {
        let range = self.presets.gardener.networking.nodes;
        let mut taken = Vec::new();
        let mut older = Vec::new();
        for (kind, others) in [
            self.others::<ControlPlaneClusterSpec>(request, response),
            self.others::<HypervisorClusterSpec>(request, response),
            self.others::<StorageClusterSpec>(request, response),
        ] {
            for other in others {
                match other.nodes() {
                    Some(nodes) => taken.push(nodes),
                    None => older.push((kind, other.metadata)),
                }
            }
        }
        older.retain(|(_, other)| age(other) < age(self.metadata));
        older.sort_by(|(_, one), (_, other)| age(one).cmp(&age(other)));
        let block = |is_predicted: fn(&str) -> bool| {
            let mut taken = taken.clone();
            for (_, other) in older.iter().filter(|(kind, _)| is_predicted(kind)) {
                taken.extend(free(range, length, other.claim_name(), &taken));
            }
            free(range, length, self.name(), &taken)
        };
        // A cluster of another kind may have another range, and need none of these blocks.
        let block = block(|_| true).or_else(|| block(|kind| kind == K::KIND));
        block.ok_or_else(|| {
            Fatal::new(format!(
                "gardener.networking.nodes of the Composition's input, {range}, has no free /{length} block: set a larger range there or \
                 a longer prefix in gardener.nodeBlock, or set spec.network.nodes of the claim"
            ))
        })
    }

    /// The other clusters of a kind, as far as they can be read.
    fn others<K: Claim>(
        &self,
        request: &Request,
        response: &mut Response,
    ) -> (&'static str, Vec<Other>) {
        let key = format!("every {}", K::KIND);
        let others = request
            .required(&key)
            .documents()
            .filter_map(|found| found.parse::<Other>().ok())
            .filter(|other| other.metadata.uid != self.metadata.uid)
            .collect();
        let all = Match::Labels([].into());
        response.require(key, selector::<K>(self.metadata.scope(), None, all));
        (K::KIND, others)
    }
}

/// What sorts clusters by age, and those of one second by UID.
fn age(metadata: &Metadata) -> (&str, &str) {
    (&metadata.creation_timestamp, &metadata.uid)
}

/// The first free block from the one on that a name stands for.
fn free(range: Cidr, length: u8, name: &str, taken: &[Cidr]) -> Option<Cidr> {
    let blocks = (0..range.blocks(length).min(TRIES))
        .map(|tried| range.block(length, hash(name).wrapping_add(tried)));
    let mut free = blocks.filter(|block| !taken.iter().any(|taken| taken.overlaps(*block)));
    free.next()
}

/// Checks that Gardener accepts the ranges for a new Shoot (gardener, pkg/utils/validation/cidr/disjoint.go). The API
/// server has checked the claim's own ranges; this also checks those of the Composition's input.
///
/// # Errors
/// Ranges overlap or are reserved.
fn check(networking: &Networking) -> Result<(), Fatal> {
    const CHANGE: &str = "set others in spec.network, or in gardener.networking of the Composition's input; they can't be changed \
                          later";
    let ranges = [
        ("nodes", networking.nodes),
        ("pods", networking.pods),
        ("services", networking.services),
    ];
    for (at, (one, range)) in ranges.iter().enumerate() {
        if range.is_reserved() {
            return Err(Fatal::new(format!(
                "the range {range} of the {one} includes reserved addresses, those from 224.0.0.0 on: {CHANGE}"
            )));
        }
        let others = &ranges[at + 1..];
        if let Some((other, taken)) = others.iter().find(|(_, other)| other.overlaps(*range)) {
            return Err(Fatal::new(format!(
                "the range {range} of the {one} overlaps {taken} of the {other}: {CHANGE}"
            )));
        }
    }
    Ok(())
}

/// Says which range is too small for the most machines of these groups, if one is.
pub fn shortage(networking: &Networking, workers: &[Worker]) -> Option<String> {
    let machines: u64 = workers
        .iter()
        .map(|group| u64::from(group.maximum) + u64::from(group.max_surge.unwrap_or_default()))
        .sum();
    let nodes = networking
        .nodes
        .size()
        .saturating_sub(RESERVED_NODE_ADDRESSES);
    let pods = networking.pods.blocks(NODE_POD_PREFIX);
    [("nodes", networking.nodes, nodes), ("pods", networking.pods, pods)]
        .into_iter()
        .find(|(_, _, capacity)| *capacity < machines)
        .map(|(what, range, capacity)| {
            format!(
                "the cluster may have {machines} machines, and its range {range} of the {what} is enough for {capacity}"
            )
        })
}
