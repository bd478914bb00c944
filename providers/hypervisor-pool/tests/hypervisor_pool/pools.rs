//! Small pools of random nodes and shares.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::LeasePhase;
use proptest::prelude::*;
use provider_hypervisor_pool::assignment::{Division, Domain, Lease, Node, Servers, Share, State};

pub fn node(name: u8, lease: Option<(u8, LeasePhase)>, state: State, zone: u8, rack: u8) -> Node {
    Node {
        name: format!("node-{name:02}"),
        lease: lease.map(|(plane, phase)| Lease {
            control_plane: format!("plane-{plane}"),
            phase,
        }),
        state,
        domain: Domain {
            zone: format!("zone-{zone}"),
            rack: format!("rack-{rack}"),
        },
        servers: Servers::Unknown,
    }
}

pub fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let phase = prop_oneof![
        6 => Just(LeasePhase::Leased),
        2 => Just(LeasePhase::Draining),
        1 => Just(LeasePhase::Releasing),
        1 => Just(LeasePhase::Wiping),
    ];
    let state = prop_oneof![
        8 => Just(State::Available),
        1 => Just(State::Unready),
        1 => Just(State::Dead),
        1 => Just(State::Away),
        1 => Just(State::Leaving),
    ];
    let lease = prop::option::weighted(0.4, (0..4_u8, phase));
    let servers = prop_oneof![
        2 => (0..3_u32).prop_map(Servers::Known),
        1 => Just(Servers::Unknown),
    ];
    let node_of = |(name, (lease, state, zone, rack, servers))| Node {
        servers,
        ..node(name, lease, state, zone, rack)
    };
    let each = (lease, state, 0..3_u8, 0..2_u8, servers);
    let nodes = prop::collection::btree_map(0..20_u8, each, 0..14);
    nodes.prop_map(move |nodes| nodes.into_iter().map(node_of).collect())
}

pub fn shares() -> impl Strategy<Value = Vec<Share>> {
    let share = (
        0..4_u8,
        0..3_u8,
        0..5_u32,
        prop_oneof![3 => Just(0), 1 => 0..5_u32],
        prop::option::weighted(0.3, 0..8_u32),
        prop::bool::weighted(0.15),
    );
    prop::collection::btree_map(0..6_u8, share, 0..5).prop_map(|shares| {
        let share = |(name, (plane, created, weight, min_hosts, max_hosts, is_held))| Share {
            created: format!("2026-01-0{created}T00:00:00Z"),
            name: format!("share-{name}"),
            control_plane: format!("plane-{plane}"),
            weight,
            min_hosts,
            max_hosts,
            is_held,
        };
        shares.into_iter().map(share).collect()
    })
}

/// The shares that count, by age: one for each control plane.
pub fn counted(shares: &[Share]) -> Vec<&Share> {
    let mut shares: Vec<&Share> = shares.iter().collect();
    shares.sort();
    let mut seen = BTreeSet::new();
    shares.retain(|share| seen.insert(&share.control_plane));
    shares
}

/// Whether a node works, or is only restarting.
pub fn works(node: &Node) -> bool {
    matches!(node.state, State::Available | State::Unready)
}

/// The nodes that one share leases in some phase, and that work.
pub fn in_phase<'a>(
    nodes: &'a [Node],
    share: &'a Share,
    phase: LeasePhase,
) -> impl Iterator<Item = &'a Node> {
    let is =
        move |lease: &Lease| lease.control_plane == share.control_plane && lease.phase == phase;
    let nodes = nodes.iter().filter(|node| works(node));
    nodes.filter(move |node| node.lease.as_ref().is_some_and(is))
}

/// The number of dead nodes that a share keeps. One that may have no node keeps none.
pub fn dead(nodes: &[Node], share: &Share) -> usize {
    let dead = nodes.iter().filter(|node| node.state.is_dead());
    let dead = dead.filter_map(|node| node.lease.as_ref());
    let dead = dead.filter(|lease| {
        lease.control_plane == share.control_plane && lease.phase == LeasePhase::Leased
    });
    if share.max_hosts == Some(0) {
        0
    } else {
        dead.count()
    }
}

pub fn held(nodes: &[Node], share: &Share) -> usize {
    in_phase(nodes, share, LeasePhase::Leased).count()
}

/// The most nodes that a share may have.
pub fn most(nodes: &[Node], share: &Share) -> usize {
    let most = share.max_hosts.unwrap_or(u32::MAX) as usize;
    let has = held(nodes, share) + in_phase(nodes, share, LeasePhase::Draining).count();
    let has = has + dead(nodes, share);
    if share.is_held { most.min(has) } else { most }
}

pub fn free(nodes: &[Node]) -> Vec<&Node> {
    let free = |node: &&Node| node.lease.is_none() && node.state == State::Available;
    nodes.iter().filter(free).collect()
}

/// The number of nodes that may be divided.
pub fn capacity(nodes: &[Node], shares: &[&Share], reserve: u32) -> usize {
    let is_divided = |node: &&Node| match &node.lease {
        None => works(node) || node.state == State::Away,
        Some(lease) => {
            let mut planes = shares.iter().map(|share| &share.control_plane);
            node.state != State::Leaving && planes.any(|plane| *plane == lease.control_plane)
        }
    };
    let divided = nodes.iter().filter(is_divided);
    divided
        .count()
        .saturating_sub(alive(nodes, reserve) as usize)
}

/// The number of nodes of a reserve that aren't dead.
pub fn alive(nodes: &[Node], reserve: u32) -> u32 {
    let spare = nodes
        .iter()
        .filter(|node| node.lease.is_none() && node.state == State::Dead);
    reserve.saturating_sub(spare.count() as u32)
}

/// The nodes once a division is carried out.
pub fn carried_out(nodes: &[Node], division: &Division) -> Vec<Node> {
    let mut nodes = nodes.to_vec();
    for node in &mut nodes {
        if let Some(control_plane) = division.granted.get(&node.name) {
            let (control_plane, phase) = (control_plane.clone(), LeasePhase::Leased);
            node.lease = Some(Lease {
                control_plane,
                phase,
            });
        }
        if let Some(lease) = &mut node.lease {
            match &node.name {
                name if division.drained.contains(name) => lease.phase = LeasePhase::Draining,
                name if division.resumed.contains(name) => lease.phase = LeasePhase::Leased,
                _ => {}
            }
        }
    }
    nodes
}
