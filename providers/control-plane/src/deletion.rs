//! The deletion of a control plane, and of what it doesn't want any more, in the reverse order of the graph.

use std::collections::BTreeSet;
use std::fmt::Write;

use c5c3_api::control_plane::ControlPlaneStatus;
use provider_composer::{Access, DesiredState, Failure, Lookup, Progress, Reason, ResourceKind};

use crate::catalogue;
use crate::graph::{GRAPH, Node, needed_by};
use crate::node_state::{NodeState, NodeStates, observe};
use crate::recipe::Recipe;

/// Where K-ORC's kinds are.
const KORC: &str = "openstack.k-orc.cloud";

/// Keeps each node until nothing is left that needs it. Passwords stay: volumes do too.
///
/// # Errors
/// What is left can't be read.
pub fn tear_down(
    recipe: &mut Recipe<'_>,
    desired: &mut DesiredState,
) -> Result<ControlPlaneStatus, Failure> {
    let states = observe(recipe, GRAPH.iter());
    let existing = states.iter().filter(|(_, state)| state.may_exist());
    let mut left: BTreeSet<Node> = existing.map(|(node, _)| *node).collect();
    let offering = catalogue::offers_remain(recipe);
    let is_needed = |node: Node, left: &BTreeSet<Node>| {
        offering.contains(&node)
            || (node == Node::Catalogue && !offering.is_empty())
            || needed_by(node).any(|step| left.contains(&step.node))
    };
    if is_needed(Node::Catalogue, &left) {
        let keys = recipe.composed(kinds());
        desired
            .kept
            .extend(keys.map_err(|why| Failure::transient(Reason::LookupFailed, why))?);
    } else if catalogue::remains(recipe, desired) {
        left.insert(Node::Catalogue);
    }
    for step in GRAPH.iter() {
        if is_needed(step.node, &left) {
            desired.kept.extend(step.keys(recipe.namespace()));
        }
    }
    if !left.is_empty() {
        let is_left = |node| left.contains(&node);
        recipe.graph.keep_needed(is_left, is_left);
        recipe.network(desired);
        recipe.keep_authority(desired);
    }
    desired.conditions.set("Ready", &waiting(&left, &states));
    Ok(recipe.subject.status.clone())
}

/// Returns what the deletion of nodes that aren't wanted waits for, if one of them is known to exist.
pub fn removal(unwanted: &BTreeSet<Node>, states: &NodeStates) -> Option<Progress> {
    let exists = |node: &Node| states.get(node).is_some_and(NodeState::exists);
    unwanted
        .iter()
        .any(exists)
        .then(|| waiting(unwanted, states))
}

/// Names what is left to delete, and what the first of it that is being deleted, or can't be read, waits for.
fn waiting(left: &BTreeSet<Node>, states: &NodeStates) -> Progress {
    let names: Vec<String> = left.iter().map(|node| node.step().title()).collect();
    let mut message = format!(
        "being deleted in reverse dependency order; left: {}",
        names.join(", ")
    );
    let each = states.iter().filter(|(node, _)| left.contains(*node));
    let mut holding = each.filter(|(_, state)| {
        let is_unknown = matches!(state.object, Lookup::Unknown(_));
        (state.is_deleted() || is_unknown) && !state.message().is_empty()
    });
    if let Some((node, state)) = holding.next() {
        let _ = write!(message, "; {}: {}", node.step().title(), state.message());
    }
    Progress::waiting(Reason::Deleting, message)
}

/// Whether anything of the catalogue may have been made.
pub fn may_have_catalogue(recipe: &Recipe<'_>) -> bool {
    let kinds = kinds().filter(|kind| kind.group == KORC);
    recipe.composed(kinds).map_or(true, |keys| !keys.is_empty())
}

/// The kinds that the catalogue composes.
fn kinds() -> impl Iterator<Item = ResourceKind> {
    let uses = catalogue::uses().into_iter();
    let composed = uses.filter(|used| used.access == Access::Composes);
    composed.map(|used| used.kind)
}
