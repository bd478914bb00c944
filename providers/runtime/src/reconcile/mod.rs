//! A reconcile of one subject: observe, compose, apply, report.

mod compose;
#[cfg(test)]
mod conformance;
mod fetch;
mod report;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use provider_composer::reconcile::{Reconcile, Start, foremost, has_serving_pods};
use provider_composer::{Composed, Failure, Key, Lookup, Operator};
use ring::rand::SecureRandom;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::api::{Api, ApiError};
use crate::cache::{Cache, Id, KnownKinds, Responses};
use crate::events::Events;
use crate::external::ExternalSystems;
use crate::head::Head;
use crate::lease_guard::LeaseGuard;
use crate::metrics::Metrics;
use crate::processor::metered;
use crate::queue::Outcome;

/// How many subjects are reconciled at once, those that wait for an external system not counted.
const WORKERS: usize = 8;

/// How long a subject rests at most because its reconcile took long.
const REST: Duration = Duration::from_secs(60);

/// How many calls a reconcile makes concurrently.
pub(crate) const AT_ONCE: usize = 4;

/// The controller's parts.
pub(crate) struct Controller {
    pub operators: Vec<Box<dyn Operator>>,
    pub guards: Vec<LeaseGuard>,
    pub cache: Arc<Cache>,
    pub external: ExternalSystems,
    pub slots: Semaphore,
    pub api: Api,
    pub events: Events,
    pub metrics: Metrics,
    pub random: Box<dyn SecureRandom + Send + Sync>,
}

/// The subject of a reconcile.
struct Subject<'a> {
    id: &'a Id,
    operator: &'a dyn Operator,
    guard: &'a LeaseGuard,
    key: Key,
    resource: Value,
    head: Arc<Head>,
}

/// What each attempt to compose in one reconcile observes alike. Otherwise responses of a slow system could expire while others are read, and
/// be read again without end, and so could what a composer reads by the time.
struct Moment {
    now: Timestamp,
    began: Instant,
    responses: Responses,
}

impl Moment {
    fn begin() -> Self {
        Self {
            now: Timestamp::now(),
            began: Instant::now(),
            responses: Responses::new(),
        }
    }

    /// How long to pause until another moment. As long at least as this reconcile took, up to [`REST`]: composers count from its beginning,
    /// and a slow system would otherwise be asked again as soon as it has answered.
    fn pause(&self, until: Timestamp) -> Duration {
        let left = until.duration_since(Timestamp::now());
        let left = Duration::try_from(left).unwrap_or_default();
        left.max(self.began.elapsed().min(REST))
            .max(Duration::from_secs(1))
    }
}

/// The result of composing, and what was known.
struct Round {
    composed: Composed,
    known: KnownKinds,
    /// Whether all that was missing could be fetched, and no watch was broken.
    is_complete: bool,
}

/// The result of writing the desired state.
#[derive(Default)]
struct Written {
    /// Whether objects were applied, labelled or generated, which is cached already.
    applied: bool,
    /// Whether objects were deleted or external systems called, of which the results are still to come.
    acted: bool,
    /// Whether something was not written because it has changed since it was observed.
    is_outdated: bool,
    /// Failures for the user.
    problems: Vec<Failure>,
}

impl Controller {
    /// Reconciles until the queue is closed.
    pub(crate) async fn work(&self) {
        let queue = self.cache.queue();
        let subjects = stream::unfold((), move |()| async move {
            let slot = self.slots.acquire().await.ok()?;
            let id = queue.next().await?;
            slot.forget();
            Some((id, ()))
        });
        let reconcile = move |id| async move {
            let outcome = self.reconcile(&id).await;
            queue.done(&id, outcome);
            self.slots.add_permits(1);
        };
        subjects.for_each_concurrent(None, reconcile).await;
    }

    /// Waits for an external system and lends this subject's slot to another one: a slow system only delays the
    /// subjects that need it.
    async fn external<T>(&self, request: impl Future<Output = T>) -> T {
        self.slots.add_permits(1);
        let response = request.await;
        if let Ok(slot) = self.slots.acquire().await {
            slot.forget();
        }
        response
    }

    async fn reconcile(&self, id: &Id) -> Outcome {
        let (Some(operator), Some(guard)) = (
            self.operators.get(id.operator),
            self.guards.get(id.operator),
        ) else {
            return Outcome::Gone;
        };
        let key = id.place.key(operator.subject());
        let entry = match self.cache.find(&key) {
            Lookup::Found(entry) => entry,
            Lookup::Unknown(_) if self.cache.is_stale(id.operator) => return Outcome::Failed,
            Lookup::Unknown(_) => return Outcome::Done(None),
            Lookup::Missing => {
                self.cache.forget(id);
                self.metrics.gauges.set(id, guard, Vec::new());
                return Outcome::Gone;
            }
        };
        // Subjects are woken when this replica starts to lead, and when the operator's kinds are known.
        if !guard.is_valid() || !self.cache.is_settled(id.operator) {
            return Outcome::Done(None);
        }
        // For seconds: then the watch is back, or the kind is unknown.
        if self.cache.is_stale(id.operator) {
            return Outcome::Failed;
        }
        let began = Instant::now();
        let resource = entry.value().unwrap_or_default();
        let subject = Subject {
            id,
            operator: operator.as_ref(),
            guard,
            key,
            resource,
            head: entry.head,
        };
        let (outcome, worked) = metered(self.subject(&subject)).await;
        let (name, took) = (operator.name(), began.elapsed());
        self.metrics.reconciled(name, took, worked);
        let place = &id.place;
        match outcome {
            Ok(outcome) => {
                debug!(operator = name, kind = %subject.key.kind, %place, ?took, ?worked, ?outcome, "reconciled");
                outcome
            }
            Err(ApiError::NotLeading) => Outcome::Done(None),
            // Someone else has written, which the watch is about to report. A conflict that lasts is an error.
            Err(error) if error.code() == Some(409) && self.cache.queue().failures(id) == 0 => {
                debug!(operator = name, kind = %subject.key.kind, %place, "has changed since it was read");
                Outcome::Failed
            }
            Err(error) => {
                self.metrics.failed(name, error.label());
                let shown = error.shown(subject.key.kind);
                warn!(operator = name, kind = %subject.key.kind, %place, error = shown, "not reconciled");
                Outcome::Failed
            }
        }
    }

    async fn subject(&self, subject: &Subject<'_>) -> Result<Outcome, ApiError> {
        let finalizer = subject.reconcile().finalizer();
        let finalizers = &subject.head.finalizers;
        let has_finalizer = |name: &str| finalizers.iter().any(|other| other == name);
        let is_finalized = has_finalizer(&finalizer);
        let may_have_pods = || self.may_have(subject, has_serving_pods);
        let is_deleted = subject.head.is_deleted();
        match subject
            .reconcile()
            .start(is_deleted, has_finalizer, may_have_pods)
        {
            Start::Leave => {
                self.cache.set_dependencies(subject.id, &BTreeSet::new());
                return Ok(Outcome::Done(None));
            }
            Start::Release => {
                self.set_finalizer(subject, false).await?;
                return Ok(Outcome::Done(None));
            }
            Start::Compose => {}
        }
        let mut moment = Moment::begin();
        let composed = self.compose(subject, &subject.resource, &mut moment);
        let mut round = match composed.await {
            Ok(round) => round,
            Err(failure) => {
                let gauges = failure.gauges().to_vec();
                let exported = &self.metrics.gauges;
                exported.set(subject.id, subject.guard, gauges);
                self.refuse(subject, None, &failure).await?;
                return Ok(Outcome::Failed);
            }
        };
        if !is_finalized && subject.operator.deletion().needs_finalizer() {
            self.set_finalizer(subject, true).await?;
            return Ok(Outcome::Again);
        }
        let made = self.write(subject, &round).await?;
        if made.is_known()
            && self.is_current(subject)
            && let Ok(next) = self
                .compose(subject, &subject.after(&round), &mut moment)
                .await
        {
            // One status says what comes of it, instead of two, each with its events. A failure is for the next reconcile to report, and
            // what is wanted now for it to write: nothing is written that depends on a status which may get lost.
            round = next;
        }
        let Round {
            mut composed,
            is_complete,
            ..
        } = round;
        let mut desired = std::mem::take(&mut composed.desired);
        let gauges = std::mem::take(&mut desired.gauges);
        let exported = &self.metrics.gauges;
        exported.set(subject.id, subject.guard, gauges);
        let (is_empty, requeue_at) = (desired.is_empty(), desired.requeue_at);
        // Its objects are written. Up to eight subjects write their status and Events at once.
        drop(desired);
        if let Some(problem) = foremost(&made.problems) {
            self.refuse(subject, Some(&composed), problem).await?;
            return Ok(Outcome::Failed);
        }
        if is_deleted
            && is_empty
            && !made.wrote()
            && !made.is_outdated
            && !self.may_have(subject, |_| true)
        {
            self.set_finalizer(subject, false).await?;
            return Ok(Outcome::Done(None));
        }
        let wrote = self
            .report(subject, &composed.status, &composed.failed)
            .await?;
        if made.is_outdated {
            // The cache may not have the change yet, so that deciding anew at once could repeat it.
            return Ok(Outcome::Failed);
        }
        Ok(match made.wrote() || wrote {
            true => Outcome::Again,
            false if !is_complete || self.cache.is_stale(subject.id.operator) => Outcome::Failed,
            false => {
                self.cache.rest(subject.reconcile(), &subject.head.uid);
                Outcome::Done(requeue_at.map(|wake| moment.pause(wake)))
            }
        })
    }

    /// Whether the subject is as it was when its reconcile began, as far as that is known.
    fn is_current(&self, subject: &Subject<'_>) -> bool {
        let entry = self.cache.find(&subject.key).found();
        entry.is_some_and(|entry| entry.head.resource_version == subject.head.resource_version)
    }

    async fn set_finalizer(&self, subject: &Subject<'_>, wanted: bool) -> Result<(), ApiError> {
        let ours = subject.reconcile().finalizer();
        let others = subject
            .head
            .finalizers
            .iter()
            .filter(|other| **other != ours);
        let mut finalizers: Vec<&str> = others.map(String::as_str).collect();
        if wanted {
            finalizers.push(&ours);
        }
        let (manager, version) = (subject.operator.name(), &subject.head.resource_version);
        let metadata = json!({ "finalizers": finalizers });
        let written =
            self.api
                .set_metadata(subject.guard, manager, &subject.key, version, metadata);
        let written = written.await?;
        if wanted {
            self.cache.learn(&subject.key, written);
        }
        Ok(())
    }
}

impl Subject<'_> {
    fn namespace(&self) -> &str {
        self.key.namespace.as_deref().unwrap_or_default()
    }

    /// The resource with the status that was composed, which composers remember things by.
    fn after(&self, round: &Round) -> Value {
        let mut resource = self.resource.clone();
        resource["status"] = round.composed.status.clone();
        resource
    }

    fn reconcile(&self) -> Reconcile<'_> {
        Reconcile {
            operator: self.operator,
            subject: &self.key,
        }
    }
}

/// Returns a slot for each subject that is reconciled concurrently.
pub(crate) fn slots() -> Semaphore {
    Semaphore::new(WORKERS)
}
