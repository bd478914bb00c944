//! The aggregate of a share's nodes in Nova, which has their availability zone.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::HypervisorShareSpec;
use provider_composer::{Progress, Reason, Subject};

use crate::named;
use crate::nova::{Aggregate, Change};

/// Key of an aggregate's metadata: the UID of the share that it is of. Shares of a control plane in several pools have one name.
const SHARE: &str = "c5c3.hypervisor-share";
/// The key that has the zone.
const ZONE: &str = "availability_zone";
/// How many hosts are added or removed in one reconcile.
const AT_ONCE: usize = 32;

/// What a share wants of its aggregate.
struct Wanted<'a> {
    name: &'a str,
    zone: Option<&'a str>,
    metadata: BTreeMap<String, String>,
}

/// Returns what changes so that Nova has the share's aggregate with these hosts, and how far that is. A share that is deleted, or names
/// neither an aggregate nor a zone, has none.
pub fn changes(
    share: &Subject<HypervisorShareSpec>,
    hosts: &BTreeSet<String>,
    found: &[Aggregate],
) -> (Vec<Change>, Progress) {
    let Some(uid) = share.metadata.uid.as_deref() else {
        return (Vec::new(), Progress::Ready);
    };
    let own = found
        .iter()
        .find(|one| one.metadata.get(SHARE).map(String::as_str) == Some(uid));
    let Some(wanted) = wanted(share, uid) else {
        let changes = own.map(|own| removal(own, share.is_deleted()));
        return (changes.unwrap_or_default(), Progress::Ready);
    };
    // Created, and not marked yet.
    let is_unmarked = |one: &&Aggregate| {
        one.name == wanted.name && one.hosts.is_empty() && one.metadata.is_empty()
    };
    let Some(own) = own.or_else(|| found.iter().find(is_unmarked)) else {
        if found.iter().any(|one| one.name == wanted.name) {
            return (Vec::new(), taken(uid, &wanted));
        }
        let change = Change::CreateAggregate {
            name: wanted.name.to_owned(),
            zone: wanted.zone.map(str::to_owned),
        };
        return (vec![change], waiting(&wanted));
    };
    // Nova sets another zone, and removes none.
    if own.zone.is_some() && wanted.zone.is_none() {
        return (removal(own, false), waiting(&wanted));
    }
    let mut changes = Vec::new();
    if (own.name.as_str(), own.zone.as_deref()) != (wanted.name, wanted.zone) {
        changes.push(Change::UpdateAggregate {
            id: own.id,
            name: wanted.name.to_owned(),
            zone: wanted.zone.map(str::to_owned),
        });
    }
    let metadata = difference(&wanted.metadata, &own.metadata);
    if !metadata.is_empty() {
        changes.push(Change::SetMetadata {
            id: own.id,
            metadata,
        });
    }
    let added = hosts.difference(&own.hosts).map(|host| Change::AddHost {
        id: own.id,
        host: host.clone(),
    });
    changes.extend(added.take(AT_ONCE));
    changes.extend(removed(own, hosts));
    let progress = match changes.is_empty() {
        true => invalid_keys(share),
        false => waiting(&wanted),
    };
    (changes, progress)
}

fn wanted<'a>(share: &'a Subject<HypervisorShareSpec>, uid: &str) -> Option<Wanted<'a>> {
    let spec = &share.spec;
    let aggregate = spec.aggregate.as_ref();
    if share.is_deleted() || (aggregate.is_none() && spec.availability_zone.is_none()) {
        return None;
    }
    let metadata = aggregate.into_iter().flat_map(|one| &one.metadata);
    let metadata = metadata.map(|(key, value)| (nova_key(key), value.clone()));
    let metadata = metadata.filter(|(key, _)| is_valid(key));
    let mut metadata: BTreeMap<String, String> = metadata.collect();
    metadata.insert(SHARE.to_owned(), uid.to_owned());
    Some(Wanted {
        name: aggregate.map_or(share.name(), |aggregate| aggregate.name.as_str()),
        zone: spec.availability_zone.as_deref(),
        metadata,
    })
}

/// A key as Nova has it: labels of Kubernetes have slashes.
fn nova_key(key: &str) -> String {
    key.replace('/', ":")
}

/// Whether Nova takes a key (nova/api/validation/parameter_types.py, metadata), and it isn't the zone's or the share's.
fn is_valid(key: &str) -> bool {
    let is_allowed = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | ':' | '.' | ' ')
    };
    !key.is_empty() && key.chars().all(is_allowed) && ![ZONE, SHARE].contains(&key)
}

fn invalid_keys(share: &Subject<HypervisorShareSpec>) -> Progress {
    let metadata = share
        .spec
        .aggregate
        .iter()
        .flat_map(|one| one.metadata.keys());
    let invalid: Vec<&String> = metadata.filter(|key| !is_valid(&nova_key(key))).collect();
    match invalid.is_empty() {
        true => Progress::Ready,
        false => Progress::failed(
            Reason::Invalid,
            format!(
                "the aggregate lacks the metadata {}: keys have letters, digits, spaces and the characters - _ : . / and aren't {ZONE}, which \
                 availabilityZone sets",
                named(&invalid, ", ")
            ),
        ),
    }
}

fn difference(
    wanted: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    let set = wanted
        .iter()
        .filter(|(key, value)| own.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), Some(value.clone())));
    let gone = own.keys().filter(|key| !wanted.contains_key(*key));
    set.chain(gone.map(|key| (key.clone(), None))).collect()
}

fn removed(own: &Aggregate, hosts: &BTreeSet<String>) -> Vec<Change> {
    let removed = own.hosts.difference(hosts).map(|host| Change::RemoveHost {
        id: own.id,
        host: host.clone(),
    });
    removed.take(AT_ONCE).collect()
}

/// Hosts leave the aggregate before it is deleted. Those that are drained stay in their zone until Nova deletes their services.
fn removal(own: &Aggregate, is_drained: bool) -> Vec<Change> {
    match (own.hosts.is_empty(), is_drained) {
        (true, _) => vec![Change::DeleteAggregate { id: own.id }],
        (false, true) => Vec::new(),
        (false, false) => removed(own, &BTreeSet::new()),
    }
}

fn taken(uid: &str, wanted: &Wanted<'_>) -> Progress {
    let name = wanted.name;
    Progress::failed(
        Reason::NameTaken,
        format!(
            "Nova has an aggregate {name} that isn't of this share: delete it, or hand it over by `openstack aggregate set \
             --property {SHARE}={uid} {name}`"
        ),
    )
}

fn waiting(wanted: &Wanted<'_>) -> Progress {
    let message = format!("waits for Nova's aggregate {}", wanted.name);
    Progress::waiting(Reason::WaitingFor("Aggregate"), message)
}
