//! Leases that move when nodes and shares come and go, against the least possible.

use c5c3_api::hypervisor::LeasePhase;
use proptest::prelude::*;
use proptest::sample::Index;
use provider_hypervisor_pool::assignment::{Node, Share, State, divide};

use crate::assignment::least_surplus;
use crate::pools::{carried_out, counted, node};

/// Divisions until nothing changes any more: one drains, and the next leases what is free then.
const ROUNDS: usize = 4;

#[derive(Clone, Debug)]
enum Event {
    /// A node joins in a zone and rack.
    Joins(u8, u8),
    /// A node is deleted.
    Deleted(Index),
    Shared(Share),
    /// A share is deleted, and waits until its nodes are free.
    Unshared(Index),
    /// A share gets another weight.
    Weighed(Index, u32),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let share = (
        0..4_u8,
        0..6_u32,
        0..3_u32,
        prop::option::weighted(0.3, 0..8_u32),
    );
    let share = share.prop_map(|(plane, weight, min_hosts, max_hosts)| Share {
        created: format!("2026-01-0{plane}T00:00:00Z"),
        name: format!("share-{plane}"),
        control_plane: format!("plane-{plane}"),
        weight,
        min_hosts,
        max_hosts,
        is_held: false,
    });
    let event = prop_oneof![
        3 => (0..3_u8, 0..2_u8).prop_map(|(zone, rack)| Event::Joins(zone, rack)),
        1 => any::<Index>().prop_map(Event::Deleted),
        2 => share.prop_map(Event::Shared),
        1 => any::<Index>().prop_map(Event::Unshared),
        1 => (any::<Index>(), 0..6_u32).prop_map(|(share, weight)| Event::Weighed(share, weight)),
    ];
    prop::collection::vec(event, 1..24)
}

/// A pool without servers, whose nodes are free as soon as they are drained.
#[derive(Debug, Default)]
struct World {
    nodes: Vec<Node>,
    shares: Vec<Share>,
    /// The number of nodes that ever joined.
    joined: u8,
}

impl World {
    fn happens(&mut self, event: Event) {
        match event {
            Event::Joins(zone, rack) => {
                let joins = node(self.joined, None, State::Available, zone, rack);
                self.nodes.push(joins);
                self.joined += 1;
            }
            Event::Deleted(index) if !self.nodes.is_empty() => {
                self.nodes.remove(index.index(self.nodes.len()));
            }
            Event::Shared(share) => {
                let has = |other: &Share| other.name == share.name;
                if !self.shares.iter().any(has) {
                    self.shares.push(share);
                }
            }
            Event::Unshared(index) if !self.shares.is_empty() => {
                let share = index.index(self.shares.len());
                self.shares[share].max_hosts = Some(0);
            }
            Event::Weighed(index, weight) if !self.shares.is_empty() => {
                let share = index.index(self.shares.len());
                self.shares[share].weight = weight;
            }
            Event::Deleted(_) | Event::Unshared(_) | Event::Weighed(..) => {}
        }
    }

    /// Divides the pool until nothing changes. Returns how many nodes were drained.
    fn settle(&mut self, reserve: u32) -> Result<usize, TestCaseError> {
        let mut drained = 0;
        for _ in 0..ROUNDS {
            let division = divide(&self.nodes, &self.shares, reserve);
            if division.granted.is_empty() && division.drained.is_empty() {
                return Ok(drained);
            }
            drained += division.drained.len();
            self.nodes = carried_out(&self.nodes, &division);
            for node in &mut self.nodes {
                let phase = node.lease.as_ref().map(|lease| lease.phase);
                if phase == Some(LeasePhase::Draining) {
                    node.lease = None;
                }
            }
        }
        Err(TestCaseError::fail("the division doesn't settle"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn leases_move_no_more_than_the_fairest_division_needs(
        nodes in 0..12_u8, reserve in 0..3_u32, events in events(),
    ) {
        let mut world = World::default();
        for name in 0..nodes {
            world.happens(Event::Joins(name % 3, name % 2));
        }
        for event in events {
            world.happens(event.clone());
            let shares = counted(&world.shares);
            let dues = divide(&world.nodes, &world.shares, reserve).parts;
            let total = dues.values().map(|part| part.due).sum();
            let least = least_surplus(&world.nodes, &shares, reserve, total);
            let drained = world.settle(reserve)?;
            prop_assert_eq!(Some(drained), least, "after {:?}", event);
            world.shares.retain(|share| share.max_hosts != Some(0));
        }
    }
}
