//! Conditions as a claim's owner sees them, each with an event when it changes.

use function_protocol::{Condition, ConditionStatus, Response, Severity};

/// Reasons of what doesn't hold yet and is on its way: no failure, so no warning.
const UNDER_WAY: [&str; 3] = ["Creating", "PoolAwaitingAdmission", "Waiting"];

/// Sets a condition; an event goes with a change that has something to say.
pub fn set(response: &mut Response, type_: &str, holds: bool, reason: &str, message: String) {
    let condition = condition(type_, holds, reason, message);
    let severity = if holds || UNDER_WAY.contains(&reason) {
        Severity::Normal
    } else {
        Severity::Warning
    };
    if condition.message.is_empty() {
        response.condition(condition);
    } else {
        response.transition(condition, severity);
    }
}

/// Sets a condition that is no news: something comes after what another condition waits for.
pub fn await_turn(response: &mut Response, type_: &str, message: &str) {
    response.condition(condition(type_, false, "NotComposed", message.to_owned()));
}

fn condition(type_: &str, holds: bool, reason: &str, message: String) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: ConditionStatus::from(holds),
        reason: reason.to_owned(),
        message,
    }
}
