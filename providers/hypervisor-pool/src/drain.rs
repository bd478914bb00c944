//! What is known of a share's nodes: from Nova, and from pods on the nodes themselves.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{ComputeService, ComputeState, HypervisorShareSpec, LeasePhase};
use c5c3_api::nova::NovaSpec;
use provider_composer::{Custom, Live, ObservedState, Resource, Subject};
use provider_openstack::Prerequisite;

use crate::lifecycle::{Evidence, Nova};
use crate::nodes::{self, Node};
use crate::pods::{self, Pods};

/// The DaemonSet whose pods are Ready on nodes without a domain.
pub const DRAIN: &str = "drain";
/// The DaemonSet whose pods are Ready on nodes that are wiped.
pub const WIPE: &str = "wipe";
/// What labels and names of the objects have that keep Gardener from deleting nodes.
pub const HOLD: &str = "hold";

/// How the namespace of a share's agents begins.
pub const NAMESPACE_PREFIX: &str = "agents-";

/// The namespace of a share's agents.
pub fn namespace(share: &str) -> String {
    format!("{NAMESPACE_PREFIX}{share}")
}

/// What is known of the nodes of one share.
pub struct Reports {
    /// By node, with the drain that each is of.
    services: BTreeMap<String, ComputeService>,
    /// The pods of the share's agents.
    pods: Prerequisite<Pods>,
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
        Self {
            services: services
                .map(|service| (service.name.clone(), service.clone()))
                .collect(),
            pods: Pods::list(&namespace(share.name()), observed),
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

    /// The pods of the share's agents.
    ///
    /// # Errors
    /// They can't be read.
    pub fn pods(&self) -> &Prerequisite<Pods> {
        &self.pods
    }

    /// Whether a pod of a component is Ready on a node, as far as that can be read. One that is being deleted doesn't count.
    pub fn has_ready_pod(&self, node: &Live<Node>, component: &str) -> bool {
        let pods = self.pods.iter();
        let mut pods = pods.flat_map(|pods| pods.of(component, &node.metadata.name));
        pods.any(pods::is_up)
    }

    /// Everything that is known of a node.
    pub fn evidence(&self, node: &Live<Node>) -> Evidence {
        let service = self
            .service(node)
            .map(|service| (service.state, service.instances));
        let pods = self.pods.as_ref().ok();
        let pods = pods.map(|pods| pods.on(&node.metadata.name));
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
                .is_some_and(|pods| pods.iter().all(|pod| pods::component_of(pod) == Some(HOLD))),
            is_wiped: self.has_ready_pod(node, WIPE),
        }
    }
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
    novas.found().is_some_and(|novas| novas.is_empty())
}
