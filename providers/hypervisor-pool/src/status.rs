//! How far the agents have come.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use provider_composer::{Live, Lookup, ObservedState, Progress, Reason};
use provider_openstack::Awaited;

use crate::agents::UPLINKS;
use crate::named;
use crate::nodes::Node;
use crate::pod::COMPONENT;

/// What nodes lack of what their agents need: each node with a message.
pub type Lacks = BTreeSet<(String, String)>;

/// Whether an agent runs on every leased node, in its newest version.
pub fn rollout(namespace: &str, name: &str, observed: &ObservedState<'_>) -> Progress {
    let set = match observed.get::<DaemonSet>(namespace, name) {
        Lookup::Found(set) => set,
        Lookup::Missing => {
            return Progress::waiting(Reason::Starting, format!("waits for the DaemonSet {name}"));
        }
        Lookup::Unknown(message) => return Progress::Unknown { message },
    };
    let status = set.body.status.unwrap_or_default();
    let wanted = status.desired_number_scheduled;
    let updated = status.updated_number_scheduled.unwrap_or_default();
    let ready = status.number_ready;
    if status.observed_generation >= set.metadata.generation && ready == wanted && updated == wanted
    {
        return Progress::Ready;
    }
    Progress::waiting(
        Reason::Starting,
        format!(
            "waits for pods of the DaemonSet {name}: {ready} of {wanted} are ready, {updated} are up to date; see `kubectl \
             get pods -n {namespace} -l app.kubernetes.io/component={name} -o wide`"
        ),
    )
}

/// Returns what nodes lack of what their agents need.
///
/// # Errors
/// The pods that check it can't be read.
pub fn lacks(namespace: &str, observed: &ObservedState<'_>) -> Awaited<Lacks> {
    match observed.list::<Pod>(namespace, &[]) {
        Lookup::Found(pods) => Ok(pods.iter().filter_map(failure).collect()),
        Lookup::Missing => Ok(Lacks::new()),
        Lookup::Unknown(message) => Err(Progress::Unknown { message }),
    }
}

/// Whether every node has what its agents need.
pub fn requirements(lacks: &Awaited<Lacks>) -> Progress {
    let lacks = match lacks {
        Ok(lacks) if lacks.is_empty() => return Progress::Ready,
        Ok(lacks) => lacks.iter(),
        Err(progress) => return progress.clone(),
    };
    let failures = lacks.map(|(node, message)| format!("node {node}: {message}"));
    let failures: Vec<String> = failures.collect();
    Progress::failed(Reason::RequirementMissing, named(&failures, "; "))
}

/// Whether the nodes that are Ready have uplinks to all physical networks, and why interfaces are refused.
pub fn uplinks<'a>(
    namespace: &str,
    nodes: impl Iterator<Item = &'a Live<Node>>,
    observed: &ObservedState<'_>,
) -> Progress {
    let pods = match observed.list::<Pod>(namespace, &[(COMPONENT, UPLINKS)]) {
        Lookup::Found(pods) => pods,
        Lookup::Missing => Vec::new(),
        Lookup::Unknown(message) => return Progress::Unknown { message },
    };
    let nodes = nodes.filter(|node| node.body.is_ready());
    let names: Vec<&str> = nodes.map(|node| node.metadata.name.as_str()).collect();
    // The first one of a node counts.
    let running = pods.iter().rev().filter(|pod| runs(pod));
    let running: BTreeMap<&str, &Live<Pod>> = running
        .filter_map(|pod| Some((node_of(pod)?, pod)))
        .collect();
    let (mut refusals, mut lacking, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for &name in &names {
        let Some(&pod) = running.get(name) else {
            absent.push(name);
            continue;
        };
        match refusal(pod) {
            Some(refusal) => refusals.push(format!("node {name}: {refusal}")),
            None if !is_ready(pod) => lacking.push(name),
            None => {}
        }
    }
    let mut messages = Vec::new();
    if !refusals.is_empty() {
        messages.push(named(&refusals, "; "));
    }
    if !lacking.is_empty() {
        messages.push(format!(
            "{} of {} nodes lack an uplink to a physical network, and have no gateways to it: {}. If they are to have some, see \
             `kubectl logs -n {namespace} -l {COMPONENT}={UPLINKS} --prefix`, and set interface of the network in the pool",
            lacking.len(),
            names.len(),
            named(&lacking, ", ")
        ));
    }
    let reason = match messages.as_slice() {
        [] => Reason::Starting,
        _ => Reason::UplinkMissing,
    };
    if !absent.is_empty() {
        messages.push(format!(
            "waits for the pods of {UPLINKS} on {}: see `kubectl get pods -n {namespace} -l {COMPONENT}={UPLINKS} -o wide`",
            named(&absent, ", ")
        ));
    }
    match messages.as_slice() {
        [] => Progress::Ready,
        messages => Progress::waiting(reason, messages.join("; ")),
    }
}

/// Whether Kubernetes counts an agent as down on each node that has a pod of it; none if the pods can't be read. One that ends counts: the
/// next starts once it has ended, which nobody reports of a node that is down.
pub fn down(
    namespace: &str,
    name: &str,
    observed: &ObservedState<'_>,
) -> Option<BTreeMap<String, bool>> {
    let pods = match observed.list::<Pod>(namespace, &[(COMPONENT, name)]) {
        Lookup::Found(pods) => pods,
        Lookup::Missing => Vec::new(),
        Lookup::Unknown(_) => return None,
    };
    let mut down = BTreeMap::new();
    for pod in &pods {
        if let Some(node) = node_of(pod) {
            let is_up = is_ready(pod) && pod.metadata.deletion_timestamp.is_none();
            *down.entry(node.to_owned()).or_insert(true) &= !is_up;
        }
    }
    Some(down)
}

fn node_of(pod: &Live<Pod>) -> Option<&str> {
    pod.body.spec.as_ref()?.node_name.as_deref()
}

/// Whether a pod has started and doesn't end.
fn runs(pod: &Live<Pod>) -> bool {
    let status = pod.body.status.as_ref();
    let is_running = status.is_some_and(|status| status.phase.as_deref() == Some("Running"));
    is_running && pod.metadata.deletion_timestamp.is_none()
}

fn is_ready(pod: &Live<Pod>) -> bool {
    let status = pod.body.status.as_ref();
    let mut conditions = status
        .into_iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Why the agent `uplinks` refuses interfaces: the termination message of its container, which exits whenever that changes.
fn refusal(pod: &Live<Pod>) -> Option<&str> {
    let containers = pod.body.status.as_ref()?.container_statuses.as_ref()?;
    let said = containers
        .iter()
        .find_map(|container| last_end(container)?.message.as_deref());
    said.map(str::trim).filter(|said| !said.is_empty())
}

/// What a pod's node lacks.
fn failure(pod: &Live<Pod>) -> Option<(String, String)> {
    let node = node_of(pod)?;
    let checks = pod.body.status.as_ref()?.init_container_statuses.as_ref()?;
    let message = checks.iter().find_map(message)?;
    Some((node.to_owned(), message.to_owned()))
}

/// What a container that has failed said at last.
fn message(check: &ContainerStatus) -> Option<&str> {
    let last = last_end(check)?;
    let said = last
        .message
        .as_deref()
        .unwrap_or("the check of the node failed");
    (last.exit_code != 0).then(|| said.trim())
}

/// How a container ended at last; it may be waiting for its next start.
fn last_end(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    let mut states = [&container.state, &container.last_state].into_iter();
    states.find_map(|state| state.as_ref()?.terminated.as_ref())
}
