//! What befalls an operator in the middle of its work, and what comes of it.

mod killed;
mod outcome;
mod replicas;
mod small;

use lab::Result;

#[test]
fn killed_after_any_write_it_ends_where_it_would_have() -> Result<()> {
    lab::on_a_bare_machine(killed::after_each_write)
}

#[test]
fn of_two_replicas_only_the_one_that_leads_writes() -> Result<()> {
    lab::on_a_bare_machine(replicas::take_turns)
}
