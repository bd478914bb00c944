//! The scenarios, each declared beside its code. `cargo xtask test --list` shows them.

mod charts;
mod claims;
mod cloud;
mod configuration;
mod control_plane;
mod control_plane_faults;
mod control_plane_speed;
mod dashboard;
mod every_part;
mod first_cloud;
mod flux;
mod gitops;
mod harness;
mod keystone;
mod kubeconfigs;
mod labels_injector;
mod life;
mod locks;
mod node;
mod operator_runtime;
mod operators;
mod outside;
mod ovn;
mod package;
mod plan;
mod pools;
mod render;
mod runs;
mod schemas;
mod tempest;

use std::path::Path;
use std::process::ExitCode;

use lab::suite::Scenario;

const SCENARIOS: &[&[Scenario]] = &[
    charts::SCENARIOS,
    claims::SCENARIOS,
    cloud::SCENARIOS,
    configuration::SCENARIOS,
    control_plane::SCENARIOS,
    control_plane_faults::SCENARIOS,
    control_plane_speed::SCENARIOS,
    dashboard::SCENARIOS,
    first_cloud::SCENARIOS,
    flux::SCENARIOS,
    gitops::SCENARIOS,
    harness::SCENARIOS,
    keystone::SCENARIOS,
    kubeconfigs::SCENARIOS,
    labels_injector::SCENARIOS,
    life::SCENARIOS,
    locks::SCENARIOS,
    node::SCENARIOS,
    operator_runtime::SCENARIOS,
    operators::SCENARIOS,
    outside::SCENARIOS,
    ovn::SCENARIOS,
    package::SCENARIOS,
    plan::SCENARIOS,
    pools::SCENARIOS,
    render::SCENARIOS,
    runs::SCENARIOS,
    schemas::SCENARIOS,
    tempest::SCENARIOS,
];

fn main() -> ExitCode {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    lab::run_scenarios(SCENARIOS, temporary.parent().unwrap_or(temporary))
}
