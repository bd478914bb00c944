//! What befalls an operator in the middle of its work, and what comes of it.

mod killed;
mod outcome;
mod replicas;
mod small;

use lab::Result;

use lab::scenario;
use lab::suite::{CLUSTER, Scenario};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 120 s, of_two_replicas_only_the_one_that_leads_writes, [CLUSTER]),
    scenario!(Long, 1_200 s, killed_after_any_write_it_ends_where_it_would_have, [CLUSTER]),
];

fn killed_after_any_write_it_ends_where_it_would_have() -> Result<()> {
    lab::on_a_bare_machine(killed::after_each_write)
}

fn of_two_replicas_only_the_one_that_leads_writes() -> Result<()> {
    lab::on_a_bare_machine(replicas::take_turns)
}
