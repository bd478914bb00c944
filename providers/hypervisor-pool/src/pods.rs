//! The pods of a share's agents, which are many: they are listed once in a reconcile.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use provider_composer::{Live, ObservedState, Resource, ResourceKind};
use provider_openstack::Prerequisite;
use serde::Deserialize;

use crate::nodes::{self, Condition, Node};
use crate::pod::{COMPONENT, CONFIGURATION};

/// A pod, as far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    spec: Spec,
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: Option<String>,
    conditions: Vec<Condition>,
    init_container_statuses: Vec<Container>,
    container_statuses: Vec<Container>,
}

/// A container, which may be waiting for its next start.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    state: Option<State>,
    last_state: Option<State>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    terminated: Option<Terminated>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Terminated {
    exit_code: i32,
    message: Option<String>,
}

impl Resource for Pod {
    const KIND: ResourceKind = <v1::Pod as Resource>::KIND;
}

/// The pods of a share's agents, by node.
pub struct Pods(BTreeMap<String, Vec<Live<Pod>>>);

impl Pods {
    /// Lists the pods in a namespace that are on a node, but those that a node has created itself: an attacker who controls a kubelet can
    /// create pods in any namespace, with any labels (kubernetes, plugin/pkg/admission/noderestriction/admission.go, `admitPodCreate`), and
    /// so among the agents of another share.
    ///
    /// # Errors
    /// They can't be read.
    pub fn list(namespace: &str, observed: &ObservedState<'_>) -> Prerequisite<Self> {
        let pods = observed.list::<Pod>(namespace, &[]).or_default()?;
        let mut on_node: BTreeMap<String, Vec<Live<Pod>>> = BTreeMap::new();
        let pods = pods.into_iter();
        for pod in pods.filter(|pod| pod.metadata.controller_of(Node::KIND).is_none()) {
            if let Some(node) = pod.body.spec.node_name.clone() {
                on_node.entry(node).or_default().push(pod);
            }
        }
        Ok(Self(on_node))
    }

    /// The pods on a node, by name.
    pub fn on(&self, node: &str) -> &[Live<Pod>] {
        self.0.get(node).map_or(&[], Vec::as_slice)
    }

    /// The pods of a component on a node, by name.
    pub fn of<'a>(&'a self, component: &'a str, node: &str) -> impl Iterator<Item = &'a Live<Pod>> {
        let pods = self.on(node).iter();
        pods.filter(move |pod| component_of(pod) == Some(component))
    }

    /// Whether no pod of a component is of another configuration. One that terminates counts.
    pub fn all_have(&self, component: &str, configuration: Option<&str>) -> bool {
        let pods = self.0.values().flatten();
        let mut pods = pods.filter(|pod| component_of(pod) == Some(component));
        pods.all(|pod| configuration_of(pod) == configuration)
    }

    /// Returns what nodes lack of what their agents need: each node with the message of a check that has failed at last.
    pub fn lacks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(node, pods)| {
            let failures = pods.iter().filter_map(failure);
            failures.map(move |message| (node.as_str(), message))
        })
    }

    /// Returns what containers of an agent said when they ended at last, with the node, where their pod isn't Ready.
    pub fn said<'a>(&'a self, component: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().flat_map(move |(node, pods)| {
            let pods = pods.iter();
            let pods = pods.filter(move |pod| component_of(pod) == Some(component));
            let said = pods.filter(|pod| !is_ready(pod)).filter_map(last_message);
            said.map(move |message| (node.as_str(), message))
        })
    }
}

/// The agent that a pod is of.
pub fn component_of(pod: &Live<Pod>) -> Option<&str> {
    pod.metadata.labels.get(COMPONENT).map(String::as_str)
}

/// What stands for the configuration that a pod's processes have read.
pub fn configuration_of(pod: &Live<Pod>) -> Option<&str> {
    let annotations = &pod.metadata.annotations;
    annotations.get(CONFIGURATION).map(String::as_str)
}

/// Whether a pod is Ready. One that is being deleted may be.
pub fn is_ready(pod: &Live<Pod>) -> bool {
    nodes::is_ready(&pod.body.status.conditions)
}

/// Whether a pod is Ready and isn't being deleted.
pub fn is_up(pod: &Live<Pod>) -> bool {
    is_ready(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a pod has started and isn't being deleted.
pub fn runs(pod: &Live<Pod>) -> bool {
    let is_running = pod.body.status.phase.as_deref() == Some("Running");
    is_running && pod.metadata.deletion_timestamp.is_none()
}

/// What the containers of a pod said when they ended at last, if one said something.
pub fn last_message(pod: &Live<Pod>) -> Option<&str> {
    let mut containers = pod.body.status.container_statuses.iter();
    let said = containers.find_map(|container| last_end(container)?.message.as_deref());
    said.map(str::trim).filter(|said| !said.is_empty())
}

/// What the first check of a pod's node that has failed said.
fn failure(pod: &Live<Pod>) -> Option<&str> {
    let checks = pod.body.status.init_container_statuses.iter();
    let mut ends = checks.filter_map(last_end);
    let failed = ends.find(|last| last.exit_code != 0)?;
    let said = failed.message.as_deref();
    Some(said.unwrap_or("the check of the node failed").trim())
}

/// How a container ended at last.
fn last_end(container: &Container) -> Option<&Terminated> {
    let mut states = [&container.state, &container.last_state].into_iter();
    states.find_map(|state| state.as_ref()?.terminated.as_ref())
}
