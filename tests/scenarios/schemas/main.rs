//! Everything composed and everything claimed is what its real consumer takes.

mod composed;
mod consumers;
mod definitions;
mod fixtures;
mod services;

use c5c3_api::Generation;
use lab::{Release, Result};

#[test]
fn what_is_composed_is_taken_by_its_clusters() -> Result<()> {
    lab::on_a_bare_machine(async |machine| composed::is_taken(&machine).await)
}

#[test]
fn what_services_become_is_taken_by_their_cluster() -> Result<()> {
    lab::on_a_bare_machine(async |machine| services::are_taken(&machine).await)
}

#[test]
fn claims_are_taken_or_refused_on_1_20() -> Result<()> {
    definitions::decide(Release::V1_20, Generation::V1)
}

#[test]
fn claims_are_taken_or_refused_on_2_4() -> Result<()> {
    definitions::decide(Release::V2_4, Generation::V1)
}

#[test]
fn namespaced_resources_are_taken_or_refused_on_2_4() -> Result<()> {
    definitions::decide(Release::V2_4, Generation::V2)
}
