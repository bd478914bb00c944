//! A plan, made over what a cluster has already, and compared with it.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_plan::{Applied, Files, Key, Listing, Manifest, Plan, Settings, plan};
use provider_composer::Owner;
use provider_composer::reconcile::{Existing, Management};
use provider_operators::control_plane_operators;

use crate::cluster::Cluster;
use crate::difference::Difference;
use crate::error::Error;
use crate::snapshot::{composed, owner_of};

/// How often a plan is made again because more of the cluster turns out to matter.
const ROUNDS: usize = 20;

/// Plans everything down to the last object, over what the cluster has already, and compares what would be applied in it
/// with what runs. What others would make ready is taken to become ready.
///
/// # Errors
/// Nothing can be planned, not for this cluster, or the cluster can't be looked at.
pub async fn against(
    files: &Files,
    settings: &Settings,
    cluster: &Cluster,
) -> Result<(Plan, Difference), Error> {
    let mut settings = Settings {
        assume_ready: true,
        ..settings.clone()
    };
    let mut known: BTreeSet<Key> = BTreeSet::new();
    let mut listed: BTreeSet<Listing> = BTreeSet::new();
    let mut there: BTreeMap<Key, Manifest> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let plan = plan(files, &settings)?;
        let name = control_plane_cluster(&plan)?;
        let applied = plan.applied.iter().map(|applied| &applied.key);
        let keys: BTreeSet<Key> = plan
            .looked_up
            .iter()
            .chain(applied)
            .filter(|key| key.cluster == name && !known.contains(*key))
            .cloned()
            .collect();
        let lists = plan.listed.iter().filter(|list| list.cluster == name);
        let lists: Vec<Listing> = lists
            .filter(|list| !listed.contains(*list))
            .cloned()
            .collect();
        if keys.is_empty() && lists.is_empty() {
            let left = left(&plan, &name, cluster).await?;
            let (here, elsewhere): (Vec<&Applied>, Vec<&Applied>) = plan
                .applied
                .iter()
                .partition(|applied| applied.key.cluster == name);
            let elsewhere = elsewhere.iter().map(|applied| applied.key.cluster.clone());
            let difference = Difference {
                elsewhere: elsewhere.collect(),
                ..Difference::between(&here, &there, &left)?
            };
            return Ok((plan, difference));
        }
        let mut found = cluster.get(&keys).await?;
        for list in &lists {
            found.extend(cluster.list_in(list).await?);
        }
        there.extend(
            found
                .into_iter()
                .map(|object| (Key::of(&name, &object), object)),
        );
        known.extend(keys);
        listed.extend(lists);
        settings.present = BTreeMap::from([(name, there.values().cloned().collect())]);
    }
    Err(Error::Unsettled)
}

/// The one control plane cluster of a plan.
fn control_plane_cluster(plan: &Plan) -> Result<String, Error> {
    let operators = control_plane_operators();
    let is_ours = |key: &Key| {
        let mut subjects = operators.iter().map(|operator| operator.subject());
        subjects.any(|kind| kind.is(&key.api_version, &key.kind))
    };
    let applied = plan.applied.iter().map(|applied| &applied.key);
    let clusters: BTreeSet<&str> = applied
        .filter(|key| is_ours(key))
        .map(|key| key.cluster.as_str())
        .collect();
    let mut names = clusters.iter();
    match (names.next(), names.next()) {
        (None, _) => Err(Error::Nothing),
        (Some(name), None) => Ok((*name).to_owned()),
        _ => Err(Error::Several(
            clusters.into_iter().collect::<Vec<_>>().join(", "),
        )),
    }
}

/// What was made for a planned resource, and isn't wanted any more.
async fn left(plan: &Plan, name: &str, cluster: &Cluster) -> Result<Vec<Manifest>, Error> {
    let operated = plan.operated();
    let owners: BTreeMap<Owner, &'static str> = operated
        .iter()
        .map(|operated| (owner_of(&operated.resource), operated.operator))
        .collect();
    let wanted: BTreeSet<Key> = operated
        .iter()
        .flat_map(|operated| &operated.manifests)
        .map(|manifest| Key::of(name, manifest))
        .collect();
    let mut left = Vec::new();
    for kind in composed() {
        let labelled = cluster
            .list(&kind.api_version(), kind.kind, Owner::KIND)
            .await?;
        left.extend(labelled.into_iter().filter(|manifest| {
            let owner = crate::snapshot::owner(manifest);
            let operator = owner.and_then(|owner| owners.get(&owner));
            !wanted.contains(&Key::of(name, manifest))
                && operator.is_some_and(|operator| is_pruned(manifest, operator))
        }));
    }
    Ok(left)
}

/// Whether an operator deletes an object of a resource when the resource doesn't want it any more.
fn is_pruned(manifest: &Manifest, operator: &str) -> bool {
    let object = manifest.value();
    Existing::of(object, |_| true, Management::of(object, operator)).is_pruned()
}
