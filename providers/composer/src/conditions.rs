//! The conditions of a resource.

use std::collections::BTreeSet;

use c5c3_api::{Condition, LONGEST_MESSAGE, Reason};
use jiff::Timestamp;

/// The progress of something that a condition reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is ready.
    Ready,
    /// It isn't ready, and nothing is wrong: the message says what is waited for.
    Waiting {
        /// For instance `WaitingForKeystone`.
        reason: Reason,
        /// What is waited for, by name.
        message: String,
    },
    /// Something is wrong: the message says what to do.
    Failed {
        /// The reason of the condition.
        reason: Reason,
        /// What is wrong and what to do.
        message: String,
        /// Whether it is retried only after a user corrects it.
        is_stalled: bool,
    },
    /// It could not be determined.
    Unknown {
        /// Why not.
        message: String,
    },
}

impl Progress {
    /// Not ready, and nothing is wrong.
    pub fn waiting(reason: Reason, message: impl Into<String>) -> Self {
        Self::Waiting {
            reason,
            message: message.into(),
        }
    }

    /// Something is wrong until a user corrects it.
    pub fn failed(reason: Reason, message: impl Into<String>) -> Self {
        Self::Failed {
            reason,
            message: message.into(),
            is_stalled: true,
        }
    }

    /// Something is wrong, and is retried.
    pub fn failing(reason: Reason, message: impl Into<String>) -> Self {
        Self::Failed {
            reason,
            message: message.into(),
            is_stalled: false,
        }
    }

    /// It could not be determined.
    pub fn unknown(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Unknown { message }
    }

    /// Returns what is waited for, or what is wrong; empty if it is ready.
    pub fn message(&self) -> &str {
        match self {
            Self::Ready => "",
            Self::Waiting { message, .. }
            | Self::Failed { message, .. }
            | Self::Unknown { message } => message,
        }
    }

    /// Changes the message.
    #[must_use]
    pub fn explained(mut self, explain: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            Self::Ready => {}
            Self::Waiting { message, .. }
            | Self::Failed { message, .. }
            | Self::Unknown { message } => *message = explain(message),
        }
        self
    }

    /// Whether it is ready.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// Whether something is wrong, as opposed to pending.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Whether something is wrong until a user corrects it.
    pub fn is_stalled(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                is_stalled: true,
                ..
            }
        )
    }

    /// Whether it could not be determined.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

/// The conditions of a resource, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(Vec<Reported>);

/// A condition, with what its fields don't contain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reported {
    condition: Condition,
    /// Whether something is wrong, as opposed to pending.
    is_failed: bool,
    /// Whether a user has to correct it.
    is_stalled: bool,
    /// Whether Ready waits for it.
    counts: bool,
}

impl Reported {
    fn of(condition: Condition) -> Self {
        Self {
            condition,
            is_failed: false,
            is_stalled: false,
            counts: true,
        }
    }

    fn is(&self, type_: &str) -> bool {
        self.condition.type_ == type_
    }
}

/// The summary of all others.
const READY: &str = "Ready";

/// Present and True while a user has to correct something, as tools expect that use kstatus
/// (<https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md>).
pub const STALLED: &str = "Stalled";

/// Present and True while the resource isn't Ready, and nothing is wrong, and while a failed call to an external system is tried again;
/// also of kstatus.
pub const RECONCILING: &str = "Reconciling";

/// The status of a condition that is neither True nor False.
const UNKNOWN: &str = "Unknown";

impl From<Vec<Condition>> for Conditions {
    fn from(conditions: Vec<Condition>) -> Self {
        Self(conditions.into_iter().map(Reported::of).collect())
    }
}

impl Conditions {
    /// Sets a condition, for instance `KeystoneReady`.
    pub fn set(&mut self, type_: &str, progress: &Progress) {
        self.report(type_, progress, true);
    }

    /// Sets a condition that Ready doesn't wait for: it may be False while the resource serves.
    pub fn note(&mut self, type_: &str, progress: &Progress) {
        self.report(type_, progress, false);
    }

    /// Sets a condition about a result, which Ready doesn't wait for either. Unlike what isn't ready, a result that is waited for
    /// isn't False but Unknown.
    pub fn note_result(&mut self, type_: &str, progress: &Progress) {
        self.note(type_, progress);
        let reported = self.0.iter_mut().find(|reported| reported.is(type_));
        if let (Some(reported), Progress::Waiting { .. }) = (reported, progress) {
            UNKNOWN.clone_into(&mut reported.condition.status);
        }
    }

    fn report(&mut self, type_: &str, progress: &Progress, counts: bool) {
        let (status, reason, message) = match progress {
            Progress::Ready => ("True", Reason::Ready, ""),
            Progress::Waiting { reason, message }
            | Progress::Failed {
                reason, message, ..
            } => ("False", *reason, message.as_str()),
            Progress::Unknown { message } => (UNKNOWN, Reason::LookupFailed, message.as_str()),
        };
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_string(),
            message: message.to_owned(),
            ..Condition::default()
        };
        let reported = Reported {
            condition,
            is_failed: progress.is_failed(),
            is_stalled: progress.is_stalled(),
            counts,
        };
        match self.0.iter_mut().find(|other| other.is(type_)) {
            Some(other) => *other = reported,
            None => self.0.push(reported),
        }
    }

    /// Returns the types that aren't True because something is wrong, with Ready where it repeats one of them.
    pub fn failed(&self) -> BTreeSet<String> {
        let failed = self.0.iter().filter(|reported| reported.is_failed);
        let ready = self.broken().filter(|broken| broken.is_failed);
        failed
            .map(|reported| reported.condition.type_.clone())
            .chain(ready.map(|_| READY.to_owned()))
            .collect()
    }

    /// Returns the first that isn't True of those that Ready waits for.
    fn broken(&self) -> Option<&Reported> {
        let mut counted = self.0.iter().filter(|reported| reported.counts);
        counted.find(|reported| reported.condition.status != "True")
    }

    /// Returns Stalled or Reconciling, with the message of what Ready waits for; none while the resource is Ready.
    fn activity(&self) -> Option<Condition> {
        let ready = self.0.iter().find(|reported| reported.is(READY));
        let why = ready.or(self.broken())?;
        let type_ = match why.is_stalled {
            true => STALLED,
            false => RECONCILING,
        };
        let condition = why.condition.clone();
        (condition.status != "True").then(|| Condition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            ..condition
        })
    }

    /// Returns the conditions as they are written: with Ready, which repeats the first that isn't True of those that it
    /// waits for, with Stalled or Reconciling, with the generation that they were observed at, and with the time that
    /// each status last changed.
    pub fn written(
        mut self,
        previous: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        self.0
            .retain(|reported| !reported.is(STALLED) && !reported.is(RECONCILING));
        let activity = self.activity();
        let ready = match self.broken() {
            Some(broken) => Condition {
                type_: READY.to_owned(),
                status: "False".to_owned(),
                ..broken.condition.clone()
            },
            None => Condition {
                type_: READY.to_owned(),
                status: "True".to_owned(),
                reason: Reason::Ready.to_string(),
                ..Condition::default()
            },
        };
        let is_told = self.0.iter().any(|reported| reported.is(READY));
        let conditions = self.0.into_iter().map(|reported| reported.condition);
        let ready = Some(ready).filter(|_| !is_told);
        let mut conditions: Vec<Condition> = conditions.chain(ready).chain(activity).collect();
        for condition in &mut conditions {
            let before = previous
                .iter()
                .find(|other| other.type_ == condition.type_ && other.status == condition.status);
            let since = before.and_then(|other| other.last_transition_time.clone());
            condition.last_transition_time = Some(since.unwrap_or_else(|| second(now)));
            condition.observed_generation = generation;
            shorten(&mut condition.message);
        }
        conditions
    }
}

/// How many things a message names.
const NAMED: usize = 3;

/// Returns the first few names, and how many there are besides, for a message.
pub fn named<T: AsRef<str>>(names: &[T], separator: &str) -> String {
    let more = names.len().saturating_sub(NAMED);
    let names = names.iter().take(NAMED).map(AsRef::as_ref);
    let first = names.collect::<Vec<&str>>().join(separator);
    match more {
        0 => first,
        more => format!("{first}{separator}and {more} more"),
    }
}

/// Cuts a message that the API server would refuse with the whole status. Others, such as containers on nodes, may have written parts of it.
pub(crate) fn shorten(message: &mut String) {
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE - 1)
        && message.chars().count() > LONGEST_MESSAGE
    {
        message.truncate(end);
        message.push('…');
    }
}

/// A moment as Kubernetes writes it, to the second, for instance `2026-02-01T00:00:00Z`.
pub fn second(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_third_are_counted() {
        assert_eq!(named(&["a", "b", "c"], ", "), "a, b, c");
        assert_eq!(
            named(&["a", "b", "c", "d", "e"], "; "),
            "a; b; c; and 2 more"
        );
    }

    #[test]
    fn message_of_others_never_makes_a_status_invalid() {
        let of = |count| "é".repeat(count);
        for (said, kept) in [
            (of(LONGEST_MESSAGE), of(LONGEST_MESSAGE)),
            (of(2 * LONGEST_MESSAGE), of(LONGEST_MESSAGE - 1) + "…"),
        ] {
            let mut conditions = Conditions::default();
            let progress = Progress::failed(Reason::RequirementMissing, said);
            conditions.set("HostsReady", &progress);
            let written = conditions.written(&[], None, Timestamp::UNIX_EPOCH);
            assert!(written.iter().all(|condition| condition.message == kept));
        }
    }
}
