//! Outages: what is between many nodes and the API server has failed, and not these machines.

use std::collections::BTreeMap;

use super::{Domain, Node, State};

/// How many nodes of a zone or rack are down in an outage at least, as in Kubernetes (pkg/controller/nodelifecycle,
/// `ComputeZoneState`): one or two may as well have failed by themselves.
const FEWEST: usize = 3;

/// The nodes that are to be up, and those of them that aren't.
#[derive(Default)]
struct Count {
    all: usize,
    down: usize,
}

impl Count {
    fn add(&mut self, state: State) {
        let is_down = state == State::Unready || state.is_dead();
        self.all += usize::from(is_down || state == State::Available);
        self.down += usize::from(is_down);
    }

    fn is_most(&self) -> bool {
        self.down * 2 > self.all
    }

    fn is_outage(&self) -> bool {
        self.down >= FEWEST && self.is_most()
    }
}

/// Marks the dead nodes of a rack, a zone or a pool of which more than half isn't Ready as away, so that they aren't replaced.
pub fn mark_away(nodes: &mut [Node]) {
    if nodes.iter().all(|node| node.state != State::Dead) {
        // Most pools, most of the time.
        return;
    }
    for index in away(nodes) {
        nodes[index].state = State::Away;
    }
}

/// The indices of these nodes.
fn away(nodes: &[Node]) -> Vec<usize> {
    let mut pool = Count::default();
    let mut zones: BTreeMap<&str, Count> = BTreeMap::new();
    let mut racks: BTreeMap<&Domain, Count> = BTreeMap::new();
    for node in nodes {
        let domain = &node.domain;
        pool.add(node.state);
        zones.entry(&domain.zone).or_default().add(node.state);
        racks.entry(domain).or_default().add(node.state);
    }
    let is_away = |node: &Node| {
        let domain = &node.domain;
        pool.is_most()
            || zones
                .get(domain.zone.as_str())
                .is_some_and(Count::is_outage)
            || racks.get(domain).is_some_and(Count::is_outage)
    };
    let dead = nodes.iter().enumerate();
    let dead = dead.filter(|(_, node)| node.state == State::Dead && is_away(node));
    dead.map(|(index, _)| index).collect()
}
