//! What a reconcile does with a desired state, decided from what exists. No I/O: the controller does what is decided on an API
//! server, [`memory::reconcile`] in memory, and one suite holds both to the same outcome.

mod events;
mod existing;
pub mod memory;
mod prune;
mod retried;

use std::collections::BTreeSet;

use c5c3_api::Reason;
use c5c3_kinds::ResourceKind;
use jiff::Timestamp;
use serde_json::Value;

use crate::composed::Composed;
use crate::composer::Operator;
use crate::deletion::Deletion;
pub use crate::deletion::has_serving_pods;
use crate::desired::DesiredState;
use crate::failure::Failure;
use crate::generated::Generated;
use crate::key::Key;
use crate::lookup::Lookup;
use crate::status::{status_of_failure, status_with_failure};
use crate::uses::Access;

pub use events::{Event, events};
pub use existing::{Controller, Existing, Management};
use retried::retried;

/// The condition that sums up all others.
const READY: &str = "Ready";

/// The finalizer of an object that is deleted without the objects that it owns
/// (<https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents>).
const ORPHAN: &str = "orphan";

/// A reconcile of one subject by one operator.
#[derive(Clone, Copy)]
pub struct Reconcile<'a> {
    /// The operator.
    pub operator: &'a dyn Operator,
    /// The subject.
    pub subject: &'a Key,
}

/// How a reconcile begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With nothing: the garbage collector deletes the subject's objects.
    Leave,
    /// By removing the operator's finalizer, which it doesn't need any more.
    Release,
    /// By composing.
    Compose,
}

/// How a part of the desired state is written.
#[derive(Clone, Copy)]
pub enum Write<'a> {
    /// Applies an object.
    Apply(&'a Value),
    /// Sets labels on an object that exists, as it was observed.
    Label {
        /// The labels; null removes one.
        labels: &'a Value,
        /// The resourceVersion that was observed.
        version: Option<&'a str>,
    },
    /// Creates a Secret that doesn't exist.
    Generate(&'a Generated),
}

impl Write<'_> {
    /// Returns whether the write is due, given what exists. Whether it would change anything is for the runtime to compare.
    ///
    /// # Errors
    /// The object has another owner, or can't be read.
    pub fn is_due(&self, key: &Key, existing: &Lookup<Existing>) -> Result<bool, Failure> {
        match (self, existing) {
            (Self::Apply(_), Lookup::Found(existing)) if !existing.is_owned() => {
                Err(taken(key, existing.other_owner()))
            }
            (Self::Apply(_), Lookup::Found(_) | Lookup::Missing) => Ok(true),
            (Self::Label { .. }, Lookup::Found(_)) => Ok(true),
            (Self::Label { .. }, Lookup::Missing) => Ok(false),
            (Self::Generate(_), Lookup::Missing) => Ok(true),
            (Self::Generate(_), Lookup::Found(_)) => Ok(false),
            (_, Lookup::Unknown(why)) => Err(Failure::transient(
                Reason::NotApplied,
                format!("{key} can't be {}: {why}", self.done()),
            )),
        }
    }

    /// What messages call an object that was written so.
    pub fn done(&self) -> &'static str {
        match self {
            Self::Apply(_) => "applied",
            Self::Label { .. } => "labelled",
            Self::Generate(_) => "created",
        }
    }

    /// Returns whether the object is as it was when the write was decided, given its resourceVersion now. If it isn't, nothing is
    /// written, and the reconcile is repeated.
    pub fn is_for(&self, present: Option<&str>) -> bool {
        match self {
            Self::Label { version, .. } => *version == present,
            Self::Apply(_) | Self::Generate(_) => true,
        }
    }
}

impl DesiredState {
    /// Returns what is to be written, one group after the other: objects, labels, Secrets.
    pub fn writes(&self) -> [Vec<(&Key, Write<'_>)>; 3] {
        let (labelled, applied): (Vec<_>, Vec<_>) = self
            .objects
            .iter()
            .partition(|(key, _)| self.labelled.contains_key(*key));
        let labels = labelled.into_iter().map(|(key, object)| {
            let labels = &object["metadata"]["labels"];
            let version = self.labelled.get(key).and_then(Option::as_deref);
            (key, Write::Label { labels, version })
        });
        let generated = self.generated.iter();
        [
            applied
                .into_iter()
                .map(|(key, object)| (key, Write::Apply(object)))
                .collect(),
            labels.collect(),
            generated
                .map(|(key, generated)| (key, Write::Generate(generated)))
                .collect(),
        ]
    }
}

impl Reconcile<'_> {
    /// Decides how the reconcile begins, given whether the subject is being deleted. `has_finalizer` returns whether it has a finalizer, and
    /// `may_have_pods` whether it has, or may have, objects whose pods serve.
    pub fn start(
        &self,
        is_deleted: bool,
        has_finalizer: impl Fn(&str) -> bool,
        may_have_pods: impl FnOnce() -> bool,
    ) -> Start {
        match (is_deleted, has_finalizer(&self.finalizer())) {
            (false, _) => Start::Compose,
            (true, false) => Start::Leave,
            (true, true) => match self.operator.deletion() {
                Deletion::Unordered => Start::Release,
                Deletion::PodsFirst if has_finalizer(ORPHAN) || !may_have_pods() => Start::Release,
                Deletion::PodsFirst | Deletion::Composed => Start::Compose,
            },
        }
    }

    /// Whether an object that is deleted stays until its pods are gone. Composers that have an order of their own wait for what they need.
    pub fn waits_for_pods(&self, kind: ResourceKind) -> bool {
        has_serving_pods(kind) && self.operator.deletion() == Deletion::PodsFirst
    }

    /// Returns the finalizer that keeps the subject until its objects are deleted.
    pub fn finalizer(&self) -> String {
        let kind = self.subject.kind;
        format!("{}/{}", kind.group, kind.kind.to_lowercase())
    }

    /// Checks that all objects are where the subject may own them: elsewhere, every user could name it as the owner.
    ///
    /// # Errors
    /// One isn't.
    pub fn check_places(&self, desired: &DesiredState) -> Result<(), Failure> {
        let mut keys = desired.objects.keys().chain(desired.generated.keys());
        match keys.find(|key| !self.may_own(key)) {
            None => Ok(()),
            Some(key) => Err(Failure::new(
                Reason::InternalError,
                format!(
                    "{key} would not be in the namespace of its owner, which is a defect of the operator: report it"
                ),
            )),
        }
    }

    /// Whether the subject may have an object at this place.
    pub fn may_own(&self, key: &Key) -> bool {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        may_own(self.operator.namespace_prefix(), self.subject, namespace)
    }

    /// Returns the kinds of which the subject's objects are deleted when they aren't wanted any more.
    pub fn pruned_kinds(&self) -> BTreeSet<ResourceKind> {
        let uses = self.operator.uses().into_iter();
        let composed = uses.filter(|used| used.access == Access::Composes);
        composed.map(|used| used.kind).collect()
    }
}

/// Whether an owner may have objects in a namespace, or cluster-scoped ones: in other namespaces every user may name any owner.
/// `prefix` is how the namespace of a cluster-scoped owner begins.
pub fn may_own(prefix: Option<&str>, owner: &Key, namespace: &str) -> bool {
    match &owner.namespace {
        Some(own) => own == namespace,
        None => {
            let suffix = prefix.and_then(|prefix| namespace.strip_prefix(prefix));
            namespace.is_empty() || suffix == Some(owner.name.as_str())
        }
    }
}

/// Returns the failure of an object that exists and has another owner, which the message names where it is known.
pub fn taken(key: &Key, owner: Option<&str>) -> Failure {
    let place = match &key.namespace {
        Some(namespace) => format!("{key} in {namespace}"),
        None => key.to_string(),
    };
    let message = format!(
        "{place} exists and has another owner{}, so it is left alone: delete or rename it, or choose another name here",
        owner.map_or_else(String::new, |owner| format!(", {owner}"))
    );
    Failure::new(Reason::NameTaken, message)
}

/// Returns which of several failures is reported: the first that a person has to correct, since others go by themselves, or the first.
pub fn foremost(failures: &[Failure]) -> Option<&Failure> {
    let lasting = failures.iter().find(|failure| !failure.is_transient());
    lasting.or(failures.first())
}

/// Returns the status of a subject that can't be composed or, with what was composed, whose desired state can't be applied; and
/// the types of its conditions that failed. A subject that was Ready stays Ready while calls to an external system fail for a short time.
pub fn refused(
    resource: &Value,
    composed: Option<&Composed>,
    failure: &Failure,
    now: Timestamp,
) -> (Value, BTreeSet<String>) {
    let (status, mut failed) = match composed {
        Some(composed) => {
            let not_ready = || status_with_failure(resource, composed.status.clone(), failure, now);
            let status = retried(resource, &composed.status, failure, now);
            (status.unwrap_or_else(not_ready), composed.failed.clone())
        }
        None => (status_of_failure(resource, failure, now), BTreeSet::new()),
    };
    if !failure.is_transient() {
        failed.insert(READY.to_owned());
    }
    (status, failed)
}
