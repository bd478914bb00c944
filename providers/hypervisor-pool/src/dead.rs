//! What a pool says of nodes that haven't been Ready for long.

use provider_composer::{Conditions, Live, Progress, Reason, named};

use crate::nodes::{self, Node};
use crate::state::PoolState;

/// Reports dead nodes: who leases each, since when it isn't Ready, and whether their shares get others.
pub fn report(nodes: &[Live<Node>], state: &PoolState, conditions: &mut Conditions) {
    let dead = nodes.iter().zip(&state.nodes);
    let dead = dead.filter(|(_, node)| node.state.is_dead());
    let dead = dead.map(|(node, _)| {
        let since = node.body.not_ready_since();
        let since = since.map_or_else(String::new, |since| since.to_string());
        let lease = nodes::lease(node).map(|lease| format!(", leased by {lease}"));
        let name = &node.metadata.name;
        format!("{name} (since {since}{})", lease.unwrap_or_default())
    });
    let dead: Vec<String> = dead.collect();
    if dead.is_empty() {
        return;
    }
    // A held share gets no others, however few are dead.
    let others = state.shares.iter().filter(|share| !share.is_held);
    let parts = others.filter_map(|share| state.division.parts.get(&share.name));
    let unreplaced: usize = parts.map(|part| part.unreplaced).sum();
    let unreplaced = match unreplaced {
        0 => String::new(),
        count => {
            format!("For {count} of them, shares get no others, because so many are down at once. ")
        }
    };
    let message = format!(
        "these nodes haven't been Ready for {} minutes: {}. They keep their leases, because servers may still run there. \
         {unreplaced}Repair them, or cordon those that stay away, so that others replace them. Where a machine is off for good, delete its \
         Node, and evacuate its servers",
        nodes::DEAD_AFTER.as_mins(),
        named(&dead, ", ")
    );
    let progress = Progress::failed(Reason::NodeNotReady, message);
    conditions.note("NodesReady", &progress);
}
