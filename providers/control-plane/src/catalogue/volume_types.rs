//! A volume type for each storage pool, which selects its backend.
//!
//! K-ORC asks Cinder even to let a type go, so Cinder and its endpoints stay until all objects are gone. The types themselves stay in
//! Cinder: volumes may have them.

use provider_composer::{
    DesiredState, Failure, Key, Lookup, ObservedState, Owner, Progress, Resource,
};
use provider_openstack::CINDER;

use super::first_unready;
use super::korc::Korc;
use crate::Recipe;
use crate::graph::Node;
use crate::manifest::korc::{Endpoint, ExtraSpec, Made, Managed, Service, VolumeType};
use crate::recipe::ControlPlane;
use crate::survey::Survey;

/// Composes the types once Cinder is ready, and from then on.
///
/// # Errors
/// The user has to change something; the failure says what.
pub fn compose(
    recipe: &Recipe<'_>,
    survey: &Survey,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<(), Failure> {
    let wanted = recipe.graph.contains(Node::Cinder);
    if !wanted || !recipe.korc.enabled {
        if let Some(types) = ours(recipe, observed).filter(|_| wanted) {
            for key in types {
                desired.keep(key);
            }
        } else if remain(recipe, observed) {
            let namespace = recipe.namespace();
            let endpoints = ["public", "internal"].map(|interface| {
                Key::of::<Made<Endpoint>>(namespace, &format!("{}-{interface}", CINDER.name))
            });
            let service = Key::of::<Made<Service>>(namespace, CINDER.name);
            let cinder = Node::Cinder.step().keys(namespace);
            for key in cinder.chain(endpoints).chain([service]) {
                desired.keep(key);
            }
        }
        return Ok(());
    }
    let pools = recipe.storage_clusters();
    if pools.is_empty() {
        return Ok(());
    }
    let cinder = survey.get(&Node::Cinder).map(|sight| &sight.progress);
    let turn = cinder.is_some_and(Progress::is_ready);
    let mut korc = Korc::new(recipe, observed, desired);
    let mut all = Vec::new();
    for pool in pools {
        let type_ = VolumeType {
            description: format!("Volumes in storage pool {pool}"),
            extra_specs: vec![ExtraSpec {
                name: "volume_backend_name",
                value: pool.clone(),
            }],
            is_public: true,
        };
        let body = Made::new(&korc.volumes(), type_).detached();
        all.push(korc.want(pool, &body, turn)?.progress);
    }
    let progress = first_unready(all);
    desired.conditions.note("VolumeTypesReady", &progress);
    Ok(())
}

/// Whether K-ORC may still have an object of a type.
pub fn remain(recipe: &Recipe<'_>, observed: &ObservedState<'_>) -> bool {
    ours(recipe, observed).is_none_or(|types| !types.is_empty())
}

/// The objects of types; none if they can't be read.
fn ours(recipe: &Recipe<'_>, observed: &ObservedState<'_>) -> Option<Vec<Key>> {
    let owner = Owner::of(ControlPlane::KIND, &recipe.subject.metadata);
    match observed.keys(VolumeType::KIND, recipe.namespace(), &owner.labels()) {
        Lookup::Found(keys) => Some(keys),
        Lookup::Missing => Some(Vec::new()),
        Lookup::Unknown(_) => None,
    }
}
