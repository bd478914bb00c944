//! Availability zones of hosts. Nova moves no host with servers to another one (nova/compute/api.py, AggregateAPI), so it isn't asked to.

use std::collections::BTreeSet;

use c5c3_api::shell::argument;
use provider_composer::{Lookup, Progress, Reason, named};

use crate::members::known;
use crate::nova::{Aggregate, Occupants};

/// Returns what is on a host.
pub type OccupantsOf<'a> = &'a dyn Fn(&str) -> Lookup<Occupants>;

/// How many hosts are asked about first: where servers run, one of them has some.
const FIRST: usize = 8;

/// Returns why an aggregate keeps its zone; none if Nova would set the given one.
pub fn kept(own: &Aggregate, zone: Option<&str>, occupants: OccupantsOf<'_>) -> Option<Progress> {
    if own.zone.as_deref() == zone {
        return None;
    }
    let mut hosts = own.hosts.iter();
    let first: Vec<&String> = hosts.by_ref().take(FIRST).collect();
    for hosts in [first, hosts.collect()] {
        let answers = Answers::of(hosts, occupants);
        if let Some(advice) = answers.advice() {
            let message = format!(
                "the availability zone of the aggregate {} stays {} instead of {}, because Nova moves no host with servers: {advice}, or set \
                 availabilityZone back",
                own.name,
                shown(own.zone.as_deref()),
                shown(zone)
            );
            return Some(Progress::failed(Reason::ZoneInUse, message));
        }
        if answers.unknown.is_some() {
            return answers.unknown;
        }
    }
    None
}

/// Why an aggregate keeps its zone, which is removed only with the aggregate, while hosts are in it that a share doesn't know to have leased.
pub fn kept_by_others(own: &Aggregate, unleased: &[&String]) -> Progress {
    let message = format!(
        "the availability zone of the aggregate {} stays {} instead of (none) while hosts that this share doesn't know to have leased are in \
         it: {}. See the condition AggregateMembersKnown, or set availabilityZone back",
        own.name,
        shown(own.zone.as_deref()),
        named(unleased, ", ")
    );
    Progress::failed(Reason::ZoneInUse, message)
}

/// Why an aggregate stays with its zone, which is removed only with it, while it has metadata that an administrator set.
pub fn kept_by_metadata(own: &Aggregate, keys: &[&String]) -> Progress {
    let properties: Vec<String> = keys
        .iter()
        .map(|key| format!("--property {}", argument(key)))
        .collect();
    let message = format!(
        "the aggregate {} stays, and its availability zone {}, because the properties that keep its hosts for projects or flavors would be lost \
         with it: {}. Remove them by `openstack aggregate unset {} {}`, and set them again where the share still has an aggregate; or set \
         availabilityZone and aggregate back",
        own.name,
        shown(own.zone.as_deref()),
        named(keys, ", "),
        properties.join(" "),
        argument(&own.name)
    );
    Progress::failed(Reason::ZoneInUse, message)
}

/// Returns those of some hosts that Nova would add to an aggregate with a zone, and why not all of them.
pub fn joining<'a>(
    hosts: BTreeSet<&'a String>,
    aggregate: &str,
    zone: Option<&str>,
    occupants: OccupantsOf<'_>,
) -> (BTreeSet<&'a String>, Option<Progress>) {
    if zone.is_none() {
        return (hosts, None);
    }
    let answers = Answers::of(hosts, occupants);
    let refused = answers.advice().map(|advice| {
        let message = format!(
            "hosts with servers aren't added to the aggregate {aggregate}, because Nova moves them to no other availability zone, here {}: \
             {advice}",
            shown(zone)
        );
        Progress::failed(Reason::ZoneInUse, message)
    });
    (answers.empty, refused.or(answers.unknown))
}

/// What is on some hosts.
#[derive(Default)]
struct Answers<'a> {
    empty: BTreeSet<&'a String>,
    occupied: Vec<(&'a String, u32)>,
    /// Why some answer is missing.
    unknown: Option<Progress>,
}

impl<'a> Answers<'a> {
    /// Asks about all hosts at once, though one with servers may be enough.
    fn of(hosts: impl IntoIterator<Item = &'a String>, occupants: OccupantsOf<'_>) -> Self {
        let mut answers = Self::default();
        for host in hosts {
            let message = format!("Nova can't be asked what is on {host}");
            match known(occupants(host), &message) {
                Ok(found) if found.count() == 0 => drop(answers.empty.insert(host)),
                Ok(found) => answers.occupied.push((host, found.count())),
                Err(why) => drop(answers.unknown.get_or_insert(why)),
            }
        }
        answers
    }

    /// Returns which hosts have servers, and what to do; none if no host has some.
    fn advice(&self) -> Option<String> {
        let (first, _) = self.occupied.first()?;
        let counts = self.occupied.iter();
        let counts = counts.map(|(host, count)| format!("{host} has {count}"));
        let counts: Vec<String> = counts.collect();
        Some(format!(
            "{} (migrations counted too); delete these servers or shelve them with --offload (`openstack server list --all-projects --host \
             {first}`)",
            named(&counts, ", ")
        ))
    }
}

fn shown(zone: Option<&str>) -> &str {
    zone.unwrap_or("(none)")
}
