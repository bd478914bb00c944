//! Everything composed and everything claimed is what its real consumer takes.

mod changes;
mod composed;
mod consumers;
mod definitions;
mod fixtures;
pub mod garden;
mod inputs;
mod policy;
mod services;
mod shoots;

use c5c3_api::Generation;
use lab::{Garden, Release, Result};

use lab::scenario;
use lab::suite::{CLUSTER, NEWEST_GARDENER, OLDEST_GARDENER, SHOOTS, Scenario, core};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 180 s, what_is_composed_is_taken_by_its_clusters, [CLUSTER, SHOOTS]),
    scenario!(Cloud, 180 s, what_is_composed_is_taken_by_the_newest_gardener, [CLUSTER, NEWEST_GARDENER, SHOOTS]),
    scenario!(Cloud, 180 s, what_is_composed_is_taken_by_the_oldest_gardener, [CLUSTER, OLDEST_GARDENER, SHOOTS]),
    scenario!(Cloud, 180 s, updates_are_taken_and_refusals_explained_of_the_newest_gardener, [CLUSTER, NEWEST_GARDENER]),
    scenario!(Cloud, 180 s, updates_are_taken_and_refusals_explained_of_the_oldest_gardener, [CLUSTER, OLDEST_GARDENER]),
    scenario!(Gate, 30 s, pools_need_a_feature_gate_of_gardener, [SHOOTS]),
    scenario!(Gate, 60 s, updates_of_shoots_are_taken_by_gardener, [SHOOTS]),
    scenario!(Gate, 120 s, what_services_become_is_taken_by_their_cluster, [CLUSTER]),
    scenario!(Cloud, 120 s, claims_are_taken_or_refused_on_1_20, [CLUSTER, &[core(Release::V1_20)]]),
    scenario!(Gate, 120 s, namespaced_resources_are_taken_or_refused_on_2_4, [CLUSTER, &[core(Release::V2_4)]]),
    scenario!(Long, 120 s, claims_are_taken_or_refused_on_2_4, [CLUSTER, &[core(Release::V2_4)]]),
];

fn what_is_composed_is_taken_by_its_clusters() -> Result<()> {
    lab::on_a_bare_machine(async |machine| composed::is_taken(&machine, Garden::Unchecked).await)
}

fn what_is_composed_is_taken_by_the_newest_gardener() -> Result<()> {
    lab::on_a_bare_machine(async |machine| composed::is_taken(&machine, Garden::Newest).await)
}

fn what_is_composed_is_taken_by_the_oldest_gardener() -> Result<()> {
    lab::on_a_bare_machine(async |machine| composed::is_taken(&machine, Garden::Oldest).await)
}

fn updates_are_taken_and_refusals_explained_of_the_newest_gardener() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        garden::updates_are_taken_and_refusals_explained(&machine, Garden::Newest).await
    })
}

fn updates_are_taken_and_refusals_explained_of_the_oldest_gardener() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        garden::updates_are_taken_and_refusals_explained(&machine, Garden::Oldest).await
    })
}

fn pools_need_a_feature_gate_of_gardener() -> Result<()> {
    shoots::gates_are_needed()
}

fn updates_of_shoots_are_taken_by_gardener() -> Result<()> {
    shoots::are_taken()
}

fn what_services_become_is_taken_by_their_cluster() -> Result<()> {
    lab::on_a_bare_machine(async |machine| services::are_taken(&machine).await)
}

fn claims_are_taken_or_refused_on_1_20() -> Result<()> {
    definitions::decide(Release::V1_20, Generation::V1)
}

fn claims_are_taken_or_refused_on_2_4() -> Result<()> {
    definitions::decide(Release::V2_4, Generation::V1)
}

fn namespaced_resources_are_taken_or_refused_on_2_4() -> Result<()> {
    definitions::decide(Release::V2_4, Generation::V2)
}
