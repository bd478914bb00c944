//! The observed state of a control plane's nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use c5c3_api::Condition;
use c5c3_kinds::cert_manager::Certificate;
use c5c3_kinds::{Manifest, rabbitmq};
use jiff::Timestamp;
use provider_composer::{Key, Lookup, ObservedState, Owner, Progress, Reason, Resource, STALLED};
use provider_openstack::table::Tags;
use provider_openstack::{COMPUTES_UPGRADED, Release, unissued};
use serde::Deserialize;
use serde_json::Value;

use crate::graph::{Graph, Node, Step};
use crate::recipe::{ControlPlane, Recipe};

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
        match &self.progress {
            Progress::Failed { reason, .. } => *reason == Reason::TooLateToGoBack,
            _ => false,
        }
    }

    /// Whether it is a RabbitMQ that blocks publishers.
    pub fn has_alarm(&self) -> bool {
        matches!(&self.progress, Progress::Failed { reason, .. } if *reason == Reason::ResourceAlarm)
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

/// How far an object has come, by what its own operator says of it.
fn progress(step: &Step, key: &Key, object: &Value, observed: &ObservedState<'_>) -> Progress {
    match step.node {
        Node::MariaDb => mariadb(step, key, object, observed),
        Node::RabbitMq => rabbitmq(step, key, object, observed),
        Node::Valkey => valkey(step, key, object),
        Node::Memcached => memcached(step, key, object),
        _ => conditions(step, key, observed, &["Ready"]),
    }
}

fn conditions(step: &Step, key: &Key, observed: &ObservedState<'_>, types: &[&str]) -> Progress {
    for type_ in types {
        let condition = match observed.condition(key, type_) {
            Lookup::Found(Some(condition)) if condition.status == "True" => continue,
            Lookup::Found(condition) => condition,
            Lookup::Missing => None,
            Lookup::Unknown(message) => return Progress::Unknown { message },
        };
        let Some(condition) = condition else {
            return waiting(step, format!("{key} has no condition {type_} yet"));
        };
        let (reason, message) = (condition.reason, condition.message);
        let why = if message.is_empty() {
            &reason
        } else {
            &message
        };
        let message = format!("{key} isn't {type_}: {why}");
        return match observed.condition(key, STALLED) {
            Lookup::Found(Some(stalled)) if stalled.status == "True" => {
                Progress::failed(Reason::reported(&reason), message)
            }
            _ => waiting(step, message),
        };
    }
    Progress::Ready
}

/// Its operator doesn't say why it lacks the Secret of its certificate.
fn rabbitmq(step: &Step, key: &Key, object: &Value, observed: &ObservedState<'_>) -> Progress {
    let progress = conditions(step, key, observed, &rabbitmq::READY);
    if progress.is_ready() {
        return progress;
    }
    let namespace = key.namespace.as_deref().unwrap_or_default();
    let secret = object.pointer("/spec/tls/secretName");
    let why = secret.and_then(Value::as_str).and_then(|secret| {
        let certificate = Key::of::<Manifest<Certificate>>(namespace, secret);
        let why = unissued(&certificate, observed)?;
        Some(format!("; {certificate} isn't issued: {why}"))
    });
    progress.explained(|message| message.to_owned() + &why.unwrap_or_default())
}

/// While no member of a Galera cluster serves, mariadb-operator starts the one that has committed most, once it knows that of all
/// members, and waits for them as long as it takes (`recoverCluster` of mariadb-operator 0.38). Whether to go on without one of them is
/// a person's decision. GaleraReady stays False until all members are ready, while the first one serves already.
fn mariadb(step: &Step, key: &Key, object: &Value, observed: &ObservedState<'_>) -> Progress {
    let progress = conditions(step, key, observed, &["Ready"]);
    let is_down = matches!(
        observed.condition(key, "GaleraReady"),
        Lookup::Found(Some(condition)) if condition.status == "False"
    );
    match progress {
        Progress::Waiting { reason, message } if is_down => {
            let message = format!("{message}. {}", recovery(key, object));
            Progress::waiting(reason, message)
        }
        progress => progress,
    }
}

/// The UUID of a member that never was in a cluster, or that has to copy all data of another.
const NO_UUID: &str = "00000000-0000-0000-0000-000000000000";

/// How far mariadb-operator has come with starting a Galera cluster again, and what a person may have to decide. It compares members with
/// a number, skips those with neither a number nor a UUID, and starts none if a member has a UUID alone (`isComplete` of
/// mariadb-operator 0.38).
fn recovery(key: &Key, object: &Value) -> String {
    let status = &object["status"]["galeraRecovery"];
    if let Some(first) = status["bootstrap"]["pod"].as_str() {
        return format!(
            "mariadb-operator starts {first} first, and the others join it, which takes as long as they copy data. {first} may serve \
             already: restore no backup, and name no other member, while it does"
        );
    }
    let has_number = |state: &Value| state["seqno"].as_i64().is_some_and(|seqno| seqno >= 0);
    let is_known = |member: &String| {
        let (state, recovered) = (&status["state"][member], &status["recovered"][member]);
        let has_nothing = recovered["uuid"] == NO_UUID && recovered["seqno"] == -1;
        state["safeToBootstrap"] == true
            || has_number(state)
            || has_number(recovered)
            || has_nothing
    };
    let members = object["spec"]["replicas"].as_u64().unwrap_or(1);
    let members = (0..members).map(|member| format!("{}-{member}", key.name));
    let unknown: Vec<String> = members.filter(|member| !is_known(member)).collect();
    let (unclear, missing): (Vec<&str>, Vec<&str>) = unknown
        .iter()
        .map(String::as_str)
        .partition(|member| status["recovered"][*member].is_object());
    if !missing.is_empty() {
        return format!(
            "No member serves: mariadb-operator starts the member that has committed most once it knows that of all members, and waits \
             for {}. If the volume of one of these is lost for good, delete the PersistentVolumeClaims and the pod of that member, and it \
             joins the others with empty volumes: what only it had committed is lost then. Set status.galeraRecovery of the MariaDB to \
             null afterwards, and restart mariadb-operator, which may read this only then",
            missing.join(", ")
        );
    }
    let choice = match unclear.is_empty() {
        true => "mariadb-operator chooses the member that has committed most. If MariaDB isn't started within half an hour, ".to_owned(),
        false => format!(
            "mariadb-operator starts none, since it can't read how much {} committed: ",
            unclear.join(", ")
        ),
    };
    format!(
        "No member serves: {choice}compare status.galeraRecovery of the MariaDB, name a member in \
         spec.galera.recovery.forceClusterBootstrapInPod, and restart mariadb-operator, which may read it only then; restore a backup only \
         if no member has data. {}-0 may have the data of a single MariaDB: keep its volume",
        key.name
    )
}

/// SAP's operators say how a resource is in one word.
fn valkey(step: &Step, key: &Key, object: &Value) -> Progress {
    let state = object.pointer("/status/state").and_then(Value::as_str);
    match state {
        Some("Ready") if is_current(object) => Progress::Ready,
        Some(state) => waiting(step, format!("{key} isn't Ready but {state}")),
        None => waiting(step, format!("{key} has no status.state yet")),
    }
}

/// Judges Memcached by its pods, of whichever generation: those that run are ready while their template changes. An update replaces one
/// at a time, and a key of a pod that is missing is one that isn't cached.
fn memcached(step: &Step, key: &Key, object: &Value) -> Progress {
    let (ready, wanted) = pods(object);
    let needed = match is_updating(object) {
        true => wanted.saturating_sub(1).max(1),
        false => wanted,
    };
    match ready >= needed {
        true => Progress::Ready,
        false => waiting(
            step,
            format!("{key} has {ready} of {wanted} replicas ready"),
        ),
    }
}

/// Returns what an update of Memcached waits for, while there is one. Memcached is ready meanwhile, also if the update never ends.
pub fn memcached_update(states: &NodeStates, namespace: &str) -> Option<Progress> {
    let step = Node::Memcached.step();
    let Lookup::Found(object) = &states.get(&step.node)?.object else {
        return None;
    };
    let key = step.keys(namespace).next()?;
    let (ready, wanted) = pods(object);
    let message = format!(
        "{key} replaces its pods one by one, and has {ready} of {wanted} replicas ready; see `kubectl describe pods -n {namespace} -l \
         app.kubernetes.io/instance={}` for why a new one doesn't become ready",
        key.name
    );
    is_updating(object).then(|| waiting(step, message))
}

/// How many pods of a StatefulSet are ready, and how many there should be.
fn pods(object: &Value) -> (u64, u64) {
    let number = |pointer| object.pointer(pointer).and_then(Value::as_u64);
    let ready = number("/status/readyReplicas").unwrap_or(0);
    (ready, number("/spec/replicas").unwrap_or(1))
}

/// Whether a StatefulSet has pods of an earlier template, or updated ones that aren't ready. Its controller makes both revisions the same
/// afterwards (pkg/controller/statefulset/stateful_set_utils.go, `completeRollingUpdate`).
fn is_updating(object: &Value) -> bool {
    let status = &object["status"];
    status["currentRevision"] != status["updateRevision"]
}

/// Whether a status is of the present generation.
fn is_current(object: &Value) -> bool {
    let number = |pointer| object.pointer(pointer).and_then(Value::as_i64);
    number("/status/observedGeneration") >= number("/metadata/generation")
}

fn waiting(step: &Step, message: String) -> Progress {
    Progress::waiting(Reason::WaitingFor(step.word), message)
}
