//! Nodes that fail, one by one or many at once: which are replaced, and that no failure takes a node from a share.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::LeasePhase;
use proptest::prelude::*;
use provider_hypervisor_pool::assignment::{
    Division, Lease, Node, Servers, Share, State, divide, mark_away,
};

use crate::divisions::{leased, share};
use crate::pools::{carried_out, counted, dead, in_phase, node, nodes, shares, works};

/// What may be replaced at once of so many nodes.
fn tenth(nodes: usize) -> usize {
    (nodes / 10).max(1)
}

/// How many of the given nodes of a share are drained.
fn drained(nodes: &[Node], share: &Share, division: &Division) -> usize {
    let own = |node: &&Node| {
        let lease = node.lease.as_ref();
        lease.is_some_and(|lease| lease.control_plane == share.control_plane)
    };
    let own = nodes.iter().filter(own);
    own.filter(|node| division.drained.contains(&node.name))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn dead_nodes_keep_their_lease(nodes in nodes(), shares in shares(), reserve in 0..4_u32) {
        let division = divide(&nodes, &shares, reserve);
        for node in nodes.iter().filter(|node| node.state.is_dead()) {
            prop_assert!(!division.granted.contains_key(&node.name) && !division.resumed.contains(&node.name));
            let holder = node.lease.as_ref().map(|lease| &lease.control_plane);
            let may_have_none = |share: &&Share| Some(&share.control_plane) == holder && share.max_hosts == Some(0);
            prop_assert!(
                !division.drained.contains(&node.name) || counted(&shares).iter().any(may_have_none),
                "no node is drained for being dead"
            );
        }
    }

    #[test]
    fn share_with_dead_nodes_gets_a_tenth_more_than_it_is_due_at_most(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let mut replaced = 0;
        for share in counted(&shares) {
            let (part, dead) = (division.parts[&share.name], dead(&nodes, share));
            let granted = division.granted.values().any(|plane| *plane == share.control_plane);
            if !granted {
                continue;
            }
            let beyond = (part.hosts + dead).saturating_sub(part.due);
            prop_assert!(beyond <= tenth(part.due));
            if let Some(most) = share.max_hosts {
                let most = most as usize;
                prop_assert!(part.hosts + dead <= most + tenth(most));
            }
            replaced += beyond;
        }
        prop_assert!(replaced <= tenth(nodes.len()));
    }

    #[test]
    fn nodes_that_are_away_are_not_replaced(nodes in nodes(), shares in shares(), reserve in 0..4_u32) {
        let mut nodes = nodes;
        for node in nodes.iter_mut().filter(|node| node.state == State::Dead) {
            node.state = State::Away;
        }
        let division = divide(&nodes, &shares, reserve);
        for share in counted(&shares) {
            let (part, dead) = (division.parts[&share.name], dead(&nodes, share));
            prop_assert_eq!(part.unreplaced, dead);
            let granted = division.granted.values().any(|plane| *plane == share.control_plane);
            prop_assert!(!granted || part.hosts + dead <= part.due);
        }
    }

    #[test]
    fn failure_drains_no_node_of_any_share(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32, fails in any::<u32>(), is_away in any::<bool>(),
    ) {
        let mut failed = nodes.clone();
        for (index, node) in failed.iter_mut().enumerate() {
            let is_leased = node.lease.as_ref().is_some_and(|lease| lease.phase == LeasePhase::Leased);
            if is_leased && works(node) && fails >> index & 1 == 1 {
                node.state = if is_away { State::Away } else { State::Dead };
            }
        }
        let (before, after) = (divide(&nodes, &shares, reserve), divide(&failed, &shares, reserve));
        for share in counted(&shares) {
            let counts = [&before, &after].map(|division| drained(&nodes, share, division));
            prop_assert!(counts[1] <= counts[0], "{} drains {counts:?}", share.name);
        }
    }

    /// Whatever fails at once.
    #[test]
    fn nodes_that_are_back_cost_a_share_no_node_but_those_that_replaced_them(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32, fails in any::<u32>(),
    ) {
        let is_failing = |index: usize, node: &Node| {
            let is_leased = node.lease.as_ref().is_some_and(|lease| lease.phase == LeasePhase::Leased);
            is_leased && fails >> index & 1 == 1
        };
        let mut nodes = nodes;
        nodes.iter_mut().for_each(|node| node.state = State::Available);
        let mut nodes = carried_out(&nodes, &divide(&nodes, &shares, reserve));
        // What is to be drained is.
        for node in &mut nodes {
            node.lease = node.lease.take().filter(|lease| lease.phase == LeasePhase::Leased);
        }
        prop_assume!(divide(&nodes, &shares, reserve).drained.is_empty());
        let mut failed = nodes.clone();
        for (index, node) in failed.iter_mut().enumerate() {
            if is_failing(index, node) {
                node.state = State::Dead;
            }
        }
        let division = divide(&failed, &shares, reserve);
        prop_assert!(division.drained.is_empty());
        let mut back = carried_out(&failed, &division);
        for node in &mut back {
            node.state = State::Available;
        }
        let yielding = divide(&back, &shares, reserve).drained.len();
        prop_assert!(yielding <= division.granted.len());
    }
}

/// The first nodes of share 1 are dead, of as many as it may have. Others are free.
fn failing(dead: u8, has: u8, all: u8) -> (Vec<Node>, [Share; 1]) {
    let mut nodes = leased(0..dead, Some(1), State::Dead);
    nodes.extend(leased(dead..has, Some(1), State::Available));
    nodes.extend(leased(has..all, None, State::Available));
    (nodes, [share(1, 1, 0, Some(u32::from(has)))])
}

#[test]
fn tenth_of_a_share_is_replaced_and_one_node_of_a_small_one() {
    for (dead, has, replaced) in [
        (1, 20, 1),
        (2, 20, 2),
        (3, 20, 2),
        (10, 20, 2),
        (4, 4, 1),
        (25, 30, 3),
    ] {
        let (nodes, shares) = failing(dead, has, 60);
        let division = divide(&nodes, &shares, 0);
        assert_eq!(division.granted.len(), replaced, "{dead} of {has}");
        let part = division.parts["share-1"];
        assert_eq!(part.unreplaced, usize::from(dead) - replaced);
        assert_eq!(part.due, usize::from(has));
        let again = divide(&carried_out(&nodes, &division), &shares, 0);
        assert!(again.granted.is_empty() && again.drained.is_empty());
    }
}

#[test]
fn tenth_of_a_pool_is_replaced_whichever_share_fails_first() {
    let mut nodes = leased(0..2, Some(1), State::Available);
    nodes.extend(leased(2..4, Some(2), State::Available));
    nodes.extend(leased(4..10, None, State::Available));
    let shares = [1, 2].map(|plane| share(plane, 1, 0, Some(2)));
    nodes[3].state = State::Dead;
    let younger = divide(&nodes, &shares, 0);
    assert_eq!(younger.granted.len(), 1);
    let mut nodes = carried_out(&nodes, &younger);
    nodes[1].state = State::Dead;
    let elder = divide(&nodes, &shares, 0);
    assert!(elder.granted.is_empty() && elder.drained.is_empty());
    let unreplaced = ["share-1", "share-2"].map(|name| elder.parts[name].unreplaced);
    assert_eq!(unreplaced, [1, 0]);
}

#[test]
fn node_that_a_share_takes_back_is_a_replacement_for_its_dead_one() {
    // The younger share is due nothing, and its dead node is all that may be replaced.
    let mut nodes = leased(0..1, Some(1), State::Dead);
    nodes.push(node(
        1,
        Some((1, LeasePhase::Draining)),
        State::Available,
        0,
        0,
    ));
    nodes.extend(leased(2..3, Some(2), State::Dead));
    nodes.extend(leased(3..4, None, State::Available));
    let shares = [share(1, 1, 0, None), share(2, 0, 0, None)];
    let division = divide(&nodes, &shares, 3);
    assert_eq!(division.resumed, names(["node-01"]));
    assert_eq!(division.parts["share-1"].unreplaced, 0);
    let again = divide(&carried_out(&nodes, &division), &shares, 3);
    assert_eq!(again.parts, division.parts);
}

#[test]
fn tenth_of_a_pool_is_replaced_and_shares_take_turns() {
    let mut nodes = Vec::new();
    for plane in 0..3 {
        let first = plane * 5;
        nodes.extend(leased(first..first + 2, Some(plane), State::Dead));
        nodes.extend(leased(first + 2..first + 5, Some(plane), State::Available));
    }
    nodes.extend(leased(15..29, None, State::Available));
    let shares = [0, 1, 2].map(|plane| share(plane, 1, 0, Some(5)));
    let division = divide(&nodes, &shares, 0);
    let planes: Vec<&String> = division.granted.values().collect();
    assert_eq!(planes, ["plane-0", "plane-1"]);
}

/// Its servers run, and the dead ones may come back.
#[test]
fn no_node_that_works_is_drained_for_min_hosts_of_a_share_with_dead_nodes() {
    let mut nodes = leased(0..5, Some(1), State::Dead);
    nodes.extend(leased(5..10, Some(1), State::Available));
    nodes.extend(leased(10..20, Some(2), State::Available));
    let shares = [share(1, 1, 10, None), share(2, 1, 0, None)];
    let division = divide(&nodes, &shares, 0);
    assert!(division.drained.is_empty() && division.granted.is_empty());
    // Once a person has said that they don't.
    for node in &mut nodes[..3] {
        node.state = State::Leaving;
    }
    let division = divide(&nodes, &shares, 0);
    let drained = nodes
        .iter()
        .filter(|node| division.drained.contains(&node.name));
    let planes: Vec<&str> = drained
        .filter_map(|node| node.lease.as_ref())
        .map(|lease| lease.control_plane.as_str())
        .collect();
    assert_eq!(planes, [["plane-1"; 3], ["plane-2"; 3]].concat());
}

#[test]
fn cordoned_dead_nodes_are_replaced_however_many_there_are() {
    let (mut nodes, shares) = failing(6, 20, 60);
    for node in &mut nodes[..4] {
        node.state = State::Leaving;
    }
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.drained.len(), 4);
    assert_eq!(division.granted.len(), 6);
    assert_eq!(division.parts["share-1"].unreplaced, 0);
}

#[test]
fn node_that_is_back_is_drained_unless_only_its_replacement_has_no_servers() {
    let (nodes, shares) = failing(1, 10, 12);
    let division = divide(&nodes, &shares, 0);
    let names: Vec<&String> = division.granted.keys().collect();
    assert_eq!(names, ["node-10"]);
    let mut nodes = carried_out(&nodes, &division);
    for (servers, drained) in [([3, 0], "node-10"), ([0, 3], "node-00")] {
        for node in &mut nodes {
            node.state = State::Available;
            node.servers = Servers::Known(9);
        }
        nodes[0].servers = Servers::Known(servers[0]);
        nodes[10].servers = Servers::Known(servers[1]);
        let names = divide(&nodes, &shares, 0).drained;
        assert_eq!(names.into_iter().collect::<Vec<_>>(), [drained]);
    }
}

/// The names of the nodes that are away of some in racks of zones, each by its zone, its rack and its state.
fn away(states: &[(u8, u8, State)]) -> BTreeSet<String> {
    let nodes = states.iter().zip(0..);
    let nodes = nodes.map(|(&(zone, rack, state), name)| Node {
        lease: Some(Lease {
            control_plane: "plane-1".to_owned(),
            phase: LeasePhase::Leased,
        }),
        ..node(name, None, state, zone, rack)
    });
    let mut nodes: Vec<Node> = nodes.collect();
    mark_away(&mut nodes);
    let away = nodes.into_iter().filter(|node| node.state == State::Away);
    away.map(|node| node.name).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

const UP: (u8, u8, State) = (9, 9, State::Available);

#[test]
fn dead_nodes_of_a_rack_or_zone_that_is_down_are_away() {
    let (dead, unready) = (State::Dead, State::Unready);
    let rack = [
        (0, 0, dead),
        (0, 0, unready),
        (0, 0, dead),
        (0, 0, State::Available),
        (0, 1, dead),
    ];
    let up = [UP; 9];
    assert_eq!(
        away(&[&rack[..], &[(0, 1, State::Available); 4], &up].concat()),
        names(["node-00", "node-02"]),
        "the other rack works"
    );
    let zone = [
        (0, 0, dead),
        (0, 1, dead),
        (0, 2, dead),
        (0, 3, State::Available),
        (1, 0, dead),
    ];
    assert_eq!(
        away(&[&zone[..], &up].concat()),
        names(["node-00", "node-01", "node-02"])
    );
}

#[test]
fn few_dead_nodes_and_half_of_a_rack_are_not_away() {
    let dead = (0, 0, State::Dead);
    let none = BTreeSet::new();
    assert_eq!(away(&[&[dead; 2][..], &[UP; 9]].concat()), none, "of two");
    let half = vec![(0, 0, State::Available); 3];
    assert_eq!(away(&[&[dead; 3][..], &half, &[UP; 9]].concat()), none);
    // Those that leave count neither way.
    let leaving = vec![(0, 0, State::Leaving); 3];
    assert_eq!(
        away(&[&[dead; 3][..], &leaving, &[UP; 9]].concat()),
        names(["node-00", "node-01", "node-02"])
    );
}

#[test]
fn dead_nodes_are_away_while_most_of_the_pool_is_down() {
    let dead = |zone| (zone, 0, State::Dead);
    assert_eq!(away(&[dead(0), dead(1), UP]), names(["node-00", "node-01"]));
    assert_eq!(away(&[dead(0), UP]), BTreeSet::new());
}

#[test]
fn rack_that_is_down_gets_no_other_nodes_while_single_dead_ones_do() {
    let mut nodes = leased(0..20, Some(1), State::Available);
    nodes.extend(leased(20..60, None, State::Available));
    for node in &mut nodes[..6] {
        "rack-1".clone_into(&mut node.domain.rack);
        node.state = State::Dead;
    }
    nodes[7].state = State::Dead;
    mark_away(&mut nodes);
    let shares = [share(1, 1, 0, Some(20))];
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.granted.len(), 1);
    assert_eq!(division.parts["share-1"].unreplaced, 6);
    let own = in_phase(&nodes, &shares[0], LeasePhase::Leased).count();
    assert_eq!(division.parts["share-1"].hosts, own + 1);
}
