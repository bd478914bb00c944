//! What is known of a share's nodes: from Nova, and from pods on the nodes themselves.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{ComputeService, ComputeState, HypervisorShareSpec, LeasePhase};
use c5c3_api::nova::NovaSpec;
use k8s_openapi::api::core::v1;
use provider_composer::{Custom, Live, Lookup, ObservedState, Resource, ResourceKind, Subject};
use serde::Deserialize;

use crate::hold::HOLD;
use crate::lifecycle::{Evidence, Nova};
use crate::nodes::{self, Condition, Node};
use crate::pod::COMPONENT;

/// The DaemonSet whose pods are Ready on nodes without a domain.
pub const DRAIN: &str = "drain";
/// The DaemonSet whose pods are Ready on nodes that are wiped.
pub const WIPE: &str = "wipe";

/// How the namespace of a share's agents begins.
pub const NAMESPACE_PREFIX: &str = "agents-";

/// The namespace of a share's agents.
pub fn namespace(share: &str) -> String {
    format!("{NAMESPACE_PREFIX}{share}")
}

/// A pod, as far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Pod {
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    conditions: Vec<Condition>,
}

impl Resource for Pod {
    const KIND: ResourceKind = <v1::Pod as Resource>::KIND;
}

/// What is known of the nodes of one share.
pub struct Reports {
    /// By node, with the drain that each is of.
    services: BTreeMap<String, ComputeService>,
    /// The pods on each node; none if they can't be read.
    pods: Option<BTreeMap<String, Vec<Live<Pod>>>>,
    /// Whether there is no Nova any more that could report.
    has_no_nova: bool,
    /// The servers on each node, where the pool asks for them and Nova has answered.
    servers: Option<BTreeMap<String, u32>>,
}

impl Reports {
    /// Reads what is known of a share's nodes from its status too, where the share's own reconcile says what Nova reports.
    pub fn of_status(share: &Subject<HypervisorShareSpec>, observed: &ObservedState<'_>) -> Self {
        let mut reports = Self::observe(share, observed);
        for host in &share.status.hosts {
            if let (Some(since), Some(state)) = (&host.since, host.compute_service) {
                let instances = host.instances.unwrap_or_default();
                reports.insert(&host.name, since, state, instances);
            }
        }
        reports
    }

    /// Reads what is known of a share's nodes.
    pub fn observe(share: &Subject<HypervisorShareSpec>, observed: &ObservedState<'_>) -> Self {
        let services = share.spec.compute_services.iter();
        let pods = match observed.list::<Pod>(&namespace(share.name()), &[]) {
            Lookup::Found(pods) => Some(pods),
            Lookup::Missing => Some(Vec::new()),
            Lookup::Unknown(_) => None,
        };
        let pods = pods.map(|pods| {
            let mut on_node: BTreeMap<String, Vec<Live<Pod>>> = BTreeMap::new();
            for pod in pods {
                if let Some(node) = pod.body.spec.node_name.clone() {
                    on_node.entry(node).or_default().push(pod);
                }
            }
            on_node
        });
        Self {
            services: services
                .map(|service| (service.name.clone(), service.clone()))
                .collect(),
            pods,
            has_no_nova: share.is_deleted() && has_no_nova(&share.spec, observed),
            servers: None,
        }
    }

    /// What Nova reports of the present drain of a node.
    fn service(&self, node: &Live<Node>) -> Option<&ComputeService> {
        let since = nodes::since(node)?;
        let service = self.services.get(&node.metadata.name);
        service.filter(|service| service.since == since)
    }

    /// Adds what Nova reports of a node that is drained: the state of its compute service, if it has one. That it has none counts only
    /// once no agent can register one any more.
    pub fn add(&mut self, node: &Live<Node>, state: Option<ComputeState>, instances: u32) {
        let can_register =
            nodes::phase(node) == LeasePhase::Draining || !self.evidence(node).has_no_agent;
        let state = state.unwrap_or(match can_register {
            true => ComputeState::Disabled,
            false => ComputeState::Removed,
        });
        if let Some(since) = nodes::since(node) {
            self.insert(&node.metadata.name, since, state, instances);
        }
    }

    /// Inserts a report of the drain of a node that began at a moment, unless a person reports of it.
    fn insert(&mut self, name: &str, since: &str, state: ComputeState, instances: u32) {
        let known = self.services.get(name);
        if known.is_none_or(|known| known.since != since) {
            let service = ComputeService {
                name: name.to_owned(),
                since: since.to_owned(),
                state,
                instances,
            };
            self.services.insert(name.to_owned(), service);
        }
    }

    /// Whether Nova still has the compute service of a node that is drained.
    pub fn state(&self, node: &Live<Node>) -> Option<ComputeState> {
        let is_drained = nodes::phase(node) != LeasePhase::Leased;
        let service = self.service(node).filter(|_| is_drained);
        service.map(|service| service.state)
    }

    /// Sets how many servers are on each node. One that isn't among them may have any number.
    pub fn set_servers(&mut self, servers: BTreeMap<String, u32>) {
        self.servers = Some(servers);
    }

    /// Whether the servers on nodes have been counted for the pool.
    pub fn has_servers(&self) -> bool {
        self.servers.is_some()
    }

    /// The number of servers on a node: as Nova reports it for one that is drained, else as counted for the pool.
    pub fn instances(&self, node: &Live<Node>) -> Option<u32> {
        match nodes::phase(node) {
            LeasePhase::Leased => self.servers.as_ref()?.get(&node.metadata.name).copied(),
            _ => self.service(node).map(|service| service.instances),
        }
    }

    /// The pods on a node; none if they can't be read.
    fn pods_on(&self, node: &Live<Node>) -> Option<&[Live<Pod>]> {
        let pods = self.pods.as_ref()?.get(&node.metadata.name);
        Some(pods.map_or(&[][..], Vec::as_slice))
    }

    /// Whether a pod of a component is Ready on a node, as far as that can be read. One that is being deleted doesn't count.
    pub fn has_ready_pod(&self, node: &Live<Node>, component: &str) -> bool {
        let mut pods = self.pods_on(node).into_iter().flatten();
        pods.any(|pod| {
            component_of(pod) == Some(component)
                && pod.metadata.deletion_timestamp.is_none()
                && nodes::is_ready(&pod.body.status.conditions)
        })
    }

    /// Everything that is known of a node.
    pub fn evidence(&self, node: &Live<Node>) -> Evidence {
        let service = self
            .service(node)
            .map(|service| (service.state, service.instances));
        let pods = self.pods_on(node);
        Evidence {
            is_ready: node.body.is_ready(),
            nova: match service {
                Some((ComputeState::Removed, 0)) => Nova::Removed,
                Some((_, instances)) => Nova::Disabled(instances),
                None if self.has_no_nova => Nova::Removed,
                None => Nova::Silent,
            },
            has_no_domain: self.has_ready_pod(node, DRAIN),
            // What holds the node runs until its lease has ended.
            has_no_agent: pods
                .is_some_and(|pods| pods.iter().all(|pod| component_of(pod) == Some(HOLD))),
            is_wiped: self.has_ready_pod(node, WIPE),
        }
    }
}

fn component_of(pod: &Live<Pod>) -> Option<&str> {
    pod.metadata.labels.get(COMPONENT).map(String::as_str)
}

/// Whether the share's control plane had its Nova in this cluster, and it doesn't exist any more.
fn has_no_nova(share: &HypervisorShareSpec, observed: &ObservedState<'_>) -> bool {
    if !share.endpoints.is_empty() {
        return false;
    }
    let novas = observed.keys(
        Custom::<NovaSpec>::KIND,
        &share.control_plane_namespace(),
        &[],
    );
    match novas {
        Lookup::Found(novas) => novas.is_empty(),
        Lookup::Missing | Lookup::Unknown(_) => false,
    }
}
