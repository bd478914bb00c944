//! The status of resources that can't be composed or applied.

use c5c3_api::Condition;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::conditions::{Conditions, Progress};
use crate::failure::Failure;

/// Returns the status of a resource that can't be composed: as it was, but for Ready, which has the failure.
pub fn status_of_failure(resource: &Value, failure: &Failure, now: Timestamp) -> Value {
    let status = match resource.get("status") {
        Some(status @ Value::Object(_)) => status.clone(),
        _ => json!({}),
    };
    status_with_failure(resource, status, failure, now)
}

/// Returns the status of a resource whose desired state could not be applied: as composed, but for Ready, which has the
/// failure.
pub fn status_with_failure(
    resource: &Value,
    mut status: Value,
    failure: &Failure,
    now: Timestamp,
) -> Value {
    let mut conditions_now = Conditions::from(conditions(&status));
    let progress = match failure.is_transient() {
        true => Progress::waiting(failure.reason(), failure.to_string()),
        false => Progress::failed(failure.reason(), failure.to_string()),
    };
    conditions_now.set("Ready", &progress);
    let generation = resource
        .pointer("/metadata/generation")
        .and_then(Value::as_i64);
    let previous = conditions(&resource["status"]);
    status["conditions"] = json!(conditions_now.written(&previous, generation, now));
    status["observedGeneration"] = json!(generation);
    status
}

/// The conditions of a status.
pub(crate) fn conditions(status: &Value) -> Vec<Condition> {
    let written = status.get("conditions");
    written
        .and_then(|conditions| Vec::deserialize(conditions).ok())
        .unwrap_or_default()
}
