//! The observed state of a control plane's nodes.

mod progress;

use std::collections::BTreeMap;
use std::sync::Arc;

use c5c3_api::Condition;
use jiff::Timestamp;
use provider_composer::{Key, Lookup, ObservedState, Owner, Progress, Reason, Resource};
use provider_openstack::table::Tags;
use provider_openstack::{COMPUTES_UPGRADED, Release};
use serde::Deserialize;
use serde_json::Value;

use crate::graph::{Graph, Node, Step};
use crate::recipe::{ControlPlane, Recipe};

pub use progress::memcached_update;
use progress::{progress, waiting};

/// The observed state of one node.
#[derive(Clone, Debug)]
pub struct NodeState {
    /// Its first object, if that is this control plane's.
    pub object: Lookup<Arc<Value>>,
    /// Whether the kind of that object isn't installed.
    pub is_absent: bool,
    /// Whether there is an object of that name that isn't.
    pub is_taken: bool,
    /// How far it has come.
    pub progress: Progress,
    /// Whether it isn't created yet because it waits for something that isn't a node. ServicesReady doesn't wait for it.
    pub is_blocked: bool,
}

impl NodeState {
    /// The state of a node that reports its own progress.
    pub fn of_itself(progress: Progress) -> Self {
        Self {
            object: Lookup::Missing,
            is_absent: false,
            is_taken: false,
            progress,
            is_blocked: false,
        }
    }

    /// What is waited for, or what is wrong; empty if it is ready.
    pub fn message(&self) -> &str {
        self.progress.message()
    }

    /// Whether it is known to exist.
    pub fn exists(&self) -> bool {
        matches!(self.object, Lookup::Found(_))
    }

    /// Whether it may exist: then it mustn't be taken for missing.
    pub fn may_exist(&self) -> bool {
        !self.object.is_missing() && !self.is_absent
    }

    /// Whether its first object is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.value("/metadata/deletionTimestamp").is_some()
    }

    /// A text of its first object.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.value(pointer)?.as_str()
    }

    /// A value of its first object.
    pub fn value(&self, pointer: &str) -> Option<&Value> {
        self.object.as_ref().found()?.pointer(pointer)
    }

    /// The release that it can't come back from, where it has one: that of its databases, or the one that hypervisors were told to run.
    pub fn release(&self) -> Option<&'static Tags> {
        let field = match self.computes() {
            Some(_) => "/spec/release",
            None => "/status/release",
        };
        Release::tags(self.text(field)?).ok()
    }

    /// A condition of its first object, if that has it.
    pub fn condition(&self, type_: &str) -> Option<Condition> {
        let conditions = self.value("/status/conditions")?.as_array()?;
        let mut conditions = conditions.iter();
        let condition = conditions.find(|condition| condition["type"] == type_)?;
        Condition::deserialize(condition).ok()
    }

    /// Whether hypervisors run the release that a Nova has told them to run, until that is complete.
    pub fn computes(&self) -> Option<Condition> {
        self.condition(COMPUTES_UPGRADED)
    }

    /// Whether it refuses the release that it is to return to.
    pub fn cannot_return(&self) -> bool {
        self.has_failed(Reason::TooLateToGoBack)
    }

    /// Whether it is a RabbitMQ that blocks publishers.
    pub fn has_alarm(&self) -> bool {
        self.has_failed(Reason::ResourceAlarm)
    }

    fn has_failed(&self, with: Reason) -> bool {
        matches!(self.progress, Progress::Failed { reason, .. } if reason == with)
    }

    /// Whether it is ready, and with this release: wanted, and, where it says so, running.
    pub fn serves(&self, release: &str) -> bool {
        let is = |text: Option<&str>| text.is_none_or(|text| text == release);
        self.progress.is_ready()
            && is(self.text("/spec/release"))
            && is(self.text("/status/release"))
    }
}

/// The observed state of a control plane, by node.
pub type NodeStates = BTreeMap<Node, NodeState>;

/// Whether a control plane is complete without a node.
pub fn is_optional(step: &Step, graph: &Graph, states: &NodeStates) -> bool {
    let is_blocked = || states.get(&step.node).is_some_and(|state| state.is_blocked);
    step.is_optional() || !graph.wants(step.node) || is_blocked()
}

/// When the status of a condition last changed.
pub fn changed(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.as_ref()?.parse().ok()
}

/// Returns the observed state of some nodes. The catalogue reports its own progress.
pub fn observe<'a>(recipe: &Recipe<'_>, steps: impl Iterator<Item = &'a Step>) -> NodeStates {
    let each = steps.filter_map(|step| {
        let key = step.keys(recipe.namespace()).next()?;
        Some((
            step.node,
            observe_node(step, &key, recipe.subject, recipe.observed),
        ))
    });
    each.collect()
}

fn observe_node(
    step: &Step,
    key: &Key,
    subject: &ControlPlane,
    observed: &ObservedState<'_>,
) -> NodeState {
    let mut is_taken = false;
    let (object, progress) = match observed.object(key) {
        Lookup::Found(object) if is_ours(&object, subject) => {
            let progress = progress(step, key, &object, observed);
            (Lookup::Found(object), progress)
        }
        Lookup::Found(object) => {
            is_taken = true;
            let message = match owner(&object) {
                Some(owner) if owner.namespace == subject.namespace() => format!(
                    "{key} exists already and is composed for {}: delete that {}, or create this ControlPlane in another namespace; if \
                     there is no such {} any more, delete the object, or name it in this ControlPlane as external",
                    owner.title(),
                    owner.kind,
                    owner.kind
                ),
                _ => format!(
                    "{key} exists already and isn't this ControlPlane's: delete it, or name it in the ControlPlane as external"
                ),
            };
            (
                Lookup::Missing,
                Progress::failed(Reason::NameTaken, message),
            )
        }
        Lookup::Missing => {
            let message = format!("{key} is being created");
            (Lookup::Missing, waiting(step, message))
        }
        Lookup::Unknown(why) => (
            Lookup::Unknown(why.clone()),
            Progress::Unknown { message: why },
        ),
    };
    NodeState {
        object,
        is_absent: !observed.is_installed(key.kind, subject.namespace()),
        is_taken,
        progress,
        is_blocked: false,
    }
}

/// Whether an object was composed for this control plane: its labels say so, or its ownerReference.
fn is_ours(object: &Value, subject: &ControlPlane) -> bool {
    let references = object.pointer("/metadata/ownerReferences");
    let mut references = references.and_then(Value::as_array).into_iter().flatten();
    owner(object) == Some(Owner::of(ControlPlane::KIND, &subject.metadata))
        || subject
            .metadata
            .uid
            .as_deref()
            .is_some_and(|uid| references.any(|reference| reference["uid"].as_str() == Some(uid)))
}

/// The owner that an object's labels name.
fn owner(object: &Value) -> Option<Owner> {
    let labels = object.pointer("/metadata/labels")?;
    Owner::from_labels(&BTreeMap::deserialize(labels).ok()?)
}
