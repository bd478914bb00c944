//! Nodes that a share leased until a person deleted their Nodes, as is done with a dead machine, or their labels: which they are, and
//! their compute services.
//!
//! A Node that is created again has no label of its former lease. Servers may be there all the same, so the share's status names it until
//! Nova, which refuses to delete the compute service of a host with servers, has none of it.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use provider_composer::{Lookup, Progress, Reason, Subject};

use crate::leases::Leases;
use crate::named;
use crate::nodes::LEASE;
use crate::nova::{Change, Service};
use crate::zone::OccupantsOf;

/// How many lost nodes a status names.
pub const REPORTED: usize = 1000;

/// Returns the nodes of a share that may have servers, as its status has them: those that it leases and those that it has lost. A node
/// that is wiped has none.
pub fn reported(share: &Subject<HypervisorShareSpec>) -> impl Iterator<Item = &str> {
    let hosts = share.status.hosts.iter();
    let hosts = hosts.filter(|host| host.phase != LeasePhase::Wiping);
    let lost = share.status.lost.iter().map(String::as_str);
    hosts.map(|host| host.name.as_str()).chain(lost)
}

/// Returns the nodes that a share has lost, as far as its status tells: it leases them no longer, and no lease of theirs ended. One ends
/// with the wipe, which the share itself starts.
pub fn remembered(share: &Subject<HypervisorShareSpec>, leases: &Leases) -> BTreeSet<String> {
    let leased = leases.nodes().iter();
    let leased: BTreeSet<&str> = leased.map(|node| node.metadata.name.as_str()).collect();
    let lost = reported(share).filter(|name| !leased.contains(name));
    lost.map(str::to_owned).collect()
}

/// Returns which compute services Nova deletes now, and what the others wait for. Each node has its service.
pub fn changes(
    nodes: &[(&String, &Service)],
    occupants: OccupantsOf<'_>,
) -> (Vec<Change>, Option<Progress>) {
    let (mut changes, mut occupied, mut up, mut unknown) = (vec![], vec![], vec![], None);
    for (host, service) in nodes {
        match occupants(host) {
            Lookup::Found(found) if found.count() > 0 => {
                occupied.push(format!("{host} ({})", found.count()));
            }
            // It may run, and would register anew.
            Lookup::Found(_) if service.is_up => up.push(host.as_str()),
            Lookup::Found(_) => changes.push(Change::Delete {
                service: service.id.clone(),
                host: (*host).clone(),
            }),
            Lookup::Missing | Lookup::Unknown(_) => unknown = Some(host.as_str()),
        }
    }
    let progress = if !occupied.is_empty() {
        Some(Progress::failed(
            Reason::NodeLost,
            format!(
                "this share leases these nodes no longer, and Nova has servers or migrations there: {}. Where a node has come back as it \
                 was, set its label {LEASE} to the control plane of this share. Otherwise make sure that its machine is off, then \
                 evacuate or delete what `openstack server list --all-projects --host NODE` lists",
                named(&occupied, ", ")
            ),
        ))
    } else if !up.is_empty() {
        let message = format!(
            "waits for Nova to report that nova-compute is down on {}, which this share leases no longer",
            named(&up, ", ")
        );
        Some(Progress::waiting(Reason::WaitingFor("Nova"), message))
    } else if let Some(host) = unknown {
        let message =
            format!("Nova can't be asked what is on {host}, which this share leases no longer");
        Some(Progress::Unknown { message })
    } else {
        let waits =
            "waits for Nova to delete compute services of nodes that this share leases no longer";
        (!changes.is_empty()).then(|| Progress::waiting(Reason::WaitingFor("Nova"), waits))
    };
    (changes, progress)
}
