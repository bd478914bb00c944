//! What a hundred control planes cost: in one cluster, by one process as it is shipped, and with everything else simulated, which
//! is ready at once.

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
pub const SCENARIOS: &[Scenario] =
    &[scenario!(Long alone, 900 s, a_hundred_control_planes_cost_what_they_may, [CLUSTER])];

fn a_hundred_control_planes_cost_what_they_may() -> Result<()> {
    lab::on_a_bare_machine(hundred::come_up_and_rest)
}
