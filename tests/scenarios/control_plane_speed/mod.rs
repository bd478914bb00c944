//! The memory, time and requests that a hundred control planes need in one cluster. One process of the release build reconciles them: the
//! c5c3-operator alone, or all operators of control planes. Everything else is simulated, and is ready at once.

mod all;
mod budget;
mod hundred;
mod page;
pub mod process;
mod seen;
mod start;
mod usage;

use lab::Result;

use lab::scenario;
use lab::suite::{CLUSTER, Scenario};

/// The scenarios of speed.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Long alone, 900 s, a_hundred_control_planes_cost_what_they_may, [CLUSTER]),
    scenario!(Long alone, 1800 s, all_operators_of_a_hundred_control_planes_become_idle, [CLUSTER]),
];

fn a_hundred_control_planes_cost_what_they_may() -> Result<()> {
    lab::on_a_bare_machine(hundred::become_ready_and_idle)
}

fn all_operators_of_a_hundred_control_planes_become_idle() -> Result<()> {
    lab::on_a_bare_machine(all::become_ready_and_idle)
}
