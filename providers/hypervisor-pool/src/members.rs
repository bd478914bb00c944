//! Hosts of an aggregate in Placement, without which the scheduler finds none of them for a request that names their availability zone.
//!
//! Nova stores a membership, and then copies it to Placement. While nova-compute has not created its hypervisor and its resource provider
//! yet, that fails, and the membership stays (nova/compute/api.py, `add_host_to_aggregate`).

use std::collections::{BTreeMap, BTreeSet};

use provider_composer::{Lookup, Progress, Reason};

use crate::named;
use crate::nova::{Aggregate, Change};

/// How messages begin when something can't be read.
const NOVA: &str = "Nova can't be asked for its hypervisors";
const PLACEMENT: &str = "Placement can't be asked which hosts are in the aggregate";

/// What Nova and Placement have of hosts.
pub struct Inventory<'a> {
    /// Returns the hypervisors, by host: their IDs, and those of their resource providers.
    pub hypervisors: &'a dyn Fn() -> Lookup<BTreeMap<String, String>>,
    /// The resource providers in the share's aggregate, by ID: their names. None if it isn't known where Placement is.
    pub members: Lookup<Option<BTreeMap<String, String>>>,
}

/// Returns those of some hosts that have a hypervisor, and what the others wait for.
pub fn registered<'h>(
    hosts: BTreeSet<&'h String>,
    inventory: &Inventory<'_>,
) -> (BTreeSet<&'h String>, Option<Progress>) {
    if hosts.is_empty() {
        return (hosts, None);
    }
    let hypervisors = match known((inventory.hypervisors)(), NOVA) {
        Ok(hypervisors) => hypervisors,
        Err(why) => return (BTreeSet::new(), Some(why)),
    };
    let is_registered = |host: &&String| hypervisors.contains_key(host.as_str());
    let (registered, others): (BTreeSet<_>, BTreeSet<_>) =
        hosts.into_iter().partition(is_registered);
    let waits = unregistered(&Vec::from_iter(others));
    (registered, waits)
}

/// Returns what copies to Placement which of these hosts are in the aggregate, where Nova has not, and what is waited for.
pub fn copies(
    own: &Aggregate,
    hosts: &BTreeSet<String>,
    inventory: &Inventory<'_>,
) -> (Vec<Change>, Option<Progress>) {
    if own.hosts.is_disjoint(hosts) {
        return (Vec::new(), None);
    }
    let members = match &inventory.members {
        Lookup::Found(Some(members)) => members,
        Lookup::Found(None) => return (Vec::new(), None),
        other => return (Vec::new(), known(other.clone(), PLACEMENT).err()),
    };
    let names: BTreeSet<&str> = members.values().map(String::as_str).collect();
    let others = own.hosts.intersection(hosts);
    let mut others = others.filter(|host| !has(&names, host)).peekable();
    if others.peek().is_none() {
        return (Vec::new(), None);
    }
    let hypervisors = match known((inventory.hypervisors)(), NOVA) {
        Ok(hypervisors) => hypervisors,
        Err(why) => return (Vec::new(), Some(why)),
    };
    let (mut changes, mut missing, mut starting) = (Vec::new(), Vec::new(), Vec::new());
    for host in others {
        match hypervisors.get(host) {
            // libvirt has another name for the host.
            Some(id) if members.contains_key(id) => {}
            Some(id) => {
                missing.push(host);
                changes.push(Change::JoinProvider {
                    aggregate: own.uuid.clone(),
                    provider: id.clone(),
                    host: host.clone(),
                });
            }
            None => starting.push(host),
        }
    }
    let waits = (!missing.is_empty()).then(|| {
        let message = format!(
            "waits for Placement to have these hosts in the aggregate {}: {}; until then the scheduler finds them for no request with its \
             availability zone",
            own.name,
            named(&missing, ", ")
        );
        Progress::waiting(Reason::WaitingFor("Placement"), message)
    });
    (changes, waits.or_else(|| unregistered(&starting)))
}

/// Whether one of some resource providers is that of a host by its name: the host's own, or that with a domain.
fn has(names: &BTreeSet<&str>, host: &str) -> bool {
    let with_domain = format!("{host}.");
    let mut next = names.range::<&str, _>(with_domain.as_str()..);
    names.contains(host)
        || next
            .next()
            .is_some_and(|name| name.starts_with(&with_domain))
}

fn unregistered(hosts: &[&String]) -> Option<Progress> {
    let message = format!(
        "waits for nova-compute to create hypervisors of {}, without which Placement doesn't have them in the aggregate: where that lasts, \
         check its pods on these nodes, and `openstack hypervisor list`",
        named(hosts, ", ")
    );
    (!hosts.is_empty()).then(|| Progress::waiting(Reason::NotRegistered, message))
}

/// Returns what was read.
///
/// # Errors
/// Nothing was, which a message begins with.
fn known<T>(found: Lookup<T>, message: &str) -> Result<T, Progress> {
    let why = match found {
        Lookup::Found(found) => return Ok(found),
        Lookup::Unknown(why) => why,
        Lookup::Missing => "it has no answer".to_owned(),
    };
    let message = format!("{message}: {why}");
    Err(Progress::Unknown { message })
}
