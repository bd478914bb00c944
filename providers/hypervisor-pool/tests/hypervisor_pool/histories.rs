//! Random histories of a pool: nodes fail, shares come and go, servers start on nodes as long as Nova lets them, reports are lost, and
//! the operator is killed between any two writes. Nobody loses a server, whatever happens.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::LeasePhase::{Draining, Leased, Releasing, Wiping};
use proptest::prelude::*;
use proptest::sample::Index;
use provider_hypervisor_pool::assignment::{Lease, Node, Share, State, divide};
use provider_hypervisor_pool::lifecycle::{Change, Evidence, Nova, changes};

use crate::pools::{counted, node, shares};

/// What really is on a node.
#[derive(Clone, Debug, Default)]
struct Truth {
    servers: u32,
    runs_agents: bool,
    /// The control plane whose data is on it.
    dirty: Option<String>,
    /// What Nova has done in this drain.
    service: Service,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Service {
    #[default]
    Enabled,
    Disabled,
    Removed,
}

#[derive(Clone, Debug, Default)]
struct World {
    nodes: Vec<Node>,
    truth: BTreeMap<String, Truth>,
    shares: Vec<Share>,
    reserve: u32,
}

#[derive(Clone, Debug)]
enum Event {
    Joins(u8, u8),
    /// A person deletes a Node.
    Deleted(Index),
    Becomes(Index, State),
    Shared(Share),
    Unshared(Index),
    /// Nova starts a server.
    Boots(Index),
    ServerEnds(Index),
    /// The kubelet of a node does what the node's labels say.
    Kubelet(Index),
    /// Nova does what the phase of a node asks for.
    Nova(Index),
    /// The operator reconciles, is killed after so many writes, and reads only some reports.
    Reconciles(usize, u8),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let share = shares().prop_filter_map("no share", |mut shares| shares.pop());
    let at = any::<Index>;
    let state = prop_oneof![
        4 => Just(State::Available),
        1 => Just(State::Unready),
        1 => Just(State::Dead),
        1 => Just(State::Away),
        1 => Just(State::Leaving),
    ];
    let writes = prop_oneof![3 => Just(usize::MAX), 1 => 0..3_usize];
    let event = prop_oneof![
        2 => (0..12_u8, 0..3_u8).prop_map(|(name, zone)| Event::Joins(name, zone)),
        1 => at().prop_map(Event::Deleted),
        2 => (at(), state).prop_map(|(index, state)| Event::Becomes(index, state)),
        2 => share.prop_map(Event::Shared),
        2 => at().prop_map(Event::Unshared),
        3 => at().prop_map(Event::Boots),
        3 => at().prop_map(Event::ServerEnds),
        6 => at().prop_map(Event::Kubelet),
        6 => at().prop_map(Event::Nova),
        8 => (writes, any::<u8>()).prop_map(|(writes, lost)| Event::Reconciles(writes, lost)),
    ];
    prop::collection::vec(event, 1..80)
}

/// Whether a node's kubelet doesn't report.
fn is_down(node: &Node) -> bool {
    node.state == State::Unready || node.state.is_dead()
}

impl World {
    fn at(&self, index: &Index) -> Option<(Node, Truth)> {
        let node = self.nodes.get(index.index(self.nodes.len().max(1)))?;
        Some((node.clone(), self.truth[&node.name].clone()))
    }

    /// What is reported of a node. Bits of `lost` are reports that could not be read.
    fn evidence(&self, node: &Node, lost: u8) -> Evidence {
        let truth = &self.truth[&node.name];
        let phase = node.lease.as_ref().map(|lease| lease.phase);
        let read = |bit: u8| lost >> bit & 1 == 0;
        Evidence {
            is_ready: !is_down(node),
            nova: match truth.service {
                _ if !read(0) => Nova::Silent,
                Service::Enabled => Nova::Silent,
                Service::Disabled => Nova::Disabled(truth.servers),
                Service::Removed => Nova::Removed,
            },
            has_no_domain: read(1) && truth.servers == 0,
            has_no_agent: read(2) && !truth.runs_agents,
            is_wiped: read(3) && phase == Some(Wiping) && truth.dirty.is_none(),
        }
    }

    fn changes(&self, lost: u8) -> BTreeMap<String, Change> {
        let division = divide(&self.nodes, &self.shares, self.reserve);
        let planes: Vec<&String> = self
            .shares
            .iter()
            .map(|share| &share.control_plane)
            .collect();
        changes(&self.nodes, &division, |index| {
            let lease = self.nodes[index].lease.as_ref()?;
            let is_shared = planes.contains(&&lease.control_plane);
            is_shared.then(|| self.evidence(&self.nodes[index], lost))
        })
    }

    /// Writes a change, and checks that it takes nothing from anybody.
    fn write(&mut self, name: &str, change: Change) -> Result<(), TestCaseError> {
        let truth = self
            .truth
            .get_mut(name)
            .expect("changes are of nodes that exist");
        let node = self
            .nodes
            .iter_mut()
            .find(|node| node.name == name)
            .expect("as above");
        let phase = node.lease.as_ref().map(|lease| lease.phase);
        prop_assert!(
            !node.state.is_dead() || matches!(change, Change::Enter(Draining)),
            "a dead node keeps its lease"
        );
        match change {
            Change::Lease(control_plane) => {
                prop_assert_eq!(phase, None, "a node has one lease at a time");
                prop_assert_eq!(node.state, State::Available);
                prop_assert!(
                    truth.servers == 0 && truth.dirty.is_none(),
                    "it is empty and wiped"
                );
                truth.service = Service::Enabled;
                node.lease = Some(Lease {
                    control_plane,
                    phase: Leased,
                });
            }
            Change::Enter(next) => {
                let steps = [
                    (Leased, Draining),
                    (Draining, Leased),
                    (Draining, Releasing),
                    (Releasing, Wiping),
                ];
                let Some(before) = phase else {
                    return Err(TestCaseError::fail("a free node has no phase"));
                };
                prop_assert!(steps.contains(&(before, next)), "{before:?} to {next:?}");
                prop_assert!(
                    next < Releasing || truth.servers == 0,
                    "{next:?} of a node with servers"
                );
                prop_assert!(
                    next != Wiping || !truth.runs_agents,
                    "agents run on a node that is wiped"
                );
                if next < Releasing {
                    // Another drain, of which Nova hasn't reported yet.
                    truth.service = Service::Enabled;
                }
                node.lease = node.lease.take().map(|lease| Lease {
                    phase: next,
                    ..lease
                });
            }
            Change::Free => {
                prop_assert_eq!(phase, Some(Wiping));
                prop_assert!(truth.servers == 0 && truth.dirty.is_none() && !truth.runs_agents);
                prop_assert_eq!(truth.service, Service::Removed);
                node.lease = None;
            }
        }
        Ok(())
    }

    fn reconcile(&mut self, writes: usize, lost: u8) -> Result<usize, TestCaseError> {
        let changes = self.changes(lost);
        let count = changes.len().min(writes);
        for (name, change) in changes.into_iter().take(writes) {
            self.write(&name, change)?;
        }
        Ok(count)
    }

    fn kubelet(&mut self, node: &Node) {
        let truth = self.truth.entry(node.name.clone()).or_default();
        if is_down(node) {
            return;
        }
        let lease = node.lease.as_ref();
        truth.runs_agents = lease.is_some_and(|lease| lease.phase < Releasing);
        if truth.runs_agents {
            truth.dirty = lease.map(|lease| lease.control_plane.clone());
        }
        let is_wiping = lease.is_some_and(|lease| lease.phase == Wiping);
        if is_wiping && truth.servers == 0 && !truth.runs_agents {
            truth.dirty = None;
        }
    }

    fn nova(&mut self, node: &Node) {
        let truth = self.truth.entry(node.name.clone()).or_default();
        truth.service = match node.lease.as_ref().map(|lease| lease.phase) {
            Some(Draining) => Service::Disabled,
            Some(Releasing) if truth.servers == 0 && !truth.runs_agents => Service::Removed,
            _ => truth.service,
        };
    }

    fn happens(&mut self, event: Event) -> Result<(), TestCaseError> {
        match event {
            Event::Joins(name, zone) => {
                let joined = node(name, None, State::Available, zone, 0);
                if !self.truth.contains_key(&joined.name) {
                    self.truth.insert(joined.name.clone(), Truth::default());
                    self.nodes.push(joined);
                }
            }
            Event::Deleted(index) => {
                if let Some((gone, _)) = self.at(&index) {
                    self.nodes.retain(|node| node.name != gone.name);
                    self.truth.remove(&gone.name);
                }
            }
            Event::Becomes(index, state) => {
                let index = index.index(self.nodes.len().max(1));
                if let Some(node) = self.nodes.get_mut(index) {
                    node.state = state;
                }
            }
            Event::Shared(share) => {
                self.shares.retain(|other| other.name != share.name);
                self.shares.push(share);
            }
            // As a finalizer keeps it: it is due nothing, and is gone once it has no node.
            Event::Unshared(index) => {
                let index = index.index(self.shares.len().max(1));
                if let Some(share) = self.shares.get_mut(index) {
                    (share.min_hosts, share.max_hosts) = (0, Some(0));
                }
            }
            Event::Boots(index) => {
                let booted = self
                    .at(&index)
                    .filter(|(_, truth)| truth.runs_agents && truth.service == Service::Enabled);
                if let Some((node, truth)) = booted {
                    let truth = Truth {
                        servers: truth.servers + 1,
                        ..truth
                    };
                    self.truth.insert(node.name, truth);
                }
            }
            Event::ServerEnds(index) => {
                if let Some((node, truth)) = self.at(&index) {
                    let truth = Truth {
                        servers: truth.servers.saturating_sub(1),
                        ..truth
                    };
                    self.truth.insert(node.name, truth);
                }
            }
            Event::Kubelet(index) => {
                if let Some((node, _)) = self.at(&index) {
                    self.kubelet(&node);
                }
            }
            Event::Nova(index) => {
                if let Some((node, _)) = self.at(&index) {
                    self.nova(&node);
                }
            }
            Event::Reconciles(writes, lost) => {
                self.reconcile(writes, lost)?;
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_history_takes_a_server_or_leaves_a_node_behind(events in events(), reserve in 0..3_u32) {
        let mut world = World { reserve, ..World::default() };
        for event in events {
            world.happens(event)?;
        }
        // Once nodes are well, servers are gone, and kubelets and Nova work, every drain comes to its end.
        for node in &mut world.nodes {
            node.state = match node.state {
                State::Unready | State::Dead | State::Away => State::Available,
                state => state,
            };
        }
        let mut rounds = 0;
        loop {
            let wrote = world.reconcile(usize::MAX, 0)?;
            for node in world.nodes.clone() {
                world.truth.get_mut(&node.name).expect("it exists").servers = 0;
                world.kubelet(&node);
                world.nova(&node);
            }
            rounds += 1;
            prop_assert!(rounds < 40, "it never settles");
            if wrote == 0 && rounds > 3 {
                break;
            }
        }
        let known = |node: &&Node| {
            let lease = node.lease.as_ref();
            lease.is_some_and(|lease| counted(&world.shares).iter().any(|share| share.control_plane == lease.control_plane))
        };
        prop_assert!(world.nodes.iter().filter(known).all(|node| node.lease.as_ref().is_some_and(|lease| lease.phase == Leased)));
        let division = divide(&world.nodes, &world.shares, reserve);
        for (share, part) in &division.parts {
            prop_assert!(part.hosts <= part.due && part.draining == 0, "{share} has {part:?}");
        }
        prop_assert!(world.changes(0).is_empty());
    }
}
