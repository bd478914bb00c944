//! What a hundred control planes cost: in one cluster, by one process as it is shipped, and with everything else simulated, which
//! is ready at once. The process is the c5c3-operator alone, or all operators of control planes.

mod all;
mod budget;
mod hundred;
mod page;
pub mod process;
mod seen;
mod start;

use lab::Result;

use lab::scenario;
use lab::suite::{CLUSTER, Scenario};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Long alone, 900 s, a_hundred_control_planes_cost_what_they_may, [CLUSTER]),
    scenario!(Long alone, 1800 s, all_operators_of_a_hundred_control_planes_rest, [CLUSTER]),
];

fn a_hundred_control_planes_cost_what_they_may() -> Result<()> {
    lab::on_a_bare_machine(hundred::come_up_and_rest)
}

fn all_operators_of_a_hundred_control_planes_rest() -> Result<()> {
    lab::on_a_bare_machine(all::come_up_and_rest)
}
