//! The hypervisor-pool-operator's composers: the pool, which leases a cluster's hypervisors to shares, and each share, which runs
//! agents on the nodes that are leased to it.

mod agents;
mod aggregate;
mod api;
mod asked;
pub mod assignment;
mod compute_services;
mod configuration;
mod dead;
mod drain;
mod enabling;
mod hold;
mod identity;
mod images;
mod leases;
mod leftovers;
pub mod libvirt;
pub mod lifecycle;
mod lost;
mod members;
mod membership;
mod namespace;
mod nodes;
pub mod nova;
mod pod;
mod pods;
mod pool;
mod recorded;
mod same_identity;
mod share;
mod state;
mod status;
mod surplus;
mod traits;
pub mod vlans;
mod working;
mod zone;

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec, HypervisorShareStatus};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use provider_composer::{
    Composer, DesiredState, Failure, ObservedState, Progress, Resource, Subject, Use,
};

use crate::drain::Reports;
use crate::leases::Leases;
use crate::nodes::Node;
use crate::share::Share;

pub use crate::nodes::{LEASE, PHASE, ROLE, SINCE};
pub use crate::pool::HypervisorPool;
pub use crate::state::{PoolState, hypervisors};

/// Composes HypervisorShares.
pub struct HypervisorShare;

impl Composer for HypervisorShare {
    type Spec = HypervisorShareSpec;
    type Status = HypervisorShareStatus;
    const OPERATOR: &'static str = "hypervisor-pool-operator";
    // A share stays until none of its nodes has a server.
    const ORDERED_DELETION: bool = true;
    const NAMESPACE_PREFIX: Option<&'static str> = Some(drain::NAMESPACE_PREFIX);

    fn uses(&self) -> Vec<Use> {
        let owners = configuration::OWNERS.map(|(_, kind)| Use::reads(kind));
        let uses = vec![
            Use::reads(Subject::<HypervisorShareSpec>::KIND),
            Use::reads(Subject::<HypervisorPoolSpec>::KIND),
            Use::reads(Pod::KIND),
            Use::reads(Node::KIND),
            Use::composes(Namespace::KIND),
        ];
        let inside = namespace::INSIDE.map(Use::composes);
        uses.into_iter().chain(inside).chain(owners).collect()
    }

    fn compose(
        &self,
        subject: &Subject<HypervisorShareSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<HypervisorShareStatus, Failure> {
        let Some(leases) = Leases::observe(subject, observed)? else {
            let leased = nodes::leased(&subject.spec.control_plane, observed)?;
            if let Some(waits) = hold::keep(subject, &leased, &BTreeSet::new(), observed, desired) {
                desired.conditions.set("NodesDrained", &waits);
            }
            return Ok(HypervisorShareStatus::default());
        };
        let (physical_networks, vlans) =
            vlans::of(&subject.metadata, &leases.pool.physical_networks);
        desired.conditions.set("VlansAssigned", &vlans);
        let mut reports = Reports::observe(subject, observed);
        let computes =
            compute_services::reconcile(subject, &leases, &mut reports, observed, desired);
        let drained = leases.drained(&reports);
        match subject.is_deleted() {
            true => desired.conditions.set("NodesDrained", &drained),
            false => {
                desired.conditions.set("NodesLeased", &leases.progress());
                desired
                    .conditions
                    .note("FurtherNodesLeased", &leases.part());
                desired.conditions.note("NodesDrained", &drained);
            }
        }
        let unstored = recorded::without_room(subject, &computes.lost, observed);
        let (mut configuration, mut cell_key) = (None, None);
        if leases.count() > 0 {
            let share = Share::of(subject, &leases, &reports);
            match namespace::compose(subject, observed, desired)? {
                Progress::Ready => {
                    cell_key = share.has_cell_key(observed);
                    configuration = share.compose(&computes, &unstored, observed, desired);
                }
                waiting => {
                    desired.conditions.set("AgentsReady", &waiting);
                    let unprotected = hold::awaits_namespace(subject.name());
                    desired.conditions.note("NodesProtected", &unprotected);
                }
            }
        } else {
            hold::keep(subject, leases.nodes(), &unstored, observed, desired);
        }
        let traits = traits::reconcile(
            subject,
            &leases,
            reports.pods(),
            &computes,
            configuration.as_deref(),
            observed,
            desired,
        );
        let reported =
            status::configuration(subject, configuration.as_deref(), reports.pods(), observed);
        Ok(HypervisorShareStatus {
            hosts: leases.hosts(&reports),
            host_count: Some(leases.count()),
            draining: Some(leases.draining()),
            pending: Some(leases.pending()),
            hosts_worked: working::worked(subject, &leases, &computes),
            cell_key,
            configuration: reported,
            surplus_counted: leases
                .surplus_since()
                .filter(|_| reports.has_servers())
                .map(str::to_owned),
            lost: computes.lost.difference(&unstored).cloned().collect(),
            traits,
            physical_networks,
            conditions: Vec::new(),
        })
    }
}
