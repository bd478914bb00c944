//! Hosts of an aggregate in Placement, without which the scheduler finds none of them for a request that names their availability zone.
//!
//! Nova stores a membership, and then copies it to Placement. While nova-compute has not created its hypervisor and its resource provider
//! yet, that fails, and the membership stays (nova/compute/api.py, `add_host_to_aggregate`).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use provider_composer::{Lookup, Progress, Reason, named};

use crate::asked::{AT_ONCE, drawn};
use crate::nova::{Aggregate, Change, hosts_of};

/// How a message begins when Placement can't be read.
const PLACEMENT: &str = "Placement can't be asked which hosts are in the aggregate";

/// What Nova and Placement have of hosts.
pub struct Inventory<'a> {
    /// Returns the ID of a host's hypervisor, which is that of its resource provider; none if the host has none.
    pub hypervisor: &'a dyn Fn(&str) -> Lookup<Option<String>>,
    /// When that is asked.
    pub now: Timestamp,
    /// The resource providers in the share's aggregate, by ID: their names. None if it isn't known where Placement is.
    pub members: Lookup<Option<BTreeMap<String, String>>>,
}

/// What is known of the hypervisors of some hosts.
#[derive(Default)]
struct Hypervisors<'h> {
    /// Their IDs, by host.
    ids: BTreeMap<&'h String, String>,
    /// The hosts without one.
    missing: Vec<&'h String>,
    /// Why some answer is missing.
    unknown: Option<Progress>,
}

impl<'h> Hypervisors<'h> {
    /// Asks about some of the hosts, all at once.
    fn of(hosts: impl IntoIterator<Item = &'h String>, inventory: &Inventory<'_>) -> Self {
        let mut hypervisors = Self::default();
        for host in drawn(hosts, AT_ONCE, inventory.now) {
            let message = format!("Nova can't be asked for the hypervisor of {host}");
            match known((inventory.hypervisor)(host), &message) {
                Ok(Some(id)) => drop(hypervisors.ids.insert(host, id)),
                Ok(None) => hypervisors.missing.push(host),
                Err(why) => drop(hypervisors.unknown.get_or_insert(why)),
            }
        }
        hypervisors
    }

    /// Returns what is waited for, if anything.
    fn waits(self) -> Option<Progress> {
        unregistered(&self.missing).or(self.unknown)
    }
}

/// Returns some of these hosts that have a hypervisor, and what others wait for.
pub fn registered<'h>(
    hosts: BTreeSet<&'h String>,
    inventory: &Inventory<'_>,
) -> (BTreeSet<&'h String>, Option<Progress>) {
    let hypervisors = Hypervisors::of(hosts, inventory);
    let registered = hypervisors.ids.keys().copied().collect();
    (registered, hypervisors.waits())
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
    let copied: BTreeSet<&str> = members.values().flat_map(|name| hosts_of(name)).collect();
    let others = own.hosts.intersection(hosts);
    let others = others.filter(|host| !copied.contains(host.as_str()));
    let hypervisors = Hypervisors::of(others, inventory);
    // libvirt may have another name for a host.
    let missing = hypervisors.ids.iter();
    let missing = missing.filter(|(_, id)| !members.contains_key(id.as_str()));
    let (names, changes): (Vec<&String>, Vec<Change>) = missing
        .map(|(host, id)| {
            let host = *host;
            let change = Change::JoinProvider {
                aggregate: own.uuid.clone(),
                provider: id.clone(),
                host: host.clone(),
            };
            (host, change)
        })
        .unzip();
    let waits = (!names.is_empty()).then(|| {
        let message = format!(
            "waits for Placement to have these hosts in the aggregate {}: {}. Until then the scheduler doesn't choose them for requests that \
             name its availability zone; where that lasts, see nova-compute's log on these nodes",
            own.name,
            named(&names, ", ")
        );
        Progress::waiting(Reason::WaitingFor("Placement"), message)
    });
    (changes, waits.or_else(|| hypervisors.waits()))
}

/// Returns those of some hosts that are in the aggregate and, where it is known where Placement is, in Placement too, and what others wait
/// for besides being added there.
pub fn joined<'h>(
    own: &Aggregate,
    hosts: BTreeSet<&'h String>,
    inventory: &Inventory<'_>,
) -> (BTreeSet<&'h String>, Option<Progress>) {
    let (inside, outside): (BTreeSet<&String>, BTreeSet<&String>) = hosts
        .into_iter()
        .partition(|host| own.hosts.contains(*host));
    let waits = registered(outside, inventory).1;
    let members = match &inventory.members {
        Lookup::Found(Some(members)) => members,
        Lookup::Found(None) => return (inside, waits),
        other => {
            let unknown = known(other.clone(), PLACEMENT).err();
            return (BTreeSet::new(), waits.or(unknown));
        }
    };
    let (joined, unsure) = copied(inside, members, inventory);
    (joined, waits.or(unsure))
}

/// Returns those of some hosts that are in the aggregate, in Placement too where that is known.
pub fn inside<'h>(
    own: &Aggregate,
    hosts: impl Iterator<Item = &'h String>,
    inventory: &Inventory<'_>,
) -> BTreeSet<String> {
    let hosts = hosts.filter(|host| own.hosts.contains(*host));
    let hosts: BTreeSet<&String> = hosts.collect();
    let inside = match &inventory.members {
        Lookup::Found(Some(members)) => copied(hosts, members, inventory).0,
        _ => hosts,
    };
    inside.into_iter().cloned().collect()
}

/// Returns those of an aggregate's hosts that are among its members in Placement, and why that isn't known of others.
fn copied<'h>(
    hosts: BTreeSet<&'h String>,
    members: &BTreeMap<String, String>,
    inventory: &Inventory<'_>,
) -> (BTreeSet<&'h String>, Option<Progress>) {
    let names: BTreeSet<&str> = members.values().flat_map(|name| hosts_of(name)).collect();
    let (mut copied, others): (BTreeSet<&String>, BTreeSet<&String>) = hosts
        .into_iter()
        .partition(|host| names.contains(host.as_str()));
    // libvirt may have another name for a host.
    let hypervisors = Hypervisors::of(others, inventory);
    let found = hypervisors.ids.iter();
    let found = found.filter(|(_, id)| members.contains_key(id.as_str()));
    copied.extend(found.map(|(host, _)| *host));
    (copied, hypervisors.waits())
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
pub fn known<T>(found: Lookup<T>, message: &str) -> Result<T, Progress> {
    let why = match found {
        Lookup::Found(found) => return Ok(found),
        Lookup::Unknown(why) => why,
        Lookup::Missing => "it has no answer".to_owned(),
    };
    let message = format!("{message}: {why}");
    Err(Progress::Unknown { message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_inside_if_placement_has_it_too_where_that_answers() {
        let names = |names: &[&str]| -> BTreeSet<String> {
            names.iter().map(|&name| name.to_owned()).collect()
        };
        let own = Aggregate {
            hosts: names(&["node-a", "node-b", "node-c"]),
            ..Aggregate::default()
        };
        let all = names(&["node-a", "node-b", "node-c", "node-d"]);
        let hypervisor =
            |host: &str| -> Lookup<Option<String>> { Lookup::Found(Some(format!("of-{host}"))) };
        let found = |members| {
            let inventory = Inventory {
                hypervisor: &hypervisor,
                now: Timestamp::UNIX_EPOCH,
                members,
            };
            inside(&own, all.iter(), &inventory)
        };
        let members = [
            ("of-node-a", "node-a.example.com"),
            ("of-node-b", "metal-17"),
        ];
        let members = members.map(|(id, name)| (id.to_owned(), name.to_owned()));
        assert_eq!(
            found(Lookup::Found(Some(BTreeMap::from(members)))),
            names(&["node-a", "node-b"])
        );
        let in_nova = names(&["node-a", "node-b", "node-c"]);
        assert_eq!(found(Lookup::Found(None)), in_nova);
        assert_eq!(found(Lookup::Unknown("it is down".to_owned())), in_nova);
    }
}
