//! Saying how it is: the status, and events for what changed in it.

use jiff::Timestamp;
use provider_composer::{Failure, hindered, refused};
use serde_json::Value;
use tracing::warn;

use super::{Carrier, Subject};
use crate::api::ApiError;
use crate::apply::Digest;

impl Carrier {
    /// Says why a subject can't be composed, or its answer not be made so.
    pub(super) async fn refuse(
        &self,
        subject: &Subject<'_>,
        status: Option<Value>,
        failure: &Failure,
    ) -> Result<(), ApiError> {
        let operator = subject.operator.name();
        self.metrics.failed(operator, failure.reason());
        let place = &subject.id.place;
        warn!(operator, kind = %subject.key.kind, %place, reason = failure.reason(), message = %failure, "failed");
        let now = Timestamp::now();
        let status = match status {
            Some(status) => hindered(&subject.resource, status, failure, now),
            None => refused(&subject.resource, failure, now),
        };
        self.report(subject, &status, true).await.map(drop)
    }

    /// Writes the status if it changed. Whether it did.
    pub(super) async fn report(
        &self,
        subject: &Subject<'_>,
        status: &Value,
        is_failure: bool,
    ) -> Result<bool, ApiError> {
        let before = &subject.resource["status"];
        let (is, wanted) = (Digest::of(before), Digest::of(status));
        if self.cache.is_as_wanted(&subject.key, STATUS, wanted, is) {
            return Ok(false);
        }
        let (manager, version) = (subject.operator.name(), &subject.head.resource_version);
        // The finalizer or an event may have changed the subject since it was looked at.
        let written = self
            .api
            .set_status(subject.hold, manager, &subject.key, version, status)
            .await?;
        let came = Digest::of(&written["status"]);
        self.cache.remember(&subject.key, STATUS, wanted, came);
        self.cache.learn(&subject.key, written);
        let changes = changes(before, status);
        self.events
            .tell(
                subject.hold,
                manager,
                &subject.key,
                &subject.head.uid,
                &changes,
                is_failure,
            )
            .await;
        Ok(true)
    }
}

/// What the digests of a status are remembered under, which is no operator's name.
const STATUS: &str = "status";

/// A condition that says something else than before.
pub(crate) struct Said {
    pub type_: String,
    pub status: String,
    pub reason: String,
    pub message: String,
}

fn changes(before: &Value, now: &Value) -> Vec<Said> {
    let conditions = |status: &Value| status["conditions"].as_array().cloned().unwrap_or_default();
    let before = conditions(before);
    let same = |one: &Value, other: &Value| {
        ["type", "status", "reason"]
            .iter()
            .all(|field| one[field] == other[field])
    };
    let new = conditions(now)
        .into_iter()
        .filter(|now| !before.iter().any(|before| same(before, now)));
    let text =
        |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    new.map(|condition| Said {
        type_: text(&condition, "type"),
        status: text(&condition, "status"),
        reason: text(&condition, "reason"),
        message: text(&condition, "message"),
    })
    .collect()
}
