//! A control plane goes in the reverse order of the graph.

use std::collections::BTreeSet;

use c5c3_api::control_plane::ControlPlaneStatus;
use provider_composer::{
    Access, DesiredState, Failure, Key, Lookup, ObservedState, Owner, Progress, Reason, Resource,
    ResourceKind,
};

use crate::catalogue;
use crate::graph::{GRAPH, Node, needed_by};
use crate::recipe::{ControlPlane, Recipe};
use crate::survey::survey;

/// Where K-ORC's kinds are.
const KORC: &str = "openstack.k-orc.cloud";

/// Keeps each node until nothing is left that needs it. Passwords stay: volumes do too.
///
/// # Errors
/// What is left can't be read.
pub fn dissolve(
    recipe: &Recipe<'_>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<ControlPlaneStatus, Failure> {
    let survey = survey(recipe, observed, GRAPH.iter());
    let mut left: BTreeSet<Node> = survey
        .into_iter()
        .filter_map(|(node, sight)| sight.may_exist().then_some(node))
        .collect();
    let types = catalogue::volume_types_remain(recipe, observed);
    let is_needed = |node: Node, left: &BTreeSet<Node>| {
        (types && matches!(node, Node::Cinder | Node::Catalogue))
            || needed_by(node).any(|step| left.contains(&step.node))
    };
    if is_needed(Node::Catalogue, &left) {
        for key in ours(recipe, observed, |_| true)? {
            desired.keep(key);
        }
    } else if catalogue::remains(recipe, observed, desired) {
        left.insert(Node::Catalogue);
    }
    for step in &GRAPH {
        if is_needed(step.node, &left) {
            for key in step.keys(recipe.namespace()) {
                desired.keep(key);
            }
        }
    }
    if !left.is_empty() {
        recipe.network(desired);
        recipe.authority(desired);
    }
    let names: Vec<String> = left.iter().map(|node| node.step().title()).collect();
    let message = format!(
        "being deleted, and what needs others goes before them; left: {}",
        names.join(", ")
    );
    let progress = Progress::waiting(Reason::Deleting, message);
    desired.conditions.set("Ready", &progress);
    Ok(recipe.subject.status.clone())
}

/// Whether anything of the catalogue may have been made.
pub fn may_have_catalogue(recipe: &Recipe<'_>, observed: &ObservedState<'_>) -> bool {
    ours(recipe, observed, |kind| kind.group == KORC).map_or(true, |keys| !keys.is_empty())
}

/// What was composed of the catalogue's kinds.
fn ours(
    recipe: &Recipe<'_>,
    observed: &ObservedState<'_>,
    belongs: impl Fn(&ResourceKind) -> bool,
) -> Result<Vec<Key>, Failure> {
    let owner = Owner::of(ControlPlane::KIND, &recipe.subject.metadata);
    let uses = catalogue::uses().into_iter();
    let composed = uses.filter(|used| used.access == Access::Composes);
    let mut all = Vec::new();
    for kind in composed.map(|used| used.kind).filter(belongs) {
        match observed.keys(kind, recipe.namespace(), &owner.labels()) {
            Lookup::Found(keys) => all.extend(keys),
            Lookup::Missing => {}
            Lookup::Unknown(why) => return Err(Failure::transient(Reason::LookupFailed, why)),
        }
    }
    Ok(all)
}
