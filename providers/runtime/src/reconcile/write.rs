//! Writing the desired state: apply, generate, prune, call.

use futures::{StreamExt, stream};
use provider_composer::reconcile::{self, Existing, Management, Write, taken};
use provider_composer::{
    Composed, Failure, Generated, Key, Lookup, Owner, Reason, ResourceKind, WHILE_WANTED,
    owner_reference,
};
use serde_json::{Value, json};
use tracing::{debug, info};

use super::{AT_ONCE, Controller, Round, Subject, Written};
use crate::api::ApiError;
use crate::apply::{Digest, wanted};
use crate::cache::{Entry, KnownKinds, State};
use crate::driver::DriverError;
use crate::generate::draw;
use crate::head::Head;

/// The result for one object: what was done with it, or why it can't be written.
type One = Result<Result<Effect, Failure>, ApiError>;

/// What was done with one object.
enum Effect {
    /// Nothing: it is as wanted.
    Nothing,
    /// It was written, and what came of it is cached.
    Written,
    /// Nothing: it has changed since the write was decided, which the watch is about to report.
    Outdated,
}

/// What to do with an object that is the subject's to apply.
enum Step {
    Nothing,
    Apply,
    /// Read its body first.
    Look,
}

impl Controller {
    /// Writes the desired state. Nothing is deleted and no external system is called unless everything is written.
    pub(super) async fn write(
        &self,
        subject: &Subject<'_>,
        Round {
            composed, known, ..
        }: &Round,
    ) -> Result<Written, ApiError> {
        let mut made = Written::default();
        for group in composed.desired.writes() {
            let writes: Vec<_> = group
                .into_iter()
                .filter(|(key, write)| !self.is_done(subject, key, *write))
                .map(|(key, write)| self.write_one(subject, &composed.owner, key, write))
                .collect();
            made.gather(stream::iter(writes).buffered(AT_ONCE).collect().await)?;
        }
        if !made.problems.is_empty() || made.is_outdated {
            return Ok(made);
        }
        made.acted = self.prune(subject, composed, known).await?;
        for call in &composed.desired.calls {
            if !subject.guard.is_valid() {
                return Err(ApiError::NotLeading);
            }
            made.acted = true;
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

    /// Whether an object is known to be as wanted. In most reconciles almost all are, and the future of each write takes kilobytes. What is
    /// to be done with the others is decided only when it is done: while earlier ones are written, another subject of the operator may
    /// create an object of the same name, and to apply that one would change the other subject's object.
    fn is_done(&self, subject: &Subject<'_>, key: &Key, write: Write<'_>) -> bool {
        let Write::Apply(object) = write else {
            return false;
        };
        let Ok(Some(Lookup::Found(entry))) = self.due(subject, key, write) else {
            return false;
        };
        let step = self.step(subject, key, wanted(object), Some(&entry));
        matches!(step, Step::Nothing)
    }

    async fn write_one(
        &self,
        subject: &Subject<'_>,
        owner: &Owner,
        key: &Key,
        write: Write<'_>,
    ) -> One {
        let entry = match self.due(subject, key, write) {
            Ok(Some(entry)) => entry.found(),
            Ok(None) => return Ok(Ok(Effect::Nothing)),
            Err(problem) => return Ok(Err(problem)),
        };
        match write {
            Write::Apply(object) => self.apply(subject, key, object, entry).await,
            Write::Label { labels, .. } => {
                let head = entry.map(|entry| entry.head).unwrap_or_default();
                let is_current = write.is_for(Some(head.resource_version.as_str()));
                self.label(subject, key, labels, &head, is_current).await
            }
            Write::Generate(generated) => self.generate(subject, owner, key, generated).await,
        }
    }

    /// Returns the object, as far as it exists, if the write is due.
    fn due(
        &self,
        subject: &Subject<'_>,
        key: &Key,
        write: Write<'_>,
    ) -> Result<Option<Lookup<Entry>>, Failure> {
        let entry = self.cache.find(key);
        let existing = entry.as_ref().map(|entry| subject.existing(entry));
        Ok(write.is_due(key, &existing)?.then_some(entry))
    }

    async fn apply(
        &self,
        subject: &Subject<'_>,
        key: &Key,
        object: &Value,
        mut entry: Option<Entry>,
    ) -> One {
        let manager = subject.operator.name();
        let wanted = wanted(object);
        let mut step = self.step(subject, key, wanted, entry.as_ref());
        if let Step::Look = step {
            match self.api.get(key).await? {
                Some(object) => self.cache.learn(key, object),
                None => return Ok(Ok(Effect::Outdated)),
            }
            entry = match self.due(subject, key, Write::Apply(object)) {
                Ok(entry) => entry.and_then(Lookup::found),
                Err(problem) => return Ok(Err(problem)),
            };
            step = self.step(subject, key, wanted, entry.as_ref());
        }
        match step {
            Step::Nothing => return Ok(Ok(Effect::Nothing)),
            Step::Apply => {}
            Step::Look => return Ok(Ok(Effect::Outdated)),
        }
        let uid = entry.map(|entry| entry.head.uid.clone());
        let applied = self
            .api
            .apply(subject.guard, manager, key, uid.as_deref(), object)
            .await;
        match applied {
            Ok(object) => {
                info!(operator = manager, %key, namespace = key.namespace, "applied");
                self.cache.applied(key, manager, wanted, object);
                Ok(Ok(Effect::Written))
            }
            Err(error) if uid.is_none() && error.code() == Some(409) => Ok(Err(taken(key, None))),
            Err(error) => shown(error, key, "applied"),
        }
    }

    /// Changes labels of an object that someone else manages and that is as it was observed.
    async fn label(
        &self,
        subject: &Subject<'_>,
        key: &Key,
        labels: &Value,
        head: &Head,
        is_current: bool,
    ) -> One {
        let mut wanted = labels.as_object().into_iter().flatten();
        if wanted.all(|(label, value)| head.labels.get(label) == value.as_str()) {
            return Ok(Ok(Effect::Nothing));
        }
        if !is_current {
            debug!(%key, "has changed since its labels were decided on");
            return Ok(Ok(Effect::Outdated));
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
                Ok(Ok(Effect::Written))
            }
            // Changed or deleted in between: the watch is about to report it.
            Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(Ok(Effect::Outdated)),
            Err(error) => shown(error, key, "labelled"),
        }
    }

    fn step(
        &self,
        subject: &Subject<'_>,
        key: &Key,
        wanted: Digest,
        entry: Option<&Entry>,
    ) -> Step {
        let manager = subject.operator.name();
        match entry.and_then(|entry| entry.managed_by(manager)) {
            Some(managed) if managed.applied => match managed.digest {
                Some(is) if self.cache.is_as_wanted(key, manager, wanted, is) => Step::Nothing,
                Some(_) => Step::Apply,
                None => Step::Look,
            },
            _ => Step::Apply,
        }
    }

    /// Creates a Secret.
    async fn generate(
        &self,
        subject: &Subject<'_>,
        owner: &Owner,
        key: &Key,
        generated: &Generated,
    ) -> One {
        let manager = subject.operator.name();
        let reference = owner_reference(subject.key.kind, &subject.key.name, &subject.head.uid);
        let random = self.random.as_ref();
        let secret = generated.secret(key, manager, owner, Some(reference), |_, value| {
            draw(value, random)
        });
        let secret = match secret {
            Ok(secret) => secret,
            Err(error) => return Ok(Err(Failure::new(Reason::NotApplied, error.to_string()))),
        };
        match self.api.create(subject.guard, manager, key, &secret).await {
            Ok(created) => {
                info!(operator = manager, %key, namespace = key.namespace, "generated");
                self.cache.learn(key, created);
                Ok(Ok(Effect::Written))
            }
            Err(error) if error.code() == Some(409) => Ok(Ok(Effect::Nothing)),
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
        let reconcile = subject.reconcile();
        let owned = self
            .cache
            .prunable(known, reconcile, &subject.head.uid)
            .into_iter()
            .map(|(key, entry)| (key, subject.existing(&entry), entry))
            .collect();
        let pruned = reconcile.prune(&composed.desired, owned, |kind| {
            self.cache.is_known(known, kind, subject.namespace())
        });
        for (key, entry) in pruned {
            let deleted = self
                .api
                .delete(
                    subject.guard,
                    &key,
                    &entry.head,
                    reconcile.waits_for_pods(key.kind),
                )
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

    /// Whether the subject has, or may have, objects of some kinds, except those that outlast it.
    pub(super) fn may_have(
        &self,
        subject: &Subject<'_>,
        is_meant: impl Fn(ResourceKind) -> bool,
    ) -> bool {
        let reconcile = subject.reconcile();
        let made = self.cache.made(reconcile, &subject.head.uid).into_iter();
        let owned = made.map(|(key, entry)| (key, subject.existing(&entry)));
        reconcile.may_have(is_meant, owned, |kind| {
            let state = self.cache.state(kind, subject.namespace());
            matches!(state, State::Live | State::Absent(_))
        })
    }
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
    /// Whether anything was written: then there may be more to do.
    pub(super) fn wrote(&self) -> bool {
        self.applied || self.acted
    }

    /// Whether all that was written is known by now, and there was something.
    pub(super) fn is_known(&self) -> bool {
        self.applied && !self.acted && !self.is_outdated && self.problems.is_empty()
    }

    fn gather(&mut self, results: Vec<One>) -> Result<(), ApiError> {
        for result in results {
            match result? {
                Ok(Effect::Nothing) => {}
                Ok(Effect::Written) => self.applied = true,
                Ok(Effect::Outdated) => self.is_outdated = true,
                Err(problem) => self.problems.push(problem),
            }
        }
        Ok(())
    }
}

impl Subject<'_> {
    /// What is known of an object.
    fn existing(&self, entry: &Entry) -> Existing {
        let (head, managed) = (&entry.head, entry.managed_by(self.operator.name()));
        Existing {
            controller: match head.controller() {
                None => reconcile::Controller::None,
                Some(controller) if controller.uid == self.head.uid => {
                    reconcile::Controller::Subject
                }
                Some(other) => {
                    reconcile::Controller::Other(format!("{} {}", other.kind, other.name))
                }
            },
            management: match managed {
                None => Management::None,
                Some(managed) if managed.applied => Management::Applied,
                Some(_) => Management::Created,
            },
            is_temporary: head.annotations.get(WHILE_WANTED).is_some(),
            is_deleted: head.is_deleted(),
        }
    }
}
