//! Every change of a cluster's claim and of its Composition's input, checked by Gardener's validation, which rejects a whole update for
//! one invalid field.

use function_c5c3_fixtures::{Call, examples::POOLS};
use lab::{Result, ensure, shoot_faults, shoot_faults_without_gates};
use serde_json::{Value, json};

use super::changes::{CHANGES, Change, STATES, gardener, observed};

/// One update: the Shoot as Gardener has it, and as it is composed then.
struct Update {
    name: String,
    seen: Value,
    composed: Value,
}

impl Update {
    /// The update that a change of a running pool causes; none where the function refuses the change.
    fn of(name: String, mut call: Call, change: &Change) -> Option<Self> {
        let seen = observed(&mut call).clone();
        let composed = change.composed(call)?;
        Some(Self {
            name,
            seen,
            composed,
        })
    }

    fn changes_spec(&self) -> bool {
        self.seen["spec"] != self.composed["spec"]
    }

    fn documents(&self) -> String {
        let mut composed = self.composed.clone();
        composed["metadata"]["resourceVersion"] = json!("1");
        format!("{}\n---\n{composed}", self.seen)
    }
}

/// Checks that Gardener accepts every update, and that each change alters a Shoot exactly where it should.
pub fn are_taken() -> Result<()> {
    let mut updates = Vec::new();
    for change in CHANGES {
        let of_change: Vec<Update> = POOLS
            .iter()
            .flat_map(|pool| STATES.map(|state| (*pool, state)))
            .filter_map(|(pool, state)| {
                let name = format!("{pool} {}, {}", state.name, change.name);
                Update::of(name, state.running(pool), change)
            })
            .collect();
        ensure!(
            !of_change.is_empty(),
            "{}: the function refuses it for every pool",
            change.name
        );
        ensure!(
            of_change.iter().any(Update::changes_spec) == change.acts,
            "{}: whether a Shoot changes should be {}",
            change.name,
            change.acts
        );
        updates.extend(of_change);
    }
    let documents: Vec<String> = updates.iter().map(Update::documents).collect();
    let faults: Vec<String> = shoot_faults(&documents.join("\n---\n"))?
        .into_iter()
        .map(|fault| match number(&fault) {
            Some(number) => format!("{}: {fault}", updates[(number - 1) / 2].name),
            None => fault,
        })
        .collect();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Checks that a Gardener without feature gates accepts only pools whose machines it replaces.
pub fn gates_are_needed() -> Result<()> {
    for (strategy, is_taken) in [(Value::Null, false), (json!("AutoRollingUpdate"), true)] {
        let mut call = Call::of_pool("hv-pool-a");
        gardener(&mut call)["updateStrategy"] = strategy.clone();
        let faults = shoot_faults_without_gates(&call.run().manifest("shoot").to_string())?;
        ensure!(faults.is_empty() == is_taken, "{strategy}: {faults:?}");
        ensure!(
            faults
                .iter()
                .all(|fault| fault.contains("`InPlaceNodeUpdates` feature gate")),
            "{faults:?}"
        );
    }
    Ok(())
}

/// The number in `the oldest Gardener: document 12: ...`.
fn number(fault: &str) -> Option<usize> {
    let (_, rest) = fault.split_once("document ")?;
    rest.split_once(':')?.0.parse().ok()
}
