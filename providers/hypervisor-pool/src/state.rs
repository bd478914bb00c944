//! A pool at one moment: its nodes, its shares, and how the nodes are divided.

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec, LeasePhase, NodeCounts};
use c5c3_api::pool::SharingMode;
use provider_composer::{Failure, Live, ObservedState, Reason, Resource, ResourceKind, Subject};

use crate::assignment::{Division, Node as Assignable, Share, State, divide, size, spread};
use crate::named;
use crate::nodes::{self, Node, known};

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
        Ok(Self::of(&pool, &shares(observed)?, &nodes::list(observed)?))
    }

    /// A pool with its shares, by age, and its nodes.
    pub(crate) fn of(
        pool: &Subject<HypervisorPoolSpec>,
        owners: &[Subject<HypervisorShareSpec>],
        nodes: &[Live<Node>],
    ) -> Self {
        let shares: Vec<Share> = owners.iter().map(claimed).collect();
        // A dedicated pool serves the eldest share; the nodes of others are taken back once these are deleted.
        let is_served = |index: usize| {
            pool.spec.mode == SharingMode::Shared || index == 0 || owners[index].is_deleted()
        };
        let served = shares.iter().enumerate();
        let served = served.filter(|(index, _)| is_served(*index));
        let served: Vec<Share> = served.map(|(_, share)| share.clone()).collect();
        let nodes: Vec<Assignable> = nodes.iter().map(nodes::assignable).collect();
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
        }
    }

    /// Whether a node has servers or may have some, once the division is carried out.
    pub fn is_in_use(&self, node: &Assignable) -> bool {
        node.lease.is_some()
            || node.state == State::MayHaveServers
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
    Ok(nodes.iter().map(nodes::assignable).collect())
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
    }
}
