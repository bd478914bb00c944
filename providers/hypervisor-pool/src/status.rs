//! How far the agents have come.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorShareSpec, MIXED};
use k8s_openapi::api::apps::v1::DaemonSet;
use provider_composer::{Live, Lookup, ObservedState, Progress, Reason, Subject, named};
use provider_openstack::{Prerequisite, compute_configuration};

use crate::configuration::Configuration;
use crate::nodes::Node;
use crate::pods::{self, Pods};
use crate::traits::NOVA_COMPUTE;

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

/// Returns what stands for the configuration that nova-compute has on all nodes, as the control plane knows it, or [`MIXED`]. `current` stands
/// for the one of the pods' template. What can't be read stays as it was reported.
pub fn configuration(
    subject: &Subject<HypervisorShareSpec>,
    current: Option<&str>,
    pods: &Prerequisite<Pods>,
    observed: &ObservedState<'_>,
) -> Option<String> {
    let share = &subject.spec;
    let nova = Configuration::find("nova", Some(share.cell()), share, observed);
    match (pods, nova) {
        (Ok(pods), Ok(nova)) if pods.all_have(NOVA_COMPUTE, current) => {
            compute_configuration(&nova.values)
        }
        (Ok(_), Ok(_)) => Some(MIXED.to_owned()),
        _ => subject.status.configuration.clone(),
    }
}

/// Returns what nodes lack of what their agents need.
///
/// # Errors
/// The pods that check it can't be read.
pub fn lacks(pods: &Prerequisite<Pods>) -> Prerequisite<Lacks> {
    let pods = pods.as_ref().map_err(Clone::clone)?;
    let lacks = pods.lacks();
    Ok(lacks
        .map(|(node, message)| (node.to_owned(), message.to_owned()))
        .collect())
}

/// Whether every node has what its agents need.
pub fn requirements(lacks: &Prerequisite<Lacks>) -> Progress {
    let lacks = match lacks {
        Ok(lacks) if lacks.is_empty() => return Progress::Ready,
        Ok(lacks) => lacks.iter(),
        Err(progress) => return progress.clone(),
    };
    let failures = lacks.map(|(node, message)| format!("node {node}: {message}"));
    let failures: Vec<String> = failures.collect();
    Progress::failed(Reason::RequirementMissing, named(&failures, "; "))
}

/// Whether Kubernetes counts an agent as down on a node that is to run it, or not; not if the pods can't be read. A pod that is missing
/// counts where there should be one, and one that ends counts too: the next starts once it has ended, which nobody reports of a node that is
/// down.
pub fn is_down(agent: &str, node: &Live<Node>, is_wanted: bool, pods: &Prerequisite<Pods>) -> bool {
    let Ok(pods) = pods else {
        return false;
    };
    let mut pods = pods.of(agent, &node.metadata.name).peekable();
    match pods.peek() {
        None => is_wanted,
        Some(_) => pods.all(|pod| !pods::is_up(pod)),
    }
}
