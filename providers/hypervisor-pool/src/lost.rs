//! Compute services of nodes that a share leased until a person deleted their Nodes, as is done with a dead machine, or their labels.

use provider_composer::{Lookup, Progress, Reason};

use crate::named;
use crate::nodes::LEASE;
use crate::nova::{Change, Service};
use crate::zone::OccupantsOf;

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
