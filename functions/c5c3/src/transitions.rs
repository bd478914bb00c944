//! Conditions as a claim's owner sees them, each with an event when it changes.

use c5c3_api::{Condition as Reported, Reason};
use function_protocol::{Condition, ConditionStatus, Response, Severity};

/// Reasons of a condition that isn't True yet and where nothing is wrong, so that its event is a Normal one.
const UNDER_WAY: [Reason; 3] = [
    Reason::Creating,
    Reason::PoolAwaitingAdmission,
    Reason::Waiting,
];

/// Sets a condition; an event goes with a change that has something to say.
pub fn set(response: &mut Response, type_: &str, holds: bool, reason: Reason, message: String) {
    let is_normal = holds || UNDER_WAY.contains(&reason);
    transition(
        response,
        condition(type_, holds, reason.to_string(), message),
        is_normal,
    );
}

/// Sets a condition with the reason and message of another object's condition. Its event is a Warning where that object is
/// stalled.
pub fn repeat(response: &mut Response, type_: &str, holds: bool, of: &Reported, is_stalled: bool) {
    let condition = condition(type_, holds, of.reason.clone(), of.message.clone());
    transition(response, condition, holds || !is_stalled);
}

/// Sets a condition about a result. None is no news: there is no result yet, or none is wanted any more.
pub fn result(
    response: &mut Response,
    type_: &str,
    holds: Option<bool>,
    reason: &str,
    message: String,
) {
    let status = holds.map_or(ConditionStatus::Unknown, ConditionStatus::from);
    let condition = condition(type_, status, reason.to_owned(), message);
    match holds {
        Some(holds) => transition(response, condition, holds),
        None => response.condition(condition),
    }
}

/// Sets a condition that is no news: something comes after what another condition waits for.
pub fn await_turn(response: &mut Response, type_: &str, message: &str) {
    let reason = Reason::Pending.to_string();
    response.condition(condition(type_, false, reason, message.to_owned()));
}

fn transition(response: &mut Response, condition: Condition, is_normal: bool) {
    let severity = match is_normal {
        true => Severity::Normal,
        false => Severity::Warning,
    };
    match condition.message.is_empty() {
        true => response.condition(condition),
        false => response.transition(condition, severity),
    }
}

fn condition(
    type_: &str,
    status: impl Into<ConditionStatus>,
    reason: String,
    message: String,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.into(),
        reason,
        message,
    }
}
