//! A control plane goes in the reverse order of the graph.

use std::collections::BTreeSet;
use std::fmt::Write;

use c5c3_api::control_plane::ControlPlaneStatus;
use provider_composer::{Access, DesiredState, Failure, Progress, Reason, ResourceKind};

use crate::catalogue;
use crate::graph::{GRAPH, Node, needed_by};
use crate::recipe::Recipe;
use crate::survey::survey;

/// Where K-ORC's kinds are.
const KORC: &str = "openstack.k-orc.cloud";

/// Keeps each node until nothing is left that needs it. Passwords stay: volumes do too.
///
/// # Errors
/// What is left can't be read.
pub fn dissolve(
    recipe: &Recipe<'_>,
    desired: &mut DesiredState,
) -> Result<ControlPlaneStatus, Failure> {
    let survey = survey(recipe, GRAPH.iter());
    let existing = survey.iter().filter(|(_, sight)| sight.may_exist());
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
        recipe.network(desired);
        recipe.keep_authority(desired);
    }
    let names: Vec<String> = left.iter().map(|node| node.step().title()).collect();
    let mut message = format!(
        "being deleted in reverse dependency order; left: {}",
        names.join(", ")
    );
    let mut deleted = survey.iter().filter(|(_, sight)| sight.is_deleted());
    if let Some((node, sight)) = deleted.find(|(_, sight)| !sight.message().is_empty()) {
        let _ = write!(message, "; {}: {}", node.step().title(), sight.message());
    }
    let progress = Progress::waiting(Reason::Deleting, message);
    desired.conditions.set("Ready", &progress);
    Ok(recipe.subject.status.clone())
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
