//! Tenants and platform teams on a real Crossplane: pools first, then two tenants who share them, and what goes wrong.

mod activity;
mod admission;
mod deletion;
mod hostile;
mod operators;
mod references;
mod refusals;
mod rights;
mod tenants;

use lab::{FunctionProgram, Garden, Lab, Release, Result};

use lab::claims::{Generation, Site};

use lab::scenario;
use lab::suite::{LAB_1_20, LAB_2_4, NEWEST_GARDENER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate strict, 600 s, namespaced_resources_on_2_4, [LAB_2_4]),
    scenario!(Gate, 300 s, operators::claim_is_reconciled_by_operators, [LAB_2_4, &[
        Need::Tool(Tool::Helm),
        Need::Tool(Tool::KubeScheduler),
    ]]),
    scenario!(Cloud strict, 600 s, hostile_tenant_on_2_4, [LAB_2_4, NEWEST_GARDENER]),
    scenario!(Long strict, 600 s, hostile_tenant_on_1_20, [LAB_1_20, NEWEST_GARDENER]),
    scenario!(Cloud, 240 s, claims_on_1_20, [LAB_1_20, NEWEST_GARDENER]),
    scenario!(Long, 420 s, whole_life_on_1_20, [LAB_1_20, NEWEST_GARDENER]),
    scenario!(Long, 240 s, claims_on_2_4, [LAB_2_4, NEWEST_GARDENER]),
];

fn whole_life_on_1_20() -> Result<()> {
    whole_scenario(Release::V1_20, Garden::Newest, Generation::Claims)
}

fn namespaced_resources_on_2_4() -> Result<()> {
    whole_scenario(Release::V2_4, Garden::Unchecked, Generation::Namespaced)
}

fn claims_on_1_20() -> Result<()> {
    shared_pools(Release::V1_20)
}

fn claims_on_2_4() -> Result<()> {
    shared_pools(Release::V2_4)
}

fn hostile_tenant_on_2_4() -> Result<()> {
    hostile_tenant(Release::V2_4, Generation::Namespaced)
}

fn hostile_tenant_on_1_20() -> Result<()> {
    hostile_tenant(Release::V1_20, Generation::Claims)
}

fn hostile_tenant(release: Release, generation: Generation) -> Result<()> {
    lab::in_lab(
        release,
        Garden::Newest,
        FunctionProgram::c5c3()?,
        async move |lab: &Lab| {
            let site = Site::build(lab, generation).await?;
            tenants::share_pools(&site).await?;
            rights::of_a_tenant(&site).await?;
            hostile::labelled_as_another(&site).await?;
            hostile::namespace_of_the_platform(&site).await?;
            hostile::cluster_of_another_kind(&site).await?;
            hostile::freed_name(&site).await
        },
    )
}

fn shared_pools(release: Release) -> Result<()> {
    lab::in_lab(
        release,
        Garden::Newest,
        FunctionProgram::c5c3()?,
        async |lab| {
            let site = Site::build(lab, Generation::Claims).await?;
            tenants::share_pools(&site).await
        },
    )
}

fn whole_scenario(release: Release, garden: Garden, generation: Generation) -> Result<()> {
    lab::in_lab(
        release,
        garden,
        FunctionProgram::c5c3()?,
        async move |lab: &Lab| {
            let site = Site::build(lab, generation).await?;
            tenants::share_pools(&site).await?;
            tenants::change(&site).await?;
            tenants::survive(&site).await?;
            refusals::name_taken(&site).await?;
            refusals::dedicated(&site).await?;
            deletion::in_order(&site).await?;
            deletion::of_a_pool_in_use(&site).await
        },
    )
}
