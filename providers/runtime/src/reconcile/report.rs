//! Reporting: the status, and events for its changes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use provider_composer::{
    Composed, Failure, RECONCILING, STALLED, status_of_failure, status_with_failure,
};
use serde_json::Value;
use tracing::info;

use super::{Controller, Subject};
use crate::api::ApiError;
use crate::apply::Digest;

impl Controller {
    /// Reports why a subject can't be composed, or its desired state not be applied.
    pub(super) async fn refuse(
        &self,
        subject: &Subject<'_>,
        composed: Option<Composed>,
        failure: &Failure,
    ) -> Result<(), ApiError> {
        let operator = subject.operator.name();
        self.metrics.failed(operator, failure.reason().name());
        let place = &subject.id.place;
        info!(operator, kind = %subject.key.kind, %place, reason = %failure.reason(), message = %failure, "not reconciled");
        let now = Timestamp::now();
        let (status, mut failed) = match composed {
            Some(composed) => (
                status_with_failure(&subject.resource, composed.status, failure, now),
                composed.failed,
            ),
            None => (
                status_of_failure(&subject.resource, failure, now),
                BTreeSet::new(),
            ),
        };
        if !failure.is_transient() {
            failed.insert(READY.to_owned());
        }
        self.report(subject, &status, &failed).await.map(drop)
    }

    /// Writes the status if it changed, and an event for each changed condition: a Warning where it failed. Returns
    /// whether it wrote.
    pub(super) async fn report(
        &self,
        subject: &Subject<'_>,
        status: &Value,
        failed: &BTreeSet<String>,
    ) -> Result<bool, ApiError> {
        let before = &subject.resource["status"];
        let (is, wanted) = (Digest::of(before), Digest::of(status));
        if self.cache.is_as_wanted(&subject.key, STATUS, wanted, is) {
            return Ok(false);
        }
        let (manager, version) = (subject.operator.name(), &subject.head.resource_version);
        // The finalizer may have changed the subject since it was read.
        let written = self
            .api
            .set_status(subject.guard, manager, &subject.key, version, status)
            .await?;
        let came = Digest::of(&written["status"]);
        self.cache.remember(&subject.key, STATUS, wanted, came);
        self.cache.learn(&subject.key, written);
        let changes = changes(before, status);
        self.events
            .tell(
                subject.guard,
                manager,
                &subject.key,
                &subject.head.uid,
                &changes,
                failed,
            )
            .await;
        Ok(true)
    }
}

/// The key for digests of a status; no operator has this name.
const STATUS: &str = "status";

/// The sum of all conditions.
const READY: &str = "Ready";

/// A changed condition.
pub(crate) struct Change {
    pub type_: String,
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// Returns the changed conditions. Of a subject without conditions before, only Ready; and of several with the same
/// message, as Ready and the one that it repeats, the first.
fn changes(before: &Value, now: &Value) -> Vec<Change> {
    let conditions = |status: &Value| status["conditions"].as_array().cloned().unwrap_or_default();
    let before = conditions(before);
    let same = |one: &Value, other: &Value, fields: &[&str]| {
        fields.iter().all(|field| one[*field] == other[*field])
    };
    let mut new = conditions(now);
    // They repeat Ready.
    new.retain(|now| now["type"] != STALLED && now["type"] != RECONCILING);
    new.retain(|now| {
        let was = |before: &Value| same(before, now, &["type", "status", "reason"]);
        match before.is_empty() {
            true => now["type"] == READY,
            false => !before.iter().any(was),
        }
    });
    let told = |place: usize| {
        let condition = &new[place];
        let is_told = |other: &Value| same(other, condition, &["status", "reason", "message"]);
        condition["message"] != "" && new[..place].iter().any(is_told)
    };
    let text =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let said = |condition: &Value| Change {
        type_: text(condition, "type"),
        status: text(condition, "status"),
        reason: text(condition, "reason"),
        message: text(condition, "message"),
    };
    let once = (0..new.len()).filter(|place| !told(*place));
    once.map(|place| said(&new[place])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A status whose conditions say this: type, status, reason and message.
    fn status(conditions: &[[&str; 4]]) -> Value {
        let conditions = conditions.iter().map(|[type_, status, reason, message]| {
            json!({ "type": type_, "status": status, "reason": reason, "message": message })
        });
        json!({ "conditions": conditions.collect::<Vec<_>>() })
    }

    fn told(before: &Value, now: &Value) -> Vec<String> {
        let changes = changes(before, now).into_iter();
        changes.map(|said| said.type_).collect()
    }

    const WAITS: [&str; 3] = ["False", "WaitingForDatabase", "the database is not ready"];

    fn waiting(types: &[&str]) -> Value {
        let conditions = types.iter().map(|type_| {
            let [status, reason, message] = WAITS;
            [*type_, status, reason, message]
        });
        status(&conditions.collect::<Vec<_>>())
    }

    #[test]
    fn at_first_the_sum_is_told() {
        let now = waiting(&["DatabaseReady", "APIReady", "Ready"]);
        assert_eq!(told(&Value::Null, &now), ["Ready"]);
    }

    #[test]
    fn what_changed_is_told_and_the_same_words_once() {
        let before = waiting(&["DatabaseReady", "APIReady", "Ready"]);
        assert_eq!(told(&before, &before), [""; 0]);
        let now = status(&[
            ["DatabaseReady", "True", "Ready", ""],
            ["APIReady", "False", "Starting", "no pod is ready"],
            ["Ready", "False", "Starting", "no pod is ready"],
        ]);
        assert_eq!(told(&before, &now), ["DatabaseReady", "APIReady"]);
        let ready = status(&[
            ["DatabaseReady", "True", "Ready", ""],
            ["APIReady", "True", "Ready", ""],
            ["Ready", "True", "Ready", ""],
        ]);
        assert_eq!(told(&now, &ready), ["APIReady", "Ready"]);
    }
}
