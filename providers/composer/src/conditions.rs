//! What holds of a resource.

use std::collections::BTreeSet;

use c5c3_api::Condition;
use jiff::Timestamp;

/// How far something has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is there and serves.
    Ready,
    /// It isn't ready, and nothing is wrong: `reason` is one word, the message says what is waited for.
    Waiting {
        /// One word in CamelCase, for instance `WaitingForKeystone`.
        reason: String,
        /// What is waited for, by name.
        message: String,
    },
    /// Something is wrong: the message says what to do.
    Failed {
        /// One word in CamelCase.
        reason: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// It isn't known.
    Unknown {
        /// Why not.
        message: String,
    },
}

impl Progress {
    /// Not ready, and nothing is wrong.
    pub fn waiting(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Waiting {
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Something is wrong.
    pub fn failed(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed {
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Whether it is there and serves.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

/// What holds of a resource, in the order in which it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    held: Vec<Condition>,
    /// Types of those that something is wrong with.
    failed: BTreeSet<String>,
    /// Types of those that Ready doesn't wait for.
    aside: BTreeSet<String>,
}

/// The sum of all others.
const READY: &str = "Ready";

impl From<Vec<Condition>> for Conditions {
    fn from(conditions: Vec<Condition>) -> Self {
        Self {
            held: conditions,
            ..Self::default()
        }
    }
}

impl Conditions {
    /// Sets a condition, for instance `KeystoneReady`.
    pub fn set(&mut self, type_: &str, progress: &Progress) {
        let (status, reason, message) = match progress {
            Progress::Ready => ("True", "Ready", ""),
            Progress::Waiting { reason, message } | Progress::Failed { reason, message } => {
                ("False", reason.as_str(), message.as_str())
            }
            Progress::Unknown { message } => ("Unknown", "Unread", message.as_str()),
        };
        let condition = Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Condition::default()
        };
        match matches!(progress, Progress::Failed { .. }) {
            true => self.failed.insert(type_.to_owned()),
            false => self.failed.remove(type_),
        };
        match self.held.iter_mut().find(|other| other.type_ == type_) {
            Some(other) => *other = condition,
            None => self.held.push(condition),
        }
    }

    /// Sets a condition that Ready doesn't wait for: what it tells of may fail, and the resource serves all the same.
    pub fn note(&mut self, type_: &str, progress: &Progress) {
        self.set(type_, progress);
        self.aside.insert(type_.to_owned());
    }

    /// Types of those that don't hold because something is wrong, with Ready where it repeats one of them. A condition itself
    /// doesn't tell that from something that is awaited.
    pub fn failed(&self) -> BTreeSet<String> {
        let mut failed = self.failed.clone();
        if self
            .broken()
            .is_some_and(|broken| failed.contains(&broken.type_))
        {
            failed.insert(READY.to_owned());
        }
        failed
    }

    /// The first that doesn't hold of those that Ready waits for.
    fn broken(&self) -> Option<&Condition> {
        let mut awaited = self
            .held
            .iter()
            .filter(|condition| !self.aside.contains(&condition.type_));
        awaited.find(|condition| condition.status != "True")
    }

    /// The conditions as they are written: with Ready, which repeats the first that doesn't hold of those that it waits for, with
    /// the generation they were seen at, and with the time that each status last changed.
    pub fn written(
        mut self,
        previous: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        if !self.held.iter().any(|condition| condition.type_ == READY) {
            let ready = match self.broken() {
                Some(broken) => Condition {
                    type_: READY.to_owned(),
                    status: "False".to_owned(),
                    ..broken.clone()
                },
                None => Condition {
                    type_: READY.to_owned(),
                    status: "True".to_owned(),
                    reason: READY.to_owned(),
                    ..Condition::default()
                },
            };
            self.held.push(ready);
        }
        for condition in &mut self.held {
            let before = previous
                .iter()
                .find(|other| other.type_ == condition.type_ && other.status == condition.status);
            let since = before.and_then(|other| other.last_transition_time.clone());
            condition.last_transition_time = Some(since.unwrap_or_else(|| second(now)));
            condition.observed_generation = generation;
        }
        self.held
    }
}

/// A moment as Kubernetes writes it, to the second.
fn second(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
