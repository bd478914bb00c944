//! Properties of the assignment of nodes to shares, against independent and exhaustive computations on small pools.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::LeasePhase;
use proptest::prelude::*;
use provider_hypervisor_pool::assignment::{Division, Lease, Node, Servers, Share, State, divide};

use crate::pools::{
    alive, capacity, carried_out, counted, free, held, in_phase, most, node, nodes, shares, works,
};

/// The part of each share without rounding: its weight times a level that is found by bisection, within its limits.
fn exact(nodes: &[Node], shares: &[&Share], capacity: usize) -> Vec<f64> {
    let mut rest = capacity;
    let limits: Vec<(f64, f64)> = shares
        .iter()
        .map(|share| {
            let most = most(nodes, share);
            let least = (share.min_hosts as usize).min(most).min(rest);
            rest -= least;
            (least as f64, most as f64)
        })
        .collect();
    let parts = |level: f64| -> Vec<f64> {
        let parts = shares.iter().zip(&limits);
        parts
            .map(|(share, (least, most))| (f64::from(share.weight) * level).clamp(*least, *most))
            .collect()
    };
    let (mut low, mut high) = (0.0, capacity as f64 + 1.0);
    for _ in 0..200 {
        let level = f64::midpoint(low, high);
        match parts(level).iter().sum::<f64>() > capacity as f64 {
            true => high = level,
            false => low = level,
        }
    }
    parts(low)
}

/// The least number of leased nodes that shares give up, of all roundings of their parts to this many nodes in total.
pub fn least_surplus(
    nodes: &[Node],
    shares: &[&Share],
    reserve: u32,
    total: usize,
) -> Option<usize> {
    let exact = exact(nodes, shares, capacity(nodes, shares, reserve));
    let roundings = (0..1_u32 << exact.len()).filter_map(|ups| {
        let dues = exact.iter().enumerate().map(|(index, part)| {
            let down = (part + 1e-6).floor() as usize;
            let is_whole = (part - part.round()).abs() < 1e-6;
            down + usize::from(ups >> index & 1 == 1 && !is_whole)
        });
        let dues: Vec<usize> = dues.collect();
        (dues.iter().sum::<usize>() == total).then_some(dues)
    });
    let surplus = roundings.map(|dues| {
        let pairs = shares.iter().zip(dues);
        let surplus = pairs.map(|(share, due)| held(nodes, share).saturating_sub(due));
        surplus.sum::<usize>()
    });
    surplus.min()
}

/// Sums of squares, which are least where numbers are as equal as they can be: by zone, then by rack.
fn spread<'a>(nodes: impl Iterator<Item = &'a Node>) -> (usize, usize) {
    let (mut zones, mut racks) = (BTreeMap::new(), BTreeMap::new());
    for node in nodes {
        *zones.entry(&node.domain.zone).or_insert(0_usize) += 1;
        *racks.entry(&node.domain).or_insert(0_usize) += 1;
    }
    let squares = |counts: Vec<usize>| counts.into_iter().map(|count| count * count).sum();
    (
        squares(zones.into_values().collect()),
        squares(racks.into_values().collect()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn only_free_nodes_are_granted_and_only_to_shares_below_their_part(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let free: BTreeSet<&String> = free(&nodes).into_iter().map(|node| &node.name).collect();
        for name in division.granted.keys() {
            prop_assert!(free.contains(name));
        }
        let left = free.len() - division.granted.len();
        prop_assert!(division.granted.is_empty() || left >= alive(&nodes, reserve) as usize);
        for share in counted(&shares) {
            let granted = division.granted.values().filter(|plane| **plane == share.control_plane);
            let (granted, part) = (granted.count(), division.parts[&share.name]);
            let resumed = in_phase(&nodes, share, LeasePhase::Draining);
            let resumed = resumed.filter(|node| division.resumed.contains(&node.name)).count();
            prop_assert_eq!(part.hosts, held(&nodes, share).min(part.due) + resumed + granted);
            prop_assert!(part.hosts <= part.due);
            prop_assert!(part.due <= most(&nodes, share));
            prop_assert!(!share.is_held || granted == 0);
        }
    }

    #[test]
    fn surplus_and_leaving_nodes_are_drained_and_no_other(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let mut drained = 0;
        for share in counted(&shares) {
            let due = division.parts[&share.name].due;
            let surplus = in_phase(&nodes, share, LeasePhase::Leased);
            let surplus: Vec<&Node> = surplus.filter(|node| division.drained.contains(&node.name)).collect();
            prop_assert_eq!(surplus.len(), held(&nodes, share).saturating_sub(due));
            let stays = |node: &&Node| node.state == State::Available && !division.drained.contains(&node.name);
            prop_assert!(
                surplus.iter().all(|node| node.state == State::Available)
                    || !in_phase(&nodes, share, LeasePhase::Leased).any(|node| stays(&node)),
                "a node that isn't Ready is drained last"
            );
            // A share that may have no node gives up dead ones too.
            let gives_up = |node: &&Node| match node.state {
                State::Dead | State::Away => share.max_hosts == Some(0),
                state => state == State::Leaving,
            };
            let leaving = nodes.iter().filter(gives_up);
            let leased = Lease { control_plane: share.control_plane.clone(), phase: LeasePhase::Leased };
            let leaving: Vec<&Node> = leaving.filter(|node| node.lease.as_ref() == Some(&leased)).collect();
            prop_assert!(leaving.iter().all(|node| division.drained.contains(&node.name)));
            drained += surplus.len() + leaving.len();
        }
        prop_assert_eq!(division.drained.len(), drained);
    }

    #[test]
    fn share_takes_its_own_nodes_back_before_it_gets_others(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let mut resumed = 0;
        for share in counted(&shares) {
            let missing = division.parts[&share.name].due.saturating_sub(held(&nodes, share));
            let returning = || in_phase(&nodes, share, LeasePhase::Draining);
            let back = returning().filter(|node| division.resumed.contains(&node.name)).count();
            prop_assert_eq!(back, missing.min(returning().count()));
            resumed += back;
        }
        prop_assert_eq!(division.resumed.len(), resumed);
    }

    #[test]
    fn free_nodes_are_leased_until_every_share_has_its_part(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let left = free(&nodes).len() - division.granted.len();
        let is_short = division.parts.values().any(|part| part.hosts + part.unreplaced < part.due);
        prop_assert!(!is_short || left <= reserve as usize);
    }

    #[test]
    fn parts_follow_weights_to_within_one_node(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let shares_by_age = counted(&shares);
        let capacity = capacity(&nodes, &shares_by_age, reserve);
        let division = divide(&nodes, &shares, reserve);
        let exact = exact(&nodes, &shares_by_age, capacity);
        let mut sum = 0;
        for (share, exact) in shares_by_age.iter().zip(&exact) {
            let due = division.parts[&share.name].due;
            prop_assert!((due as f64 - exact).abs() < 1.0 - 1e-9 || (due as f64 - exact).abs() < 1e-6);
            sum += due;
        }
        prop_assert_eq!(sum, exact.iter().sum::<f64>().round() as usize);
    }

    #[test]
    fn elder_shares_get_min_hosts_first(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let mut is_short = false;
        for share in counted(&shares) {
            let least = (share.min_hosts as usize).min(most(&nodes, share));
            let granted = division.granted.values().any(|plane| *plane == share.control_plane);
            prop_assert!(!is_short || !granted);
            let part = division.parts[&share.name];
            is_short |= part.hosts + part.unreplaced < least;
        }
    }

    #[test]
    fn no_rounding_takes_more_nodes_from_shares_than_the_least_possible(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let shares_by_age = counted(&shares);
        let division = divide(&nodes, &shares, reserve);
        let dues = || shares_by_age.iter().map(|share| (share, division.parts[&share.name].due));
        let surplus: usize = dues().map(|(share, due)| held(&nodes, share).saturating_sub(due)).sum();
        let total = dues().map(|(_, due)| due).sum();
        prop_assert_eq!(Some(surplus), least_surplus(&nodes, &shares_by_age, reserve, total));
    }

    #[test]
    fn order_of_input_does_not_count(nodes in nodes(), shares in shares(), reserve in 0..4_u32) {
        let mut others = (nodes.clone(), shares.clone());
        others.0.reverse();
        others.1.reverse();
        prop_assert_eq!(divide(&nodes, &shares, reserve), divide(&others.0, &others.1, reserve));
    }

    #[test]
    fn division_that_is_carried_out_changes_nothing_more(nodes in nodes(), shares in shares(), reserve in 0..4_u32) {
        let division = divide(&nodes, &shares, reserve);
        let again = divide(&carried_out(&nodes, &division), &shares, reserve);
        let settled = Division { parts: division.parts, ..Division::default() };
        prop_assert_eq!(again, settled);
    }

    #[test]
    fn surplus_has_no_node_with_twice_the_servers_of_one_that_stays(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        for share in counted(&shares) {
            let own = in_phase(&nodes, share, LeasePhase::Leased);
            let (surplus, stay): (Vec<&Node>, Vec<&Node>) = own
                .filter(|node| node.state == State::Available)
                .partition(|node| division.drained.contains(&node.name));
            let most = surplus.iter().map(|node| node.servers).max();
            let least = stay.iter().map(|node| node.servers).min();
            if let (Some(most), Some(least)) = (most, least) {
                let is_similar = matches!((most, least), (Servers::Known(most), Servers::Known(least)) if most < 2 * least);
                prop_assert!(most <= least || is_similar, "{most:?} goes and {least:?} stays");
            }
            let chosen: BTreeSet<&String> = division.chosen.get(&share.name).into_iter().flatten().collect();
            let expected = surplus.iter().map(|node| &node.name).filter(|_| !stay.is_empty());
            prop_assert_eq!(chosen, expected.collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn share_keeps_what_is_postponed_and_others_are_divided_as_before(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let mut postponed = division.clone();
        let chosen: BTreeSet<&String> = division.chosen.values().flatten().collect();
        for share in division.chosen.keys() {
            postponed.postpone(share);
        }
        let drained = division.drained.iter().filter(|name| !chosen.contains(name));
        prop_assert_eq!(postponed.drained.iter().collect::<Vec<_>>(), drained.collect::<Vec<_>>());
        prop_assert!(postponed.chosen.is_empty());
        prop_assert_eq!((&postponed.granted, &postponed.resumed), (&division.granted, &division.resumed));
        for (share, part) in &postponed.parts {
            let (before, count) = (division.parts[share], division.chosen.get(share).map_or(0, BTreeSet::len));
            prop_assert_eq!((part.hosts, part.due), (before.hosts + count, before.due));
            prop_assert_eq!(part.draining + count, before.draining);
        }
        // Once it is carried out, nothing is chosen otherwise.
        let again = divide(&carried_out(&nodes, &postponed), &shares, reserve);
        prop_assert_eq!(&again.chosen, &division.chosen);
    }

    /// Where it isn't known which nodes have servers.
    #[test]
    fn the_only_share_is_spread_as_evenly_as_any_choice_of_nodes(
        mut nodes in nodes(), max_hosts in 0..8_u32,
    ) {
        for node in &mut nodes {
            node.servers = Servers::Unknown;
        }
        let share = Share {
            created: String::new(),
            name: "share".to_owned(),
            control_plane: "plane-0".to_owned(),
            weight: 1,
            min_hosts: 0,
            max_hosts: Some(max_hosts),
            is_held: false,
        };
        let division = divide(&nodes, std::slice::from_ref(&share), 0);
        let after = carried_out(&nodes, &division);
        let ours = spread(in_phase(&after, &share, LeasePhase::Leased));
        // All that could have been chosen instead: of the share's own nodes where it has too many, else of the free ones.
        let is_over = held(&nodes, &share) > division.parts["share"].due;
        let own = |node: &&Node| node.state == State::Available && in_phase(&nodes, &share, LeasePhase::Leased).any(|own| own == *node);
        let choice: Vec<&Node> = match is_over {
            true => nodes.iter().filter(own).collect(),
            false => free(&nodes),
        };
        let chosen = |node: &&&Node| in_phase(&after, &share, LeasePhase::Leased).any(|own| own.name == node.name);
        let count = choice.iter().filter(chosen).count();
        let fixed: Vec<&Node> = in_phase(&after, &share, LeasePhase::Leased)
            .filter(|node| choice.iter().all(|other| other.name != node.name)).collect();
        let best = (0..1_u32 << choice.len())
            .filter(|set| set.count_ones() as usize == count)
            .map(|set| {
                let others = choice.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
                spread(fixed.iter().copied().chain(others.map(|(_, node)| *node))).0
            })
            .min();
        prop_assert_eq!(Some(ours.0), best);
    }

    /// With one rack in each of two zones.
    #[test]
    fn shares_of_one_size_that_take_nodes_at_once_are_spread_alike(
        sizes in (0..12_u8, 0..12_u8), count in 1..5_u8, most in 0..8_u32,
    ) {
        let nodes = (0..sizes.0 + sizes.1)
            .map(|name| node(name, None, State::Available, u8::from(name < sizes.0), 0));
        let nodes: Vec<Node> = nodes.collect();
        let most = most.min(nodes.len() as u32 / u32::from(count));
        let shares = (0..count).map(|plane| Share {
            created: format!("2026-01-0{plane}T00:00:00Z"),
            name: format!("share-{plane}"),
            control_plane: format!("plane-{plane}"),
            weight: 1,
            min_hosts: 0,
            max_hosts: Some(most),
            is_held: false,
        });
        let shares: Vec<Share> = shares.collect();
        let after = carried_out(&nodes, &divide(&nodes, &shares, 0));
        for zone in ["zone-0", "zone-1"] {
            let counts = shares.iter().map(|share| {
                let own = in_phase(&after, share, LeasePhase::Leased);
                own.filter(|node| node.domain.zone == zone).count()
            });
            let counts: Vec<usize> = counts.collect();
            let (least, most) = (counts.iter().min(), counts.iter().max());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{zone}: {counts:?}");
        }
    }

    #[test]
    fn no_exchange_with_a_free_node_spreads_a_share_better(
        nodes in nodes(), shares in shares(), reserve in 0..4_u32,
    ) {
        let division = divide(&nodes, &shares, reserve);
        let after = carried_out(&nodes, &division);
        for (name, plane) in &division.granted {
            let leased = Lease { control_plane: plane.clone(), phase: LeasePhase::Leased };
            let mine = |node: &&Node| works(node) && node.lease.as_ref() == Some(&leased);
            let ours = spread(after.iter().filter(mine));
            for other in free(&after) {
                let rest = after.iter().filter(mine).filter(|node| node.name != *name);
                prop_assert!(spread(rest.chain(Some(other))) >= ours);
            }
        }
    }
}
