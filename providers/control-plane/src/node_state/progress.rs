//! How far the objects of a control plane's nodes have come, by what their own operators say of them.

use c5c3_kinds::cert_manager::Certificate;
use c5c3_kinds::{Manifest, rabbitmq};
use provider_composer::{Key, Lookup, ObservedState, Progress, Reason, STALLED};
use provider_openstack::unissued;
use serde_json::Value;

use super::NodeStates;
use crate::graph::{Node, Step};

/// The UUID of a member that never was in a cluster, or that has to copy all data of another.
const NO_UUID: &str = "00000000-0000-0000-0000-000000000000";

/// How far the object of a node has come.
pub(super) fn progress(
    step: &Step,
    key: &Key,
    object: &Value,
    observed: &ObservedState<'_>,
) -> Progress {
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

pub(super) fn waiting(step: &Step, message: String) -> Progress {
    Progress::waiting(Reason::WaitingFor(step.word), message)
}
