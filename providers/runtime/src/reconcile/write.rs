//! Making an answer so: apply, generate, prune, call.

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

/// What came of one object: whether it was written, or why it can't be.
type One = Result<Result<bool, Failure>, ApiError>;

/// What to do with an object that is wanted.
enum Step {
    Nothing,
    /// The uid of what is there; none: nothing is.
    Apply(Option<String>),
    /// Whether it is as wanted takes a look at its body.
    Look,
    /// Somebody else's.
    Taken,
    /// It can't be told.
    Unknown(String),
}

impl Controller {
    /// Makes an answer so. Nothing is deleted and nothing called unless all objects are as wanted.
    pub(super) async fn write(
        &self,
        subject: &Subject<'_>,
        composed: &Composed,
        known: &KnownKinds,
    ) -> Result<Written, ApiError> {
        let mut made = Written::default();
        let objects = composed.desired.objects.iter();
        let applied: Vec<_> = objects
            .map(|(key, object)| {
                let is_labelled = composed.desired.labelled.contains(key);
                self.apply(subject, key, object, is_labelled)
            })
            .collect();
        made.gather(stream::iter(applied).buffered(AT_ONCE).collect().await)?;
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
                made.problems.push(match &error {
                    DriverError::Unavailable(why) => {
                        Failure::transient(Reason::SystemUnavailable, why)
                    }
                    DriverError::Refused(why) => Failure::new(Reason::SystemRefused, why),
                });
                return Ok(made);
            }
        }
        Ok(made)
    }

    /// Applies an object. Of an object that someone else manages only labels are applied, and only where it exists.
    async fn apply(
        &self,
        subject: &Subject<'_>,
        key: &Key,
        object: &Value,
        is_labelled: bool,
    ) -> One {
        let manager = subject.operator.name();
        let wanted = wanted(object);
        let mut step = self.step(subject, key, wanted, is_labelled);
        if let Step::Look = step {
            match self.api.get(key).await? {
                Some(object) => self.cache.learn(key, object),
                // The watch will say so in a moment.
                None => return Ok(Ok(true)),
            }
            step = self.step(subject, key, wanted, is_labelled);
        }
        let uid = match step {
            Step::Nothing => return Ok(Ok(false)),
            Step::Apply(None) if is_labelled => return Ok(Ok(false)),
            Step::Apply(uid) => uid,
            // Changed in between: the watch is about to tell how.
            Step::Look => return Ok(Ok(true)),
            Step::Taken => return Ok(Err(taken(key))),
            Step::Unknown(why) => {
                return Ok(Err(Failure::transient(
                    Reason::NotApplied,
                    format!("{key} can't be applied: {why}"),
                )));
            }
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

    fn step(&self, subject: &Subject<'_>, key: &Key, wanted: Digest, is_labelled: bool) -> Step {
        let entry = match self.cache.find(key) {
            Lookup::Found(entry) => entry,
            Lookup::Missing => return Step::Apply(None),
            Lookup::Unknown(why) => return Step::Unknown(why),
        };
        if !is_labelled && !is_ours(&entry, subject) {
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

    /// Makes a Secret where there is none of its name, and never touches one that is there.
    async fn generate(
        &self,
        subject: &Subject<'_>,
        owner: &Owner,
        key: &Key,
        generated: &Generated,
    ) -> One {
        match self.cache.find(key) {
            Lookup::Found(_) => return Ok(Ok(false)),
            Lookup::Unknown(why) => {
                return Ok(Err(Failure::transient(
                    Reason::NotApplied,
                    format!("{key} can't be made: {why}"),
                )));
            }
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
            Err(error) => shown(error, key, "made"),
        }
    }

    /// Deletes what is the subject's and wanted in no way.
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
                // It changed or went in between: the watch is about to tell.
                Err(error) if matches!(error.code(), Some(404 | 409)) => wrote = true,
                Err(error) => return Err(error),
            }
        }
        Ok(wrote)
    }

    /// Whether nothing of the subject is left but what stays for ever.
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

/// Whether an object goes when it isn't wanted any more: all that was applied, and such Secrets as were made for a while.
fn goes(entry: &Entry, subject: &Subject<'_>) -> bool {
    let managed = entry.managed_by(subject.operator.name());
    managed.is_some_and(|managed| {
        managed.applied || entry.head().annotations.contains_key(WHILE_WANTED)
    })
}

/// Whether an object is the subject's: by its controller, or, where it shows none, because this operator applied it.
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
            "{place} exists and was made by somebody else, so it is left alone; delete or rename it, or choose another name here"
        ),
    )
}

/// What the user may mend is shown; what passes by itself is tried again.
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
