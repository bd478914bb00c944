//! A ControlPlane from its first object to its last: on a real API server, with the operator under its chart's role only,
//! beside the real operators of others and a real Keystone.

mod life;
mod order;
mod refusals;
mod simulated;
mod site;

use lab::Result;

use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 240 s, it_comes_up_stays_as_it_is_and_goes_in_order, [CLUSTER, &[
        Need::Python("keystone"),
        Need::Tool(Tool::Helm),
        Need::Tool(Tool::MariadbOperator),
        Need::Tool(Tool::RabbitmqOperator),
        Need::Tool(Tool::KOrc),
    ]]),
    scenario!(Gate, 180 s, each_part_waits_for_what_it_needs_and_for_nothing_else, [CLUSTER, &[Need::Tool(Tool::Helm)]]),
    scenario!(Gate, 120 s, what_cannot_be_is_said_and_nothing_is_lost, [CLUSTER, &[Need::Tool(Tool::Helm)]]),
];

fn it_comes_up_stays_as_it_is_and_goes_in_order() -> Result<()> {
    lab::on_a_bare_machine(life::whole)
}

fn each_part_waits_for_what_it_needs_and_for_nothing_else() -> Result<()> {
    lab::on_a_bare_machine(order::each_held_back_in_turn)
}

fn what_cannot_be_is_said_and_nothing_is_lost() -> Result<()> {
    lab::on_a_bare_machine(refusals::are_said)
}
