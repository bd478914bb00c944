//! When to repeat requests to external systems.

use jiff::{SignedDuration, Timestamp};
use provider_composer::ObservedState;

/// Returns the moment that is so many seconds after now.
pub fn after(seconds: u32, observed: &ObservedState<'_>) -> Timestamp {
    let duration = SignedDuration::from_secs(seconds.into());
    let then = observed.now().checked_add(duration);
    then.unwrap_or(Timestamp::MAX)
}
