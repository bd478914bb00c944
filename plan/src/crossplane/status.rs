//! Status, conditions and events of a composite resource and its claim.

use std::collections::BTreeMap;

use c5c3_api::Condition;
use function_protocol::Document;
use function_protocol::v1::{self, Ready, Resource, Severity, Status, Target};
use serde_json::{Map, Value};

use super::Composite;
use crate::Error;
use crate::store::{Key, Store};

/// An event of the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether it is a warning.
    pub warning: bool,
    /// PascalCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// A condition of a composite resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The condition.
    pub condition: Condition,
    /// Whether the claim's owner sees it.
    pub on_claim: bool,
}

/// Whether a composite resource is ready: by the function's response, otherwise when everything composed is.
pub fn is_ready(composite: Option<&Resource>, composed: &BTreeMap<String, (Key, bool)>) -> bool {
    match composite.map(Resource::ready) {
        Some(Ready::True) => true,
        Some(Ready::False) => false,
        Some(Ready::Unspecified) | None => composed.values().all(|(_, ready)| *ready),
    }
}

/// Takes note of what one call has brought.
pub fn observe(
    composite: &mut Composite,
    ready: bool,
    conditions: Vec<v1::Condition>,
    results: Vec<v1::Result>,
) {
    let ready_reason = if ready { "Available" } else { "Creating" };
    set(
        &mut composite.conditions,
        system("Ready", ready, ready_reason),
    );
    set(
        &mut composite.conditions,
        system("Synced", true, "ReconcileSuccess"),
    );
    for condition in conditions {
        set(&mut composite.conditions, own(condition));
    }
    for result in results {
        let event = Event {
            warning: result.severity() != Severity::Normal,
            reason: result
                .reason
                .clone()
                .unwrap_or_else(|| "ComposeResources".to_owned()),
            message: result.message.clone(),
        };
        let on_claim = result.target() == Target::CompositeAndClaim;
        if on_claim && !composite.events.contains(&event) {
            composite.events.push(event);
        }
    }
}

/// What becomes of the conditions when the function ends the pipeline: Crossplane says why, and of the others nothing is
/// known.
pub fn failed(conditions: &mut Vec<Known>, step: &str, fatal: &str) {
    let message = format!(
        "cannot compose resources: pipeline step {step:?} returned a fatal result: {fatal}"
    );
    for Known { condition, .. } in conditions.iter_mut() {
        condition.status = "Unknown".to_owned();
        condition.reason = "FatalError".to_owned();
        condition.message =
            "A fatal error occurred before the status of this condition could be determined."
                .to_owned();
    }
    set(conditions, system("Ready", false, "Creating"));
    let mut synced = system("Synced", false, "ReconcileError");
    synced.condition.message = message;
    set(conditions, synced);
}

fn system(type_: &str, holds: bool, reason: &str) -> Known {
    let condition = Condition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        ..Condition::default()
    };
    Known {
        condition,
        on_claim: true,
    }
}

fn own(condition: v1::Condition) -> Known {
    let status = match condition.status() {
        Status::ConditionTrue => "True",
        Status::ConditionFalse => "False",
        Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
    };
    Known {
        on_claim: condition.target() == Target::CompositeAndClaim,
        condition: Condition {
            type_: condition.r#type,
            status: status.to_owned(),
            reason: condition.reason,
            message: condition.message.unwrap_or_default(),
            ..Condition::default()
        },
    }
}

fn set(conditions: &mut Vec<Known>, news: Known) {
    let type_ = &news.condition.type_;
    match conditions
        .iter_mut()
        .find(|known| known.condition.type_ == *type_)
    {
        Some(known) => *known = news,
        None => conditions.push(news),
    }
}

/// The status that the function wants for a composite resource.
///
/// # Errors
/// It can't be read.
pub fn wanted(composite: Option<&Resource>) -> Result<Map<String, Value>, Error> {
    let document = composite.and_then(|composite| composite.resource.as_ref());
    let mut wanted: Value = document.map_or(Ok(Value::Null), Document::parse)?;
    match wanted.get_mut("status").map(Value::take) {
        Some(Value::Object(status)) => Ok(status),
        _ => Ok(Map::new()),
    }
}

/// Writes the status of a composite resource, and of its claim.
///
/// # Errors
/// A condition can't be written.
pub fn write(
    key: &Key,
    composite: &Composite,
    mut status: Map<String, Value>,
    store: &mut Store,
) -> Result<(), Error> {
    keep_given(&mut status, &composite.given_status);
    let conditions = composite.conditions.iter();
    let all = conditions.clone().map(|known| known.condition.clone());
    store.set_status(key, with_conditions(&status, all.collect())?);
    if composite.claim != *key {
        let seen = conditions.filter(|known| known.on_claim);
        let seen = seen.map(|known| of_the_claim(known.condition.clone()));
        store.set_status(&composite.claim, with_conditions(&status, seen.collect())?);
    }
    Ok(())
}

/// A claim waits for its composite (crossplane 1.20, internal/controller/apiextensions/claim).
fn of_the_claim(condition: Condition) -> Condition {
    match (condition.type_.as_str(), condition.status.as_str()) {
        ("Ready", "False") => Condition {
            reason: "Waiting".to_owned(),
            message: "Claim is waiting for composite resource to become Ready".to_owned(),
            ..condition
        },
        _ => condition,
    }
}

/// What a file says of a pool's status stays, but for who consumes it and Crossplane's own conditions.
fn keep_given(status: &mut Map<String, Value>, given: &Value) {
    let given = given.as_object().into_iter().flatten();
    for (field, value) in
        given.filter(|(field, _)| !["consumers", "conditions"].contains(&field.as_str()))
    {
        status.insert(field.clone(), value.clone());
    }
}

fn with_conditions(
    status: &Map<String, Value>,
    conditions: Vec<Condition>,
) -> Result<Value, Error> {
    let mut status = status.clone();
    let conditions = serde_json::to_value(conditions);
    let conditions = conditions.map_err(|error| Error::Written(error.to_string()))?;
    status.insert("conditions".to_owned(), conditions);
    Ok(Value::Object(status))
}
