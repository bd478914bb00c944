//! A control plane goes in the reverse order of the graph.

use std::collections::BTreeSet;

use c5c3_api::control_plane::ControlPlaneStatus;
use provider_composer::{
    Access, Composition, Failure, Key, Owner, Progress, Reason, Resource, ResourceKind, Seen, World,
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
    world: &World<'_>,
    composition: &mut Composition,
) -> Result<ControlPlaneStatus, Failure> {
    let survey = survey(recipe, world, GRAPH.iter());
    let mut left: BTreeSet<Node> = survey
        .into_iter()
        .filter_map(|(node, sight)| sight.may_exist().then_some(node))
        .collect();
    let is_needed =
        |node: Node, left: &BTreeSet<Node>| needed_by(node).any(|step| left.contains(&step.node));
    if is_needed(Node::Catalogue, &left) {
        for key in ours(recipe, world, |_| true)? {
            composition.keep(key);
        }
    } else if catalogue::remains(recipe, world, composition) {
        left.insert(Node::Catalogue);
    }
    for step in &GRAPH {
        if is_needed(step.node, &left) {
            for key in step.keys(recipe.namespace()) {
                composition.keep(key);
            }
        }
    }
    if !left.is_empty() {
        recipe.network(composition);
        recipe.authority(composition);
    }
    let names: Vec<String> = left.iter().map(|node| node.step().title()).collect();
    let message = format!(
        "being deleted, and what needs others goes before them; left: {}",
        names.join(", ")
    );
    let progress = Progress::waiting(Reason::Deleting, message);
    composition.conditions.set("Ready", &progress);
    Ok(recipe.subject.status.clone())
}

/// Whether anything of the catalogue may have been made.
pub fn may_have_catalogue(recipe: &Recipe<'_>, world: &World<'_>) -> bool {
    ours(recipe, world, |kind| kind.group == KORC).map_or(true, |keys| !keys.is_empty())
}

/// What was composed of the catalogue's kinds.
fn ours(
    recipe: &Recipe<'_>,
    world: &World<'_>,
    belongs: impl Fn(&ResourceKind) -> bool,
) -> Result<Vec<Key>, Failure> {
    let owner = Owner::of(ControlPlane::KIND, &recipe.subject.metadata);
    let uses = catalogue::uses().into_iter();
    let composed = uses.filter(|used| used.access == Access::Composes);
    let mut all = Vec::new();
    for kind in composed.map(|used| used.kind).filter(belongs) {
        match world.keys(kind, recipe.namespace(), &owner.labels()) {
            Seen::Found(keys) => all.extend(keys),
            Seen::Missing => {}
            Seen::Unread(why) => return Err(Failure::transient(Reason::LookupFailed, why)),
        }
    }
    Ok(all)
}
