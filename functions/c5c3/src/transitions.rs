//! Conditions as a claim's owner sees them, each with an event when it changes.

use function_protocol::{Condition, ConditionStatus, Response, Severity};

/// Sets a condition; an event goes with a change.
pub fn set(response: &mut Response, type_: &str, holds: bool, reason: &str, message: String) {
    let severity = if holds { Severity::Normal } else { Severity::Warning };
    response.transition(
        Condition {
            type_: type_.to_owned(),
            status: ConditionStatus::from(holds),
            reason: reason.to_owned(),
            message,
        },
        severity,
    );
}
