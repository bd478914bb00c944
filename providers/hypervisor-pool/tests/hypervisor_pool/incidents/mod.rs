//! Random histories of a pool and its shares, in which people and machines do what nobody plans: Novas and Placements don't answer,
//! compute services, Nodes and labels are deleted or changed by hand, machines return by the same or another name, there are two pools, and
//! clocks jump.
//!
//! The pool knows of a node what its labels say. Where a person changes these, or deletes the Node with them, it may lease a machine that
//! has servers of another control plane. Then agents refuse the machine, and it is neither wiped nor freed before its servers are gone.

mod checks;
mod clouds;
mod machines;
mod world;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};

use self::world::{Labels, PLANES, World, second_pool};
use crate::drain::cordon;
use crate::fixture::*;

#[derive(Clone, Debug)]
enum Event {
    Joins(u8),
    /// The machine of a deleted Node is back, with its labels or without them.
    NodeReturns(Index, bool),
    /// Something happens to one of the nodes that are there.
    Node(Index, NodeEvent),
    /// A control plane's share: its weight, `minHosts`, and whether it is held.
    Shared(&'static str, u32, u32, bool),
    Unshared(&'static str),
    SecondPool(bool),
    ClockJumps(i64),
    NovaUnreachable(&'static str, bool),
    PlacementUnreachable(&'static str, bool),
    /// The operator reconciles, and is killed after so many writes and calls.
    PoolReconciles(usize),
    ShareReconciles(&'static str, usize),
    /// Everyone does what there is to do.
    TimePasses,
}

#[derive(Clone, Copy, Debug)]
enum NodeEvent {
    Deleted,
    Renamed,
    Ready(bool),
    Cordoned(bool),
    /// A person sets or removes the label of a lease.
    Labelled(Option<&'static str>),
    ServicesDeleted,
    Boots,
    ServerEnds,
    Kubelet,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let at = any::<Index>;
    let plane = || select(vec!["one", "two"]);
    let label = select(vec![None, Some("one"), Some("two"), Some("unknown")]);
    let writes = || prop_oneof![3 => Just(usize::MAX), 1 => 1..4_usize];
    let often = || prop::bool::weighted(0.7);
    let rarely = || prop::bool::weighted(0.3);
    let share = (plane(), 0..4_u32, 0..3_u32, prop::bool::weighted(0.15));
    let of_node = prop_oneof![
        1 => Just(NodeEvent::Deleted),
        1 => Just(NodeEvent::Renamed),
        2 => often().prop_map(NodeEvent::Ready),
        3 => any::<bool>().prop_map(NodeEvent::Cordoned),
        1 => label.prop_map(NodeEvent::Labelled),
        1 => Just(NodeEvent::ServicesDeleted),
        3 => Just(NodeEvent::Boots),
        3 => Just(NodeEvent::ServerEnds),
        4 => Just(NodeEvent::Kubelet),
    ];
    let event = prop_oneof![
        1 => (4..6_u8).prop_map(Event::Joins),
        2 => (at(), any::<bool>()).prop_map(|(index, labels)| Event::NodeReturns(index, labels)),
        19 => (at(), of_node).prop_map(|(index, event)| Event::Node(index, event)),
        3 => share.prop_map(|(plane, weight, min, held)| Event::Shared(plane, weight, min, held)),
        1 => plane().prop_map(Event::Unshared),
        1 => rarely().prop_map(Event::SecondPool),
        1 => (-2_000..2_000_i64).prop_map(Event::ClockJumps),
        1 => (plane(), rarely()).prop_map(|(plane, down)| Event::NovaUnreachable(plane, down)),
        2 => (plane(), any::<bool>()).prop_map(|(plane, down)| Event::PlacementUnreachable(plane, down)),
        4 => writes().prop_map(Event::PoolReconciles),
        4 => (plane(), writes()).prop_map(|(plane, writes)| Event::ShareReconciles(plane, writes)),
        8 => Just(Event::TimePasses),
    ];
    prop::collection::vec(event, 1..50)
}

impl World {
    fn happens(&mut self, event: Event) -> Result<(), TestCaseError> {
        self.wait(3);
        match event {
            Event::Joins(number) => self.join(number),
            Event::NodeReturns(index, with_labels) => self.register_again(&index, with_labels),
            Event::Node(index, event) => {
                if let Some(name) = self.name(&index) {
                    self.happens_to(&name, event);
                }
            }
            Event::Shared(plane, weight, min_hosts, is_held) => {
                self.share(plane, weight, min_hosts, is_held);
            }
            Event::Unshared(plane) => self.cluster.delete(&share_key(plane)),
            Event::SecondPool(exists) => self.set_second_pool(exists),
            Event::ClockJumps(seconds) => self.wait(seconds),
            Event::NovaUnreachable(plane, is_down) => self.set_unreachable(plane, is_down),
            Event::PlacementUnreachable(plane, is_down) => self.set_placement(plane, is_down),
            Event::PoolReconciles(writes) => self.reconcile_pool(writes)?,
            Event::ShareReconciles(plane, writes) => self.reconcile_share(plane, writes)?,
            Event::TimePasses => self.pass()?,
        }
        self.check_clouds()
    }

    fn happens_to(&mut self, name: &str, event: NodeEvent) {
        match event {
            NodeEvent::Deleted => self.delete_node(name),
            NodeEvent::Renamed => self.rename(name),
            NodeEvent::Ready(is_ready) => self.set_ready(name, is_ready),
            NodeEvent::Cordoned(is_cordoned) => cordon(&mut self.cluster, name, is_cordoned),
            NodeEvent::Labelled(lease) => self.label(name, lease),
            NodeEvent::ServicesDeleted => self.delete_services(name),
            NodeEvent::Boots => self.boot(name),
            NodeEvent::ServerEnds => self.end_server(name),
            NodeEvent::Kubelet => self.kubelet(name),
        }
    }

    /// Everyone acts once.
    fn pass(&mut self) -> Result<(), TestCaseError> {
        self.wait(11);
        self.reconcile_pool(usize::MAX)?;
        for name in self.names() {
            self.kubelet(&name);
        }
        for (plane, _) in PLANES {
            self.reconcile_share(plane, usize::MAX)?;
        }
        self.check_clouds()
    }

    /// Lets the operator of a share reconcile, which changes no lease.
    fn reconcile_share(&mut self, plane: &str, writes: usize) -> Result<(), TestCaseError> {
        let before = self.labels();
        // A failure is in the status, and the shares have what they are due in the end.
        let _ = self
            .cluster
            .reconcile_until(&HypervisorShare, &share_key(plane), writes);
        prop_assert_eq!(self.labels(), before);
        // Between two pools nothing is reconciled.
        let is_one = self.cluster.get(&second_pool()).is_none();
        let is_reachable = !self.novas[plane].change(|state| state.is_unreachable);
        if writes == usize::MAX && is_one && is_reachable && self.has_counted(plane) {
            self.check_counted(plane)?;
        }
        Ok(())
    }

    /// Lets the operator of the pool reconcile, and checks each change of a lease.
    fn reconcile_pool(&mut self, writes: usize) -> Result<(), TestCaseError> {
        let before = self.labels();
        let is_one = self.cluster.get(&second_pool()).is_none();
        let planes = || PLANES.into_iter().map(|(plane, _)| plane);
        let uncounted: Vec<&str> = planes().filter(|plane| !self.may_choose(plane)).collect();
        let counted: Vec<&str> = planes().filter(|plane| self.has_counted(plane)).collect();
        for key in [pool_key(), second_pool()] {
            // As above.
            let _ = self.cluster.reconcile_until(&HypervisorPool, &key, writes);
        }
        for (name, before) in &before {
            let after = self.labels_of(name);
            if *before != after {
                prop_assert!(is_one, "two pools change {name}");
                self.check_change(name, before, &after)?;
            }
        }
        if is_one && writes == usize::MAX {
            self.check_removable()?;
            for plane in uncounted {
                self.check_keeps_working_nodes(plane, &before)?;
            }
            for plane in counted {
                self.check_gives_up_the_emptiest(plane, &before)?;
            }
        }
        Ok(())
    }

    /// Checks that everything comes to rest, and that every share has what it is due then.
    fn check_rest(&mut self) -> Result<(), TestCaseError> {
        self.repair();
        let (mut rounds, mut quiet) = (0, 0);
        while quiet < 2 {
            let before = self.cluster.writes();
            self.pass()?;
            quiet = match self.cluster.writes() == before {
                true => quiet + 1,
                false => 0,
            };
            rounds += 1;
            prop_assert!(rounds < 80, "it never settles");
        }
        for (plane, _) in PLANES {
            let share = self.cluster.get(&share_key(plane));
            let deleted = share.and_then(|share| share.pointer("/metadata/deletionTimestamp"));
            prop_assert!(deleted.is_none(), "the share of {plane} isn't deleted");
        }
        let shared = PLANES
            .into_iter()
            .filter(|(plane, _)| self.has_share(plane));
        for (plane, _) in shared {
            let part = share_of(&self.cluster, plane);
            prop_assert_eq!(&part["hosts"], &part["due"], "{}", part);
            prop_assert_eq!(part.get("draining"), None, "{}", part);
        }
        for (name, machine) in &self.machines {
            let (labels, records) = (self.labels_of(name), self.records(name));
            let what = format!("{name}: {labels:?}, {machine:?}, in {records:?}");
            let is_irregular = self.irregular.contains(name);
            let Some(plane) = &labels.lease else {
                let is_free = labels == Labels::default() && machine.files.is_none();
                prop_assert!(is_free, "{what}");
                prop_assert!(is_irregular || records.is_empty(), "{what}");
                continue;
            };
            prop_assert!(self.has_share(plane) && labels.phase.is_none(), "{what}");
            prop_assert_eq!(machine.runs.as_ref(), Some(plane), "{}", what);
            prop_assert!(is_irregular || records.len() == 1, "{what}");
            let is_enabled = self.novas[plane].change(|state| {
                let service = state.services.get(name);
                service.is_some_and(|service| service.is_up && service.disabled.is_none())
            });
            prop_assert!(is_enabled, "{what}");
        }
        Ok(())
    }
}

/// Runs a history of a pool that is new, or whose nodes are leased and have servers.
fn run(events: Vec<Event>, has_servers: bool) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for (plane, _) in PLANES {
        world.share(plane, 1, 0, false);
    }
    if has_servers {
        // Hosts with servers join no aggregate.
        for _ in 0..3 {
            world.pass()?;
        }
        for name in world.names() {
            world.boot(&name);
        }
    }
    for event in events {
        world.happens(event)?;
    }
    world.check_rest()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn new_pool_loses_no_server_and_puts_no_host_in_two_clouds(events in events()) {
        run(events, false)?;
    }

    #[test]
    fn pool_with_servers_loses_none_and_puts_no_host_in_two_clouds(events in events()) {
        run(events, true)?;
    }
}
