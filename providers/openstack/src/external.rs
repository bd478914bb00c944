//! Requests to external systems, and when to repeat them.

use jiff::{SignedDuration, Timestamp};
use provider_composer::{ExternalRequest, ObservedState};
use serde::Serialize;

/// A query or call as the driver of a system gets it.
///
/// # Errors
/// It can't be written as JSON.
pub fn external_request(
    system: &'static str,
    content: &impl Serialize,
) -> serde_json::Result<ExternalRequest> {
    let content = serde_json::to_string(content)?;
    Ok(ExternalRequest { system, content })
}

/// Returns the moment that is so many seconds after now.
pub fn after(seconds: u32, observed: &ObservedState<'_>) -> Timestamp {
    let duration = SignedDuration::from_secs(seconds.into());
    let then = observed.now().checked_add(duration);
    then.unwrap_or(Timestamp::MAX)
}
