//! Reporting: the status, and events for its changes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use provider_composer::reconcile::{events, refused};
use provider_composer::{Composed, Failure};
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
        composed: Option<&Composed>,
        failure: &Failure,
    ) -> Result<(), ApiError> {
        let operator = subject.operator.name();
        self.metrics.failed(operator, failure.reason().name());
        let place = &subject.id.place;
        info!(operator, kind = %subject.key.kind, %place, reason = %failure.reason(), message = %failure, "not reconciled");
        let (status, failed) = refused(&subject.resource, composed, failure, Timestamp::now());
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
        let events = events(before, status, failed);
        self.events
            .publish(
                subject.guard,
                manager,
                &subject.key,
                &subject.head.uid,
                &events,
            )
            .await;
        Ok(true)
    }
}

/// The key for digests of a status; no operator has this name.
const STATUS: &str = "status";
