//! Conditions as a claim's owner sees them, each with an event when it changes.

use std::borrow::Borrow;

use c5c3_api::{Condition as Reported, Reason};
use function_protocol::v1::{self, Status};
use function_protocol::{Condition, ConditionStatus, Fatal, Response, Severity};

/// Reasons of a condition that isn't True yet and where nothing is wrong, so that its event is a Normal one.
const UNDER_WAY: [Reason; 4] = [
    Reason::Creating,
    Reason::NotOffered,
    Reason::PoolAwaitingAdmission,
    Reason::Waiting,
];

/// Reasons of a condition that isn't True before a person changes the claim, another's claim or the site. Everything else may
/// become True without that, such as a pool that isn't created yet.
const STALLING: [Reason; 7] = [
    Reason::Failed,
    Reason::NameTaken,
    Reason::PoolDeleting,
    Reason::PoolDedicated,
    Reason::PoolInOtherRegion,
    Reason::PoolNetworkTaken,
    Reason::PoolNotAllowed,
];

/// Reasons of a condition that has lapsed, which the claim is Ready without.
const LAPSED: [Reason; 2] = [Reason::NotOffered, Reason::NotVerified];

/// The condition that is True while a person has to change something, as kstatus defines it
/// (<https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md>).
pub const STALLED: &str = "Stalled";

/// The condition that is True while the claim isn't Ready and no person has to change anything; also of kstatus.
const RECONCILING: &str = "Reconciling";

/// The conditions that a claim is Ready with, the one first that others wait for.
const REQUIRED: [&str; 10] = [
    "Accepted",
    "PoolsReady",
    "ShootReady",
    "PoolSettingsApplied",
    "CephReady",
    "StorageReady",
    "HypervisorsReady",
    "ControlPlaneReady",
    "TestsPassed",
    "ConnectionReady",
];

/// How many names of a list a message has.
const SHOWN: usize = 3;

/// Sets a condition; an event goes with a change that has something to say.
pub fn set(response: &mut Response, type_: &str, holds: bool, reason: Reason, message: String) {
    let is_normal = holds || UNDER_WAY.contains(&reason);
    if !holds && STALLING.contains(&reason) {
        stall(response, reason.to_string(), message.clone());
    }
    transition(
        response,
        condition(type_, holds, reason.to_string(), message),
        is_normal,
    );
}

/// Sets a condition with the reason and message of another object's condition. Its event is a Warning where that object is
/// stalled.
pub fn repeat(response: &mut Response, type_: &str, holds: bool, of: &Reported, is_stalled: bool) {
    if is_stalled && !holds {
        stall(response, of.reason.clone(), of.message.clone());
    }
    let condition = condition(type_, holds, of.reason.clone(), of.message.clone());
    transition(response, condition, holds || !is_stalled);
}

/// Sets a condition that the claim is Ready without, as another object's condition says it. Unknown is no news. Its event is a Warning
/// where a person has to correct something.
pub fn note(response: &mut Response, type_: &str, of: &Reported, is_wrong: bool) {
    let status = match of.status.as_str() {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => {
            let (reason, message) = (of.reason.clone(), of.message.clone());
            let condition = condition(type_, ConditionStatus::Unknown, reason, message);
            return response.condition(condition);
        }
    };
    let condition = condition(type_, status, of.reason.clone(), of.message.clone());
    transition(response, condition, !is_wrong);
}

/// Sets a condition about a result. None is no news: there is no result yet, or none is wanted any more.
pub fn result(
    response: &mut Response,
    type_: &str,
    holds: Option<bool>,
    reason: &str,
    message: String,
) {
    if holds == Some(false) {
        stall(response, reason.to_owned(), message.clone());
    }
    let status = holds.map_or(ConditionStatus::Unknown, ConditionStatus::from);
    let condition = condition(type_, status, reason.to_owned(), message);
    match holds {
        Some(holds) => transition(response, condition, holds),
        None => response.condition(condition),
    }
}

/// Sets a condition that nothing has to say any more, where it was set before: Crossplane keeps one that isn't set. `LAPSED` has its reason
/// if it is one of `REQUIRED`.
pub fn lapse(
    response: &mut Response,
    type_: &str,
    holds: Option<bool>,
    reason: Reason,
    message: &str,
) {
    if response.had_condition(type_) {
        result(response, type_, holds, reason.name(), message.to_owned());
    }
}

/// Sets a condition that is no news: something comes after what another condition waits for.
pub fn await_turn(response: &mut Response, type_: &str, message: &str) {
    let reason = Reason::Pending.to_string();
    response.condition(condition(type_, false, reason, message.to_owned()));
}

/// Says that a person has to change something. The first reason stands.
fn stall(response: &mut Response, reason: String, message: String) {
    if response.condition_set(STALLED).is_none() {
        response.condition(condition(STALLED, true, reason, message));
    }
}

/// Says whether the claim reconciles, after all other conditions are set. Neither of the two conditions is set before it has been
/// True; Crossplane keeps one that isn't set any more, so it becomes False.
pub fn activity(response: &mut Response) {
    let stalled = response.condition_set(STALLED);
    let reason = match stalled.map(|stalled| stalled.reason.clone()) {
        Some(reason) => reason,
        None if response.is_composite_ready() => Reason::Ready.to_string(),
        None => {
            let (reason, message) = pending(response);
            response.condition(condition(RECONCILING, true, reason.clone(), message));
            reason
        }
    };
    for type_ in [RECONCILING, STALLED] {
        if response.condition_set(type_).is_none() && response.had_condition(type_) {
            response.condition(condition(type_, false, reason.clone(), String::new()));
        }
    }
}

/// Says that a claim is invalid. It then no longer reconciles.
pub fn invalid(fatal: Fatal, response: &Response) -> Fatal {
    let reason = Reason::Invalid.name();
    let fatal = fatal
        .shown_as("Accepted", ConditionStatus::False, reason)
        .shown_as(STALLED, ConditionStatus::True, reason);
    match response.had_condition(RECONCILING) {
        true => fatal.shown_as(RECONCILING, ConditionStatus::False, reason),
        false => fatal,
    }
}

/// Reason and message of the first condition that the claim isn't Ready for.
fn pending(response: &Response) -> (String, String) {
    let required = REQUIRED.iter();
    let mut required = required.filter_map(|type_| response.condition_set(type_));
    let is_pending = |condition: &&v1::Condition| {
        let mut lapsed = LAPSED.into_iter().map(Reason::name);
        let has_lapsed = lapsed.any(|reason| reason == condition.reason);
        condition.status() != Status::ConditionTrue && !has_lapsed
    };
    match required.find(is_pending) {
        Some(pending) => (pending.reason.clone(), pending.message().to_owned()),
        None => {
            let unready: Vec<&str> = response.unready().collect();
            let message = match unready.is_empty() {
                true => "waiting for composed resources".to_owned(),
                false => format!(
                    "waiting for composed resources: {}; the platform team finds these Objects by their annotation \
                     crossplane.io/composition-resource-name",
                    listed(&unready)
                ),
            };
            (Reason::Waiting.to_string(), message)
        }
    }
}

/// The first of these names, and how many more there are.
pub fn listed<S: Borrow<str>>(names: &[S]) -> String {
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &names[..names.len().min(SHOWN)];
    shown.join(", ") + &more
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
