//! Compute services that Nova disables when they register.
//!
//! Without that, the scheduler chooses a new host as soon as nova-compute has created its resource provider. Its cell may not be known yet,
//! so that the server fails (nova/conductor/manager.py, `schedule_and_build_instances`), and it isn't in the share's aggregate: a server
//! there keeps the host out of its availability zone.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use provider_composer::{DesiredState, ObservedState, Progress, Reason, Subject, named};

use crate::aggregate;
use crate::api::Api;
use crate::leases::Leases;
use crate::members::{self, Inventory};
use crate::nova::{Aggregate, Change, Service, VALID, after};

/// The condition: whether no leased node has a compute service that is disabled since it registered. Every reconcile of a share reports it,
/// since claims let Nova disable new compute services where it is reported.
const CONDITION: &str = "ComputeServicesEnabled";

/// Enables new compute services of leased nodes, once they are in the aggregate of the share. Where it wants none, once Nova lists their
/// hypervisors, which it does of hosts whose cell it has found.
pub fn reconcile(
    api: &Api,
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    own: Option<&Aggregate>,
    inventory: &Inventory<'_>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) {
    if share.is_deleted() {
        return;
    }
    let leased = leases.in_phase(LeasePhase::Leased);
    let leased = leased.map(|node| &node.metadata.name);
    let new = leased.filter(|host| api.services.get(*host).is_some_and(Service::is_new));
    let new: BTreeSet<&String> = new.collect();
    let (ready, waits) = match (aggregate::is_wanted(share), own) {
        (false, _) => members::registered(new.clone(), inventory),
        (true, Some(own)) => members::joined(own, new.clone(), inventory),
        (true, None) => (BTreeSet::new(), None),
    };
    let waiting: Vec<&String> = new.difference(&ready).copied().collect();
    if waiting.is_empty() {
        desired.conditions.note(CONDITION, &Progress::Ready);
    } else {
        let progress = progress(share, &waiting, waits);
        // Until then servers are scheduled to the other nodes.
        desired.conditions.note(CONDITION, &progress);
        desired.requeue_at(after(VALID, observed));
    }
    for host in ready {
        if let Some(service) = api.services.get(host) {
            let (service, host) = (service.id.clone(), host.clone());
            api.call(Change::Enable { service, host }, desired);
        }
    }
}

/// Reports that Nova can't be asked.
pub fn note_unread(share: &Subject<HypervisorShareSpec>, why: &str, desired: &mut DesiredState) {
    if share.is_deleted() {
        return;
    }
    let message = format!(
        "Nova can't be asked which compute services are disabled since they registered: {why}"
    );
    desired.conditions.note(CONDITION, &unread(share, message));
}

/// Returns whether enough nodes for Ready worked by the last answer of Nova, as the status of a share says. That of an earlier operator or
/// CustomResourceDefinition lacks `hostsWorked`, and Ready says it.
pub fn had_worked(share: &Subject<HypervisorShareSpec>) -> bool {
    let status = &share.status;
    let mut conditions = status.conditions.iter();
    status.hosts_worked || conditions.any(|said| said.type_ == "Ready" && said.status == "True")
}

/// Unknown for a share whose hosts worked, since its servers run. Any other share waits for Nova: all of its hosts may be disabled.
fn unread(share: &Subject<HypervisorShareSpec>, message: String) -> Progress {
    match had_worked(share) {
        true => Progress::Unknown { message },
        false => Progress::waiting(Reason::WaitingFor("Nova"), message),
    }
}

/// What new compute services wait for. That something can't be read isn't that a host isn't there.
fn progress(
    share: &Subject<HypervisorShareSpec>,
    waiting: &[&String],
    waits: Option<Progress>,
) -> Progress {
    let names = named(waiting, ", ");
    if let Some(Progress::Unknown { message }) = waits {
        let message = format!(
            "these compute services are disabled since they registered, and can't be enabled: {names}. {message}"
        );
        return unread(share, message);
    }
    let message = format!(
        "these compute services are disabled since they registered, until Nova has their hypervisors and, where this share has an aggregate, \
         Placement has them in it: {names}. See the condition AggregateReady, and `openstack hypervisor list`"
    );
    Progress::waiting(Reason::WaitingFor("Nova"), message)
}
