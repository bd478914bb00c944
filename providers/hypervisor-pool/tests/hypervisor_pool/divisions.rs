//! Divisions of small pools.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use c5c3_api::hypervisor::LeasePhase;
use provider_hypervisor_pool::assignment::{Node, Part, Servers, Share, State, divide};

use crate::pools::{carried_out, node};

pub fn share(name: u8, weight: u32, min_hosts: u32, max_hosts: Option<u32>) -> Share {
    Share {
        created: format!("2026-01-0{name}T00:00:00Z"),
        name: format!("share-{name}"),
        control_plane: format!("plane-{name}"),
        weight,
        min_hosts,
        max_hosts,
        is_held: false,
    }
}

/// Nodes of one zone and rack, numbered from the first name.
pub fn leased(names: Range<u8>, plane: Option<u8>, state: State) -> Vec<Node> {
    let lease = plane.map(|plane| (plane, LeasePhase::Leased));
    names.map(|name| node(name, lease, state, 0, 0)).collect()
}

#[test]
fn share_that_shrinks_keeps_as_many_nodes_that_work_as_it_is_due() {
    let mut nodes = leased(0..3, Some(1), State::Dead);
    nodes.extend(leased(3..10, Some(1), State::Available));
    let shares = [share(1, 1, 0, Some(3))];
    let division = divide(&nodes, &shares, 0);
    let drained: Vec<&String> = division.drained.iter().collect();
    assert_eq!(drained, ["node-06", "node-07", "node-08", "node-09"]);
    assert_eq!(
        division.parts["share-1"],
        Part {
            hosts: 3,
            draining: 4,
            due: 3,
            unreplaced: 2
        }
    );

    // They are back: as many are drained as are too many now, and nothing changes after that.
    let mut nodes = carried_out(&nodes, &division);
    for node in &mut nodes {
        node.state = State::Available;
    }
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.drained.len(), 3);
    assert!(division.resumed.is_empty());
    let settled = divide(&carried_out(&nodes, &division), &shares, 0);
    assert!(settled.drained.is_empty() && settled.resumed.is_empty());
}

#[test]
fn free_nodes_that_are_dead_are_promised_to_nobody() {
    let mut nodes = leased(0..5, Some(1), State::Available);
    nodes.extend(leased(5..10, None, State::Dead));
    let shares = [share(1, 1, 0, None), share(2, 1, 2, None)];
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.drained.len(), 2, "the younger share gets these");
    let dues = division.parts.values().map(|part| part.due);
    assert_eq!(dues.collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn share_that_may_have_no_node_gives_up_dead_ones() {
    let nodes = leased(0..2, Some(1), State::Dead);
    let division = divide(&nodes, &[share(1, 1, 0, Some(0))], 0);
    assert_eq!(division.drained.len(), 2);
    assert_eq!(division.parts["share-1"].draining, 2);
    let division = divide(&nodes, &[share(1, 1, 0, None)], 0);
    assert_eq!(division.drained.len(), 0);
}

#[test]
fn held_share_gets_no_other_node_and_takes_its_own_back() {
    let mut nodes = leased(0..3, Some(1), State::Available);
    nodes[2].lease.as_mut().unwrap().phase = LeasePhase::Draining;
    nodes.extend(leased(3..5, Some(1), State::Dead));
    nodes.extend(leased(5..10, None, State::Available));
    let mut shares = [share(1, 1, 4, None)];
    shares[0].is_held = true;
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.parts["share-1"].due, 5);
    assert!(division.granted.is_empty() && division.drained.is_empty());
    let resumed: Vec<&String> = division.resumed.iter().collect();
    assert_eq!(resumed, ["node-02"]);

    // Its weight counts against others as before.
    shares[0].min_hosts = 0;
    let division = divide(&nodes, &[shares[0].clone(), share(2, 9, 0, None)], 0);
    let dues = division.parts.values().map(|part| part.due);
    assert_eq!(dues.collect::<Vec<_>>(), [1, 9]);
}

/// Five nodes of a share, in one zone and rack.
fn counted() -> Vec<Node> {
    let mut nodes = leased(0..5, Some(1), State::Available);
    let servers = [
        Servers::Unknown,
        Servers::Known(50),
        Servers::Known(0),
        Servers::Known(3),
        Servers::Known(0),
    ];
    for (node, servers) in nodes.iter_mut().zip(servers) {
        node.servers = servers;
    }
    nodes
}

/// The nodes that a share gives up that may have so many.
fn given_up(nodes: &[Node], most: u32) -> Vec<String> {
    let division = divide(nodes, &[share(1, 1, 0, Some(most))], 0);
    division.drained.into_iter().collect()
}

#[test]
fn share_gives_up_nodes_with_the_fewest_servers_and_last_those_that_nobody_counted() {
    let mut nodes = counted();
    // Of equally empty ones the last by name, or the one that spreads worse.
    assert_eq!(given_up(&nodes, 4), ["node-04"]);
    assert_eq!(given_up(&nodes, 3), ["node-02", "node-04"]);
    assert_eq!(given_up(&nodes, 2), ["node-02", "node-03", "node-04"]);
    assert_eq!(
        given_up(&nodes, 1),
        ["node-01", "node-02", "node-03", "node-04"]
    );
    nodes[4].domain.zone = "zone-1".to_owned();
    assert_eq!(given_up(&nodes, 4), ["node-02"]);
}

#[test]
fn share_stays_in_every_zone_where_numbers_of_servers_differ_little() {
    let mut nodes = leased(0..6, Some(1), State::Available);
    for (index, node) in nodes.iter_mut().enumerate() {
        let (zone, servers) = if index < 3 { ("a", 21) } else { ("b", 20) };
        node.domain.zone = zone.to_owned();
        node.servers = Servers::Known(servers);
    }
    let zones = |given_up: &[String]| {
        let kept = nodes.iter().filter(|node| !given_up.contains(&node.name));
        kept.map(|node| node.domain.zone.clone())
            .collect::<BTreeSet<String>>()
    };
    assert_eq!(zones(&given_up(&nodes, 3)).len(), 2);
    nodes[..3]
        .iter_mut()
        .for_each(|node| node.servers = Servers::Known(40));
    assert_eq!(given_up(&nodes, 3), ["node-03", "node-04", "node-05"]);
}

/// It can't be drained.
#[test]
fn node_that_is_not_ready_is_given_up_after_others() {
    let mut nodes = counted();
    nodes[2].state = State::Unready;
    nodes[4].servers = Servers::Known(9);
    assert_eq!(given_up(&nodes, 4), ["node-03"]);
}

#[test]
fn division_stays_when_servers_come_and_go() {
    let nodes = counted();
    let shares = [share(1, 1, 0, Some(4))];
    let division = divide(&nodes, &shares, 0);
    assert_eq!(division.drained.len(), 1);
    let mut nodes = carried_out(&nodes, &division);
    let servers: Vec<Servers> = nodes.iter().rev().map(|node| node.servers).collect();
    for (node, servers) in nodes.iter_mut().zip(servers) {
        node.servers = servers;
    }
    let division = divide(&nodes, &shares, 0);
    assert!(division.drained.is_empty() && division.resumed.is_empty());
}

#[test]
fn weights_minima_and_maxima_divide_a_pool() {
    let nodes: Vec<Node> = (0..10)
        .map(|name| node(name, None, State::Available, name % 2, 0))
        .collect();
    let share = |name: &str, weight, min_hosts, max_hosts| Share {
        created: String::new(),
        name: name.to_owned(),
        control_plane: name.to_owned(),
        weight,
        min_hosts,
        max_hosts,
        is_held: false,
    };
    let dues = |shares: &[Share], reserve| -> Vec<usize> {
        let division = divide(&nodes, shares, reserve);
        division.parts.into_values().map(|part| part.due).collect()
    };
    let any = None;
    assert_eq!(dues(&[share("a", 1, 0, any)], 0), [10]);
    assert_eq!(
        dues(&[share("a", 3, 0, any), share("b", 1, 0, any)], 2),
        [6, 2]
    );
    assert_eq!(
        dues(&[share("a", 3, 0, Some(4)), share("b", 1, 0, any)], 0),
        [4, 6]
    );
    assert_eq!(
        dues(&[share("a", 9, 0, any), share("b", 1, 4, any)], 0),
        [6, 4]
    );
    assert_eq!(
        dues(&[share("a", 0, 3, any), share("b", 0, 0, any)], 0),
        [3, 0]
    );
    assert_eq!(
        dues(&[share("a", 1, 8, any), share("b", 1, 8, any)], 0),
        [8, 2]
    );
    assert_eq!(
        dues(
            &[
                share("a", 1, 0, any),
                share("b", 1, 0, any),
                share("c", 1, 0, any)
            ],
            0
        ),
        [4, 3, 3]
    );
}

/// By zone, then by rack, the numbers of nodes that each of two new shares gets.
fn granted(nodes: &[Node], shares: &[Share; 2]) -> [BTreeMap<String, usize>; 2] {
    let division = divide(nodes, shares, 0);
    shares.each_ref().map(|share| {
        let mut domains = BTreeMap::new();
        for node in nodes {
            if division.granted.get(&node.name) == Some(&share.control_plane) {
                let domain = format!("{}/{}", node.domain.zone, node.domain.rack);
                *domains.entry(domain).or_insert(0) += 1;
            }
        }
        domains
    })
}

#[test]
fn shares_divide_a_zone_or_rack_with_few_nodes_among_them() {
    let shares = [share(1, 1, 0, None), share(2, 1, 0, None)];
    let of = |domains: [(&str, usize); 2]| {
        BTreeMap::from(domains.map(|(domain, count)| (domain.to_owned(), count)))
    };
    let zones = |name: u8| node(name, None, State::Available, u8::from(name >= 10), 0);
    let nodes: Vec<Node> = (0..12).map(zones).collect();
    let both = of([("zone-0/rack-0", 5), ("zone-1/rack-0", 1)]);
    assert_eq!(granted(&nodes, &shares), [both.clone(), both]);

    let racks = |name: u8| node(name, None, State::Available, 0, u8::from(name >= 10));
    let nodes: Vec<Node> = (0..12).map(racks).collect();
    let both = of([("zone-0/rack-0", 5), ("zone-0/rack-1", 1)]);
    assert_eq!(granted(&nodes, &shares), [both.clone(), both]);
}

#[test]
fn elder_share_gets_the_first_nodes_of_a_rack_by_name() {
    let nodes = leased(0..4, None, State::Available);
    let division = divide(&nodes, &[share(1, 1, 0, None), share(2, 1, 0, None)], 0);
    let planes: Vec<&String> = division.granted.values().collect();
    assert_eq!(planes, ["plane-1", "plane-1", "plane-2", "plane-2"]);
}

#[test]
fn reserve_that_is_dead_is_not_made_of_leased_nodes() {
    let mut nodes = leased(0..4, Some(1), State::Available);
    nodes.extend(leased(4..6, None, State::Dead));
    let division = divide(&nodes, &[share(1, 1, 0, None)], 2);
    assert!(division.drained.is_empty());
    assert_eq!(division.parts["share-1"].due, 4);
}
