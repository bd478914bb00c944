//! A pool at one moment: its nodes, its shares, and how the nodes are divided.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec, LeasePhase, NodeCounts};
use c5c3_api::pool::SharingMode;
use jiff::Timestamp;
use provider_composer::{
    Failure, Live, ObservedState, Reason, Resource, ResourceKind, Subject, named,
};

use crate::assignment::{
    Division, Node as Assignable, Share, State, divide, mark_away, size, spread,
};
use crate::nodes::{self, Node, known};
use crate::{recorded, surplus};

/// How many removable nodes a status names.
const REMOVABLE: usize = 50;

/// The hypervisor pool of a cluster, and what the hypervisor-pool-operator does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// The nodes that are hypervisors or leased, by name.
    pub nodes: Vec<Assignable>,
    /// The shares, by age.
    pub shares: Vec<Share>,
    /// The number of nodes that stay free.
    pub reserve: u32,
    /// How the nodes are divided.
    pub division: Division,
    /// The nodes without a lease that came back while a share had lost them, or may have, by name.
    pub returned: BTreeSet<String>,
}

impl PoolState {
    /// The kinds of the objects that it is observed from.
    pub const KINDS: [ResourceKind; 3] = [
        Subject::<HypervisorPoolSpec>::KIND,
        Subject::<HypervisorShareSpec>::KIND,
        Node::KIND,
    ];

    /// The pool of a cluster.
    ///
    /// # Errors
    /// There is none, or there are several, or nodes or shares can't be read.
    pub fn observe(observed: &ObservedState<'_>) -> Result<Self, Failure> {
        let pool = only(observed)?;
        let (shares, nodes) = (shares(observed)?, nodes::list(observed)?);
        Ok(Self::of(&pool, &shares, &nodes, observed.now()))
    }

    /// A pool with its shares, by age, and its nodes.
    pub(crate) fn of(
        pool: &Subject<HypervisorPoolSpec>,
        owners: &[Subject<HypervisorShareSpec>],
        nodes: &[Live<Node>],
        now: Timestamp,
    ) -> Self {
        let mut shares: Vec<Share> = owners.iter().map(claimed).collect();
        let nodes = nodes.iter().map(|node| nodes::assignable(node, now));
        let mut nodes: Vec<Assignable> = nodes.collect();
        mark_away(&mut nodes);
        surplus::count(&mut nodes, owners, &pool.status, now);
        let returned = returned(&nodes, owners);
        let served = match pool.spec.mode {
            SharingMode::Shared => shares.clone(),
            SharingMode::Dedicated => dedicated(&mut shares, owners, &nodes),
        };
        let division = match pool.is_deleted() {
            true => Division::default(),
            false => divide(&nodes, &served, pool.spec.reserve),
        };
        Self {
            name: pool.metadata.name.clone(),
            nodes,
            shares,
            reserve: pool.spec.reserve,
            division,
            returned,
        }
    }

    /// The nodes that haven't been Ready for longer than a restart takes, by name.
    pub fn dead(&self) -> Vec<&str> {
        let dead = self.nodes.iter().filter(|node| node.state.is_dead());
        dead.map(|node| node.name.as_str()).collect()
    }

    /// Whether a node has servers or may have some, once the division is carried out.
    pub fn is_in_use(&self, node: &Assignable) -> bool {
        node.lease.is_some()
            || node.state == State::MayHaveServers
            || self.returned.contains(&node.name)
            || self.division.granted.contains_key(&node.name)
    }

    /// Nodes that the pool can lose: those that can't be leased, then free ones beyond `reserve`, spread over failure domains. As many
    /// as a status names.
    pub fn removable(&self) -> Vec<&str> {
        let nodes = self.nodes.iter().filter(|node| !self.is_in_use(node));
        let (free, mut unusable): (Vec<&Assignable>, Vec<&Assignable>) =
            nodes.partition(|node| node.state == State::Available);
        unusable.truncate(REMOVABLE);
        let beyond_reserve = free.len().saturating_sub(size(self.reserve));
        let count = beyond_reserve.min(REMOVABLE - unusable.len());
        let unusable = unusable.into_iter().map(|node| node.name.as_str());
        unusable.chain(spread(free, count)).collect()
    }

    /// Counts the nodes, as they are once the division is carried out.
    pub fn counts(&self) -> NodeCounts {
        let division = &self.division;
        let mut counts = NodeCounts::default();
        for node in &self.nodes {
            let phase = node.lease.as_ref().map(|lease| lease.phase);
            let counter = match phase {
                _ if division.drained.contains(&node.name) => &mut counts.draining,
                _ if division.granted.contains_key(&node.name)
                    || division.resumed.contains(&node.name) =>
                {
                    &mut counts.leased
                }
                Some(LeasePhase::Leased) => &mut counts.leased,
                Some(_) => &mut counts.draining,
                None if node.state == State::Available => &mut counts.free,
                None => &mut counts.unavailable,
            };
            *counter += 1;
        }
        counts
    }
}

/// The nodes that are hypervisors or leased, by name, as they count for leases.
///
/// # Errors
/// They can't be read.
pub fn hypervisors(observed: &ObservedState<'_>) -> Result<Vec<Assignable>, Failure> {
    let nodes = nodes::list(observed)?;
    let nodes = nodes.iter();
    Ok(nodes
        .map(|node| nodes::assignable(node, observed.now()))
        .collect())
}

/// The pool of the cluster.
///
/// # Errors
/// There is none, or there are several, or they can't be read.
pub fn only(observed: &ObservedState<'_>) -> Result<Subject<HypervisorPoolSpec>, Failure> {
    let pools = observed.list::<Subject<HypervisorPoolSpec>>("", &[]);
    let mut pools = known(pools, "pools")?;
    match pools.as_slice() {
        [] => Err(Failure::new(
            Reason::NoPool,
            "this cluster has no HypervisorPool, which leases the nodes: create one",
        )),
        [_] => Ok(pools.remove(0).body),
        [..] => {
            let names: Vec<&str> = pools
                .iter()
                .map(|pool| pool.metadata.name.as_str())
                .collect();
            Err(Failure::new(
                Reason::SeveralPools,
                format!(
                    "this cluster has the HypervisorPools {}, and a cluster is one pool: delete all but one of them",
                    named(&names, ", ")
                ),
            ))
        }
    }
}

/// The shares of the cluster, by age.
pub fn shares(observed: &ObservedState<'_>) -> Result<Vec<Subject<HypervisorShareSpec>>, Failure> {
    let found = observed.list::<Subject<HypervisorShareSpec>>("", &[]);
    let shares = known(found, "shares")?.into_iter();
    let mut shares: Vec<_> = shares.map(|share| share.body).collect();
    shares.sort_by_cached_key(claimed);
    Ok(shares)
}

/// The nodes without a lease that a share reports all the same: their Nodes or labels were deleted, and servers may be there. A share that
/// has not been reconciled since a lease ended reports that the node is wiped. While the status of a share has no room for all nodes that it
/// lost, any node may be one of them.
fn returned(nodes: &[Assignable], owners: &[Subject<HypervisorShareSpec>]) -> BTreeSet<String> {
    let reported: BTreeSet<&str> = owners.iter().flat_map(recorded::may_have_servers).collect();
    let is_full = owners.iter().any(recorded::is_full);
    let is_reported = |name: &str| is_full || reported.contains(name);
    let returned = nodes
        .iter()
        .filter(|node| node.lease.is_none() && is_reported(&node.name));
    returned.map(|node| node.name.clone()).collect()
}

/// The shares that a dedicated pool serves: the eldest, and those that have nodes from before the pool became dedicated. The latter keep
/// these, after `minHosts` of the eldest, and get no others. Shares are in order of their age.
fn dedicated(
    shares: &mut [Share],
    owners: &[Subject<HypervisorShareSpec>],
    nodes: &[Assignable],
) -> Vec<Share> {
    let mut leased: BTreeMap<&str, u32> = BTreeMap::new();
    for lease in nodes.iter().filter_map(|node| node.lease.as_ref()) {
        *leased.entry(&lease.control_plane).or_default() += 1;
    }
    let mut served = Vec::new();
    for (index, (share, owner)) in shares.iter_mut().zip(owners).enumerate() {
        let has = leased.get(share.control_plane.as_str());
        let min_hosts = match has.copied() {
            _ if index == 0 || owner.is_deleted() => share.min_hosts,
            Some(has) => {
                share.is_held = true;
                has
            }
            None => continue,
        };
        served.push(Share {
            min_hosts,
            ..share.clone()
        });
    }
    served
}

/// A share as it counts for leases. One that is being deleted keeps no node.
fn claimed(share: &Subject<HypervisorShareSpec>) -> Share {
    let (metadata, spec) = (&share.metadata, &share.spec);
    Share {
        created: metadata.creation_timestamp.clone().unwrap_or_default(),
        name: metadata.name.clone(),
        control_plane: spec.control_plane.clone(),
        weight: spec.weight,
        min_hosts: spec.min_hosts,
        max_hosts: match share.is_deleted() {
            true => Some(0),
            false => spec.max_hosts,
        },
        is_held: spec.held,
    }
}
