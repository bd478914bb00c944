//! Writing the desired state: apply, generate, prune, call.

use futures::{StreamExt, stream};
use provider_composer::{Composed, Failure, Generated, Key, Lookup, Owner, Reason};
use serde_json::{Value, json};
use tracing::info;

use super::{AT_ONCE, Controller, Subject, Written};
use crate::api::ApiError;
use crate::apply::{Digest, wanted};
use crate::cache::{Entry, KnownKinds, State};
use crate::driver::DriverError;
use crate::generate::{self, WHILE_WANTED};

/// The result for one object: whether it was written, or why it can't be.
type One = Result<Result<bool, Failure>, ApiError>;

/// What to do with a wanted object.
enum Step {
    Nothing,
    /// Apply it; with the uid of the existing object.
    Apply(Option<String>),
    /// Read its body first.
    Look,
    /// It has another owner.
    Taken,
    /// It can't be read.
    Unknown(String),
}

impl Controller {
    /// Writes the desired state. Nothing is deleted and no external system is called unless all objects are applied.
    pub(super) async fn write(
        &self,
        subject: &Subject<'_>,
        composed: &Composed,
        known: &KnownKinds,
    ) -> Result<Written, ApiError> {
        let mut made = Written::default();
        let is_labelled = |key: &Key| composed.desired.labelled.contains(key);
        let objects = || composed.desired.objects.iter();
        let applied = objects().filter(|(key, _)| !is_labelled(key));
        let applied: Vec<_> = applied
            .map(|(key, object)| self.apply(subject, key, object))
            .collect();
        made.gather(stream::iter(applied).buffered(AT_ONCE).collect().await)?;
        let labelled = objects().filter(|(key, _)| is_labelled(key));
        let labelled: Vec<_> = labelled
            .map(|(key, object)| self.label(subject, key, &object["metadata"]["labels"]))
            .collect();
        made.gather(stream::iter(labelled).buffered(AT_ONCE).collect().await)?;
        let generated = composed.desired.generated.iter();
        let generated: Vec<_> = generated
            .map(|(key, generated)| self.generate(subject, &composed.owner, key, generated))
            .collect();
        made.gather(stream::iter(generated).buffered(AT_ONCE).collect().await)?;
        if !made.problems.is_empty() {
            return Ok(made);
        }
        made.wrote |= self.prune(subject, composed, known).await?;
        for call in &composed.desired.calls {
            if !subject.guard.is_valid() {
                return Err(ApiError::NotLeading);
            }
            made.wrote = true;
            if let Err(error) = self.external(self.external.call(call)).await {
                // Another call may be about something else.
                made.problems.push(match &error {
                    DriverError::Unavailable(why) => {
                        Failure::transient(Reason::SystemUnavailable, why)
                    }
                    DriverError::Refused(why) => Failure::new(Reason::SystemRefused, why),
                });
            }
        }
        Ok(made)
    }

    async fn apply(&self, subject: &Subject<'_>, key: &Key, object: &Value) -> One {
        let manager = subject.operator.name();
        let wanted = wanted(object);
        let mut step = self.step(subject, key, wanted);
        if let Step::Look = step {
            match self.api.get(key).await? {
                Some(object) => self.cache.learn(key, object),
                // The watch is about to report it.
                None => return Ok(Ok(true)),
            }
            step = self.step(subject, key, wanted);
        }
        let uid = match step {
            Step::Nothing => return Ok(Ok(false)),
            Step::Apply(uid) => uid,
            // Changed in between: the watch is about to report it.
            Step::Look => return Ok(Ok(true)),
            Step::Taken => return Ok(Err(taken(key))),
            Step::Unknown(why) => return Ok(Err(unknown(key, &why, "applied"))),
        };
        let applied = self
            .api
            .apply(subject.guard, manager, key, uid.as_deref(), object)
            .await;
        match applied {
            Ok(object) => {
                info!(operator = manager, %key, namespace = key.namespace, "applied");
                self.cache.applied(key, manager, wanted, object);
                Ok(Ok(true))
            }
            Err(error) if uid.is_none() && error.code() == Some(409) => Ok(Err(taken(key))),
            Err(error) => shown(error, key, "applied"),
        }
    }

    /// Changes labels of an object that someone else manages, where it exists and is as it was observed.
    async fn label(&self, subject: &Subject<'_>, key: &Key, labels: &Value) -> One {
        let head = match self.cache.find(key) {
            Lookup::Found(entry) => entry.head(),
            Lookup::Missing => return Ok(Ok(false)),
            Lookup::Unknown(why) => return Ok(Err(unknown(key, &why, "labelled"))),
        };
        let mut wanted = labels.as_object().into_iter().flatten();
        if wanted.all(|(label, value)| head.labels.get(label).map(String::as_str) == value.as_str())
        {
            return Ok(Ok(false));
        }
        let (manager, version) = (subject.operator.name(), &head.resource_version);
        let written = self
            .api
            .set_metadata(
                subject.guard,
                manager,
                key,
                version,
                json!({ "labels": labels }),
            )
            .await;
        match written {
            Ok(object) => {
                info!(operator = manager, %key, namespace = key.namespace, "labelled");
                self.cache.learn(key, object);
                Ok(Ok(true))
            }
            // Changed or deleted in between: the watch is about to report it.
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(Ok(true)),
            Err(error) => shown(error, key, "labelled"),
        }
    }

    fn step(&self, subject: &Subject<'_>, key: &Key, wanted: Digest) -> Step {
        let entry = match self.cache.find(key) {
            Lookup::Found(entry) => entry,
            Lookup::Missing => return Step::Apply(None),
            Lookup::Unknown(why) => return Step::Unknown(why),
        };
        if !is_ours(&entry, subject) {
            return Step::Taken;
        }
        let manager = subject.operator.name();
        let uid = entry.head().uid;
        match entry.managed_by(manager) {
            Some(managed) if managed.applied => match managed.digest {
                Some(is) if self.cache.is_as_wanted(key, manager, wanted, is) => Step::Nothing,
                Some(_) => Step::Apply(Some(uid)),
                None => Step::Look,
            },
            _ => Step::Apply(Some(uid)),
        }
    }

    /// Creates a Secret where none of its name exists, and never changes an existing one.
    async fn generate(
        &self,
        subject: &Subject<'_>,
        owner: &Owner,
        key: &Key,
        generated: &Generated,
    ) -> One {
        match self.cache.find(key) {
            Lookup::Found(_) => return Ok(Ok(false)),
            Lookup::Unknown(why) => return Ok(Err(unknown(key, &why, "created"))),
            Lookup::Missing => {}
        }
        let manager = subject.operator.name();
        let secret = generate::secret(
            key,
            generated,
            manager,
            owner,
            subject.reference(),
            self.random.as_ref(),
        );
        let secret = match secret {
            Ok(secret) => secret,
            Err(error) => return Ok(Err(Failure::new(Reason::NotApplied, error.to_string()))),
        };
        match self.api.create(subject.guard, manager, key, &secret).await {
            Ok(created) => {
                info!(operator = manager, %key, namespace = key.namespace, "generated");
                self.cache.learn(key, created);
                Ok(Ok(true))
            }
            Err(error) if error.code() == Some(409) => Ok(Ok(false)),
            Err(error) => shown(error, key, "created"),
        }
    }

    /// Deletes the subject's objects that aren't wanted any more.
    async fn prune(
        &self,
        subject: &Subject<'_>,
        composed: &Composed,
        known: &KnownKinds,
    ) -> Result<bool, ApiError> {
        let mut wrote = false;
        let (operator, uid) = (subject.operator, &subject.head.uid);
        for (key, entry) in self.cache.prunable(known, operator, &subject.key, uid) {
            let wanted = composed.desired.objects.contains_key(&key)
                || composed.desired.kept.contains(&key)
                || composed.desired.generated.contains_key(&key);
            let head = entry.head();
            if wanted || head.is_deleted() || !goes(&entry, subject) {
                continue;
            }
            let deleted = self
                .api
                .delete(subject.guard, &key, &head.uid, &head.resource_version)
                .await;
            match deleted {
                Ok(()) => {
                    info!(operator = subject.operator.name(), %key, namespace = key.namespace, "deleted");
                    wrote = true;
                }
                // Changed or deleted in between: the watch is about to report it.
                Err(error) if matches!(error.code(), Some(404 | 409)) => wrote = true,
                Err(error) => return Err(error),
            }
        }
        Ok(wrote)
    }

    /// Whether no object of the subject is left, except those that are kept.
    pub(super) fn is_all_gone(&self, subject: &Subject<'_>) -> bool {
        let readable = subject
            .operator
            .uses()
            .into_iter()
            .map(|used| self.cache.state(used.kind, subject.namespace()))
            .all(|state| matches!(state, State::Live | State::Absent(_)));
        let (operator, uid) = (subject.operator, &subject.head.uid);
        let made = self.cache.made(operator, &subject.key, uid);
        readable && !made.iter().any(|(_, entry)| goes(entry, subject))
    }
}

/// Whether an object is deleted when it isn't wanted any more: every applied one, and Secrets that were generated for a
/// limited time.
fn goes(entry: &Entry, subject: &Subject<'_>) -> bool {
    let managed = entry.managed_by(subject.operator.name());
    managed.is_some_and(|managed| {
        managed.applied || entry.head().annotations.contains_key(WHILE_WANTED)
    })
}

/// Whether the subject owns an object: by its controller or, where it has none, because this operator applied it.
fn is_ours(entry: &Entry, subject: &Subject<'_>) -> bool {
    match entry.head().controller() {
        Some(controller) => controller.uid == subject.head.uid,
        None => entry
            .managed_by(subject.operator.name())
            .is_some_and(|managed| managed.applied),
    }
}

fn taken(key: &Key) -> Failure {
    let place = match &key.namespace {
        Some(namespace) => format!("{key} in {namespace}"),
        None => key.to_string(),
    };
    Failure::new(
        Reason::NameTaken,
        format!(
            "{place} exists and has another owner, so it is left alone: delete or rename it, or choose another name here"
        ),
    )
}

fn unknown(key: &Key, why: &str, done: &str) -> Failure {
    let message = format!("{key} can't be {done}: {why}");
    Failure::transient(Reason::NotApplied, message)
}

/// Shows an error that the user can fix; others are retried.
fn shown(error: ApiError, key: &Key, done: &str) -> One {
    match error.code() {
        None | Some(409 | 429) => Err(error),
        Some(_) => {
            let why = error.shown(key.kind);
            Ok(Err(Failure::new(
                Reason::NotApplied,
                format!("{key} can't be {done}: {why}"),
            )))
        }
    }
}

impl Written {
    fn gather(&mut self, results: Vec<One>) -> Result<(), ApiError> {
        for result in results {
            match result? {
                Ok(wrote) => self.wrote |= wrote,
                Err(problem) => self.problems.push(problem),
            }
        }
        Ok(())
    }
}

impl Subject<'_> {
    /// The ownerReference to it.
    fn reference(&self) -> Value {
        json!({
            "apiVersion": self.key.kind.api_version(),
            "kind": self.key.kind.kind,
            "name": self.key.name,
            "uid": self.head.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}
