//! The aggregate of a share's nodes in Nova, which has their availability zone.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::HypervisorShareSpec;
use provider_composer::{Progress, Reason, Subject, named};

use crate::asked::AT_ONCE;
use crate::identity::identity;
use crate::members::{self, Inventory};
use crate::nova::{Aggregate, Change};
use crate::zone::{self, OccupantsOf};

/// Key of an aggregate's metadata: the identity of the share that it is of. Shares of a control plane in several pools have one name.
const SHARE: &str = "c5c3.hypervisor-share";
/// The key that has the zone.
const ZONE: &str = "availability_zone";
/// How keys begin by which an administrator keeps hosts for projects (nova/scheduler/filters/aggregate_multitenancy_isolation.py) or for
/// flavors that require a trait (nova/scheduler/request_filter.py, `isolate_aggregates`). They stay.
const ISOLATING: [&str; 2] = ["filter_tenant_id", TRAIT];
/// How keys begin that name a trait.
const TRAIT: &str = "trait:";
/// How the key begins that tells of another one that it is the share's, since an administrator could have set that.
const MARK: &str = "c5c3.from-share:";
/// What is waited for while something changes.
pub const WAITS: &str = "Aggregate";
/// What to do where another share has the identity of a share that isn't the first one.
pub const COPY: &str = "Where this share is a copy of one in another pool, drain its nodes first, because agents of another identity don't start \
                    on nodes with files of this one; then set another aggregate.name and remove spec.identity. Where that one is the copy, \
                    drain and delete it there";

/// What a share wants of its aggregate.
struct Wanted<'a> {
    identity: &'a str,
    name: &'a str,
    zone: Option<&'a str>,
    metadata: BTreeMap<String, String>,
}

/// Returns the aggregate that is marked as the share's. A share that has the identity of an earlier one may be a copy, and the other exist
/// in another pool: what has another name than the share wants isn't taken over.
pub fn own<'a>(
    share: &Subject<HypervisorShareSpec>,
    found: &'a [Aggregate],
) -> Option<&'a Aggregate> {
    let identity = identity(share)?;
    let is_first = is_first(share);
    let mut found = found.iter();
    found.find(|one| is_marked(one, identity) && (is_first || one.name == name(share)))
}

/// Whether no earlier share had the identity of this one.
pub fn is_first(share: &Subject<HypervisorShareSpec>) -> bool {
    share.metadata.uid.as_deref() == identity(share)
}

fn is_marked(one: &Aggregate, identity: &str) -> bool {
    one.metadata.get(SHARE).map(String::as_str) == Some(identity)
}

/// Whether another share has a host in its aggregate.
pub fn is_in_another_aggregate(host: &str, own: Option<&Aggregate>, found: &[Aggregate]) -> bool {
    let own = own.map(|own| own.id);
    let is_other = |one: &&Aggregate| one.metadata.contains_key(SHARE) && Some(one.id) != own;
    let mut others = found.iter().filter(is_other);
    others.any(|one| one.hosts.contains(host))
}

/// The name of the aggregate that a share wants, if it wants one.
pub fn name(share: &Subject<HypervisorShareSpec>) -> &str {
    let aggregate = share.spec.aggregate.as_ref();
    aggregate.map_or(share.name(), |aggregate| aggregate.name.as_str())
}

/// Returns what changes so that Nova has the share's aggregate with these hosts, and how far that is. A share that is deleted, or names
/// neither an aggregate nor a zone, has none. What Nova would refuse isn't among the changes. `unleased` are members that the share doesn't
/// know to have leased: they stay.
pub fn changes(
    share: &Subject<HypervisorShareSpec>,
    hosts: &BTreeSet<String>,
    unleased: &[&String],
    found: &[Aggregate],
    inventory: &Inventory<'_>,
    occupants: OccupantsOf<'_>,
) -> (Vec<Change>, Progress) {
    let Some(identity) = identity(share) else {
        return (Vec::new(), Progress::Ready);
    };
    let own = own(share, found);
    let other = found.iter().find(|one| is_marked(one, identity));
    if let (None, Some(other)) = (own, other) {
        let progress = match share.is_deleted() {
            true => Progress::Ready,
            false => claimed(other, identity, name(share)),
        };
        return (Vec::new(), progress);
    }
    let Some(wanted) = wanted(share, identity) else {
        return match own {
            Some(own) if share.is_deleted() => (removal(own, true), Progress::Ready),
            Some(own) => leaving(own, unleased, occupants),
            None => (Vec::new(), Progress::Ready),
        };
    };
    // Created, and not marked yet.
    let is_unmarked = |one: &&Aggregate| {
        one.name == wanted.name && one.hosts.is_empty() && one.metadata.is_empty()
    };
    let Some(own) = own.or_else(|| found.iter().find(is_unmarked)) else {
        if found.iter().any(|one| one.name == wanted.name) {
            return (Vec::new(), taken(&wanted));
        }
        let change = Change::CreateAggregate {
            name: wanted.name.to_owned(),
            zone: wanted.zone.map(str::to_owned),
        };
        return (vec![change], waiting(&wanted));
    };
    let is_taken = own.name != wanted.name && found.iter().any(|one| one.name == wanted.name);
    let taken = is_taken.then(|| taken(&wanted));
    // Nova removes a zone only with its aggregate.
    let is_removed = own.zone.is_some() && wanted.zone.is_none();
    let lost = lost_with(own, &wanted.metadata);
    let kept = match is_removed {
        true if !unleased.is_empty() => Some(zone::kept_by_others(own, unleased)),
        true if !lost.is_empty() => Some(zone::kept_by_metadata(own, &lost)),
        _ => zone::kept(own, wanted.zone, occupants),
    };
    let possible = Wanted {
        name: if is_taken { &own.name } else { wanted.name },
        zone: match kept {
            Some(_) => own.zone.as_deref(),
            None => wanted.zone,
        },
        ..wanted
    };
    let (changes, waits) = update(own, &possible, hosts, inventory, occupants);
    let progress = match kept.or(taken).or(waits) {
        Some(progress) => progress,
        None if changes.is_empty() => invalid_keys(share),
        None => waiting(&possible),
    };
    (changes, progress)
}

/// Returns what changes where a share that isn't deleted wants no aggregate any more: its hosts leave, and then the aggregate is deleted.
fn leaving(
    own: &Aggregate,
    unleased: &[&String],
    occupants: OccupantsOf<'_>,
) -> (Vec<Change>, Progress) {
    let lost = lost_with(own, &BTreeMap::new());
    if !lost.is_empty() {
        return (Vec::new(), zone::kept_by_metadata(own, &lost));
    }
    let hosts = own.hosts.iter().filter(|host| !unleased.contains(host));
    let leaving = Aggregate {
        hosts: hosts.cloned().collect(),
        ..own.clone()
    };
    match zone::kept(&leaving, None, occupants) {
        Some(why) => (Vec::new(), why),
        None if own.hosts.is_empty() => (removal(own, false), Progress::Ready),
        None => (removed(&leaving, &BTreeSet::new()), Progress::Ready),
    }
}

/// Returns what changes in an aggregate that exists, and which hosts aren't in it for now.
fn update(
    own: &Aggregate,
    wanted: &Wanted<'_>,
    hosts: &BTreeSet<String>,
    inventory: &Inventory<'_>,
    occupants: OccupantsOf<'_>,
) -> (Vec<Change>, Option<Progress>) {
    // Nova sets another zone, and removes none.
    if own.zone.is_some() && wanted.zone.is_none() {
        return (removal(own, false), None);
    }
    let id = own.id;
    let mut changes = Vec::new();
    if (own.name.as_str(), own.zone.as_deref()) != (wanted.name, wanted.zone) {
        changes.push(Change::UpdateAggregate {
            id,
            name: wanted.name.to_owned(),
            zone: wanted.zone.map(str::to_owned),
        });
    }
    let metadata = difference(&wanted.metadata, own);
    if !metadata.is_empty() {
        changes.push(Change::SetMetadata { id, metadata });
    }
    let others = hosts.difference(&own.hosts).collect();
    let (registered, starting) = members::registered(others, inventory);
    let (added, waits) = zone::joining(registered, wanted.name, wanted.zone, occupants);
    changes.extend(added.into_iter().map(|host| Change::AddHost {
        id,
        host: host.clone(),
    }));
    let (copies, missing) = members::copies(own, hosts, inventory);
    changes.extend(copies);
    changes.extend(removed(own, hosts));
    (changes, waits.or(missing).or(starting))
}

/// Whether the nodes of a share are to be in an aggregate.
pub fn is_wanted(share: &Subject<HypervisorShareSpec>) -> bool {
    share.spec.aggregate.is_some() || share.spec.availability_zone.is_some()
}

fn wanted<'a>(share: &'a Subject<HypervisorShareSpec>, identity: &'a str) -> Option<Wanted<'a>> {
    let spec = &share.spec;
    let aggregate = spec.aggregate.as_ref();
    if share.is_deleted() || !is_wanted(share) {
        return None;
    }
    let metadata = aggregate.into_iter().flat_map(|one| &one.metadata);
    let metadata = metadata.map(|(key, value)| (nova_key(key), value.clone()));
    let metadata = metadata.filter(|(key, _)| is_valid(key));
    let mut metadata: BTreeMap<String, String> = metadata.collect();
    let marks = metadata.keys().filter(|key| isolates(key));
    let marks: Vec<String> = marks.map(|key| mark(key)).collect();
    metadata.extend(marks.into_iter().map(|mark| (mark, "true".to_owned())));
    metadata.insert(SHARE.to_owned(), identity.to_owned());
    Some(Wanted {
        identity,
        name: name(share),
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

/// Whether hosts are kept for projects or flavors by a key.
fn isolates(key: &str) -> bool {
    ISOLATING.iter().any(|start| key.starts_with(start))
}

/// The key that tells of another one that it is the share's.
fn mark(key: &str) -> String {
    format!("{MARK}{key}")
}

/// Whether an administrator set a key, by which hosts are isolated.
fn is_set_by_hand(key: &str, own: &Aggregate) -> bool {
    isolates(key) && !own.metadata.contains_key(&mark(key))
}

/// Returns the keys that an administrator set, and that would be lost with an aggregate.
fn lost_with<'a>(own: &'a Aggregate, wanted: &BTreeMap<String, String>) -> Vec<&'a String> {
    let keys = own.metadata.keys();
    keys.filter(|key| !wanted.contains_key(*key) && is_set_by_hand(key, own))
        .collect()
}

/// Returns the traits that flavors must require to find the hosts of an aggregate, where Nova isolates aggregates.
pub fn isolating_traits(own: &Aggregate) -> BTreeSet<String> {
    let required = own.metadata.iter();
    let required = required.filter(|(_, value)| *value == "required");
    let traits = required.filter_map(|(key, _)| key.strip_prefix(TRAIT));
    traits.map(str::to_owned).collect()
}

/// Returns what changes in an aggregate's metadata. What a share doesn't want is removed, unless an administrator set it to isolate hosts. A
/// mark is removed after its key, so that the key isn't taken for an administrator's where Nova fails in between.
fn difference(
    wanted: &BTreeMap<String, String>,
    own: &Aggregate,
) -> BTreeMap<String, Option<String>> {
    let has = &own.metadata;
    let set = wanted
        .iter()
        .filter(|(key, value)| has.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), Some(value.clone())));
    let is_mark = |key: &str| {
        let marked = key.strip_prefix(MARK);
        marked.is_some_and(|marked| has.contains_key(marked))
    };
    let gone = has.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.filter(|key| !is_set_by_hand(key, own) && !is_mark(key));
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

fn taken(wanted: &Wanted<'_>) -> Progress {
    let (identity, name) = (wanted.identity, wanted.name);
    Progress::failed(
        Reason::NameTaken,
        format!(
            "Nova has an aggregate {name} that isn't of this share: delete it, or hand it over by `openstack aggregate set \
             --property {SHARE}={identity} {name}`"
        ),
    )
}

/// Another share may have the same identity.
fn claimed(other: &Aggregate, identity: &str, name: &str) -> Progress {
    let other = &other.name;
    Progress::failed(
        Reason::NameTaken,
        format!(
            "Nova's aggregate {other} has this share's spec.identity {identity}, and the name of this share's is {name}. {COPY}. Where \
             the aggregate is of this share, rename it by `openstack aggregate set --name {name} {other}`"
        ),
    )
}

fn waiting(wanted: &Wanted<'_>) -> Progress {
    let message = format!("waits for Nova's aggregate {}", wanted.name);
    Progress::waiting(Reason::WaitingFor(WAITS), message)
}
