//! Which nodes a share has lost, as its status and what protects nodes tell.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use provider_composer::{Live, ObservedState, Subject};

use crate::nodes::Node;

/// How many lost nodes a status names.
const MAX_LOST: usize = 1000;

/// Returns the nodes of a share that may have servers, as its status has them: those that it leases and those that it has lost. A node
/// that is wiped has none.
pub fn may_have_servers(share: &Subject<HypervisorShareSpec>) -> impl Iterator<Item = &str> {
    let hosts = share.status.hosts.iter();
    let hosts = hosts.filter(|host| host.phase != LeasePhase::Wiping);
    let lost = share.status.lost.iter().map(String::as_str);
    hosts.map(|host| host.name.as_str()).chain(lost)
}

/// Whether the status of a share has no room for another lost node, so that the share may have lost nodes that its status doesn't name.
pub fn is_full(share: &Subject<HypervisorShareSpec>) -> bool {
    share.status.lost.len() >= MAX_LOST
}

/// Returns the nodes that a share has lost, as far as its status and its pods tell: it leases them no longer, and no lease of theirs ended.
/// One ends with the wipe, which the share itself starts. `held` has the nodes with a pod that protects them: a status has 1,000 leased
/// nodes at most. What protects a lost node is deleted in the reconcile that writes the node to the status.
pub fn no_longer_leased(
    share: &Subject<HypervisorShareSpec>,
    leased: &[Live<Node>],
    held: BTreeSet<String>,
) -> BTreeSet<String> {
    let mut lost = held;
    lost.extend(may_have_servers(share).map(str::to_owned));
    for node in leased {
        lost.remove(&node.metadata.name);
    }
    lost
}

/// Returns those of the lost nodes that the status of a share has no room for: what protects them tells of them, and stays. Those that the
/// status names already come first, because nothing else tells of them any more. Then come those that are back: the pool, which gives up no
/// machine of a lost node, reads statuses alone.
pub fn without_room(
    share: &Subject<HypervisorShareSpec>,
    lost: &BTreeSet<String>,
    observed: &ObservedState<'_>,
) -> BTreeSet<String> {
    if lost.len() <= MAX_LOST {
        return BTreeSet::new();
    }
    let stored: BTreeSet<&String> = share.status.lost.iter().collect();
    let mut nodes: Vec<&String> = lost.iter().collect();
    nodes.sort_by_cached_key(|node| {
        let is_new = !stored.contains(node);
        // One that can't be read may be back.
        let is_away = is_new && observed.get::<Node>("", node).is_missing();
        (is_new, is_away)
    });
    nodes.into_iter().skip(MAX_LOST).cloned().collect()
}
