//! The hypervisor-pool-operator's composer: leases of a cluster's hypervisors, and the agents on leased nodes.

mod agents;
pub mod assignment;
mod configuration;
mod libvirt;
mod nodes;
mod pod;
mod share;
mod status;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec, HypervisorShareStatus};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Secret};
use provider_composer::{
    Composer, Custom, DesiredState, Failure, ObservedState, Progress, Reason, Resource, Subject,
    Use,
};
use provider_openstack::manifest::{Manifest, cert_manager};

use crate::nodes::Nodes;
use crate::share::Share;

/// Composes HypervisorShares.
pub struct HypervisorPool;

impl Composer for HypervisorPool {
    type Spec = HypervisorShareSpec;
    type Status = HypervisorShareStatus;
    const OPERATOR: &'static str = "hypervisor-pool-operator";

    fn uses(&self) -> Vec<Use> {
        vec![
            Use::reads(Subject::<HypervisorShareSpec>::KIND),
            Use::reads(Custom::<HypervisorPoolSpec>::KIND),
            Use::reads(Pod::KIND),
            Use::labels(Node::KIND),
            Use::composes(Namespace::KIND),
            Use::composes(Secret::KIND),
            Use::composes(ConfigMap::KIND),
            Use::composes(DaemonSet::KIND),
            Use::composes(Manifest::<cert_manager::Certificate>::KIND),
        ]
    }

    fn compose(
        &self,
        subject: &Subject<HypervisorShareSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<HypervisorShareStatus, Failure> {
        let nodes = Nodes::observe(subject, observed)?;
        nodes.lease(desired);
        let leased = nodes.progress();
        desired.conditions.set("NodesLeased", &leased);
        if let Some(refused) = nodes.refused() {
            desired.conditions.note("FurtherNodesLeased", &refused);
        }
        let hosts = nodes.hosts();
        if !hosts.is_empty() {
            let share = Share::of(subject, &nodes);
            match share.namespace(observed, desired)? {
                true => share.compose(observed, desired),
                false => {
                    let message = format!("waits for the Namespace {}", share.namespace);
                    let waiting = Progress::waiting(Reason::Starting, message);
                    desired.conditions.set("AgentsReady", &waiting);
                }
            }
        }
        let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        Ok(HypervisorShareStatus {
            host_count: Some(count),
            pending: Some(subject.spec.min_hosts.saturating_sub(count)),
            hosts,
            physical_networks: nodes.physical_networks.clone(),
            conditions: Vec::new(),
        })
    }
}
