//! Shares in several pools with one identity and one name of their aggregates in one Nova, as where the objects of a cluster were copied.
//!
//! A share sees the others by members of the aggregate that it doesn't know to have leased. One share at a time changes the name, zone and
//! metadata, so that nobody changes anything back. At most one has the identity as its UID, the first: it does, unless all members are hosts
//! of others. Any other share, as one that was created again, does while all members are its own, and there is one.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::HypervisorShareSpec;
use c5c3_api::shell::argument;
use provider_composer::{Progress, Reason, Subject, named};

use crate::aggregate::{COPY, WAITS, is_first, is_wanted};
use crate::nova::{Aggregate, Change};

/// What a share decided for its aggregate, and how far that is.
type Decided = (Vec<Change>, Progress);

/// Returns those of the decided changes that a share makes in an aggregate that is marked with its identity. `hosts` have a compute service:
/// those that the share leases or has lost, and `unleased`, the members that it doesn't know to have leased.
pub fn permitted(
    share: &Subject<HypervisorShareSpec>,
    own: &Aggregate,
    hosts: &BTreeSet<String>,
    unleased: &[&String],
    decided: Decided,
) -> Decided {
    let mut members = own.hosts.intersection(hosts);
    let has_member = members.any(|host| !unleased.contains(&host));
    match (is_first(share), unleased.is_empty()) {
        (true, true) => decided,
        (true, false) | (false, true) if has_member => decided,
        (false, true) if share.is_deleted() => decided,
        (true, false) | (false, true) => without_members(share, own, hosts, unleased, decided),
        (false, false) => beside_others(share, own, unleased, decided),
    }
}

/// What a share without a member does: another one may have the rest, or want it otherwise.
fn without_members(
    share: &Subject<HypervisorShareSpec>,
    own: &Aggregate,
    hosts: &BTreeSet<String>,
    unleased: &[&String],
    (mut changes, decided): Decided,
) -> Decided {
    // An empty one whose zone only goes with it, before the share adds its hosts to one without.
    let is_replaced = is_wanted(share) && unleased.is_empty() && !hosts.is_empty();
    changes.retain(|change| match change {
        Change::UpdateAggregate { .. } | Change::SetMetadata { .. } => false,
        Change::DeleteAggregate { .. } => is_replaced,
        _ => true,
    });
    let waits = is_wanted(share) && !share.is_deleted() && changes.is_empty();
    let progress = match waits && is_of_the_rest(share, own, unleased, &decided) {
        true => Progress::waiting(
            Reason::WaitingFor(WAITS),
            format!(
                "the name, zone and metadata of Nova's aggregate {} stay as they are until a host of this share is in it, because a share in \
                 another pool may have the same spec.identity",
                own.name
            ),
        ),
        false => decided,
    };
    (changes, progress)
}

/// What a share that isn't the first changes beside hosts that it doesn't know to have leased, which it reports. A share in another pool may
/// have the same identity and name, and would change the rest of it back, or these hosts may have been lost by an earlier share.
fn beside_others(
    share: &Subject<HypervisorShareSpec>,
    own: &Aggregate,
    unleased: &[&String],
    (mut changes, decided): Decided,
) -> Decided {
    changes.retain(|change| matches!(change, Change::AddHost { .. } | Change::JoinProvider { .. }));
    let is_silent = decided.is_ready() || is_of_the_rest(share, own, unleased, &decided);
    let also = match is_silent {
        true => String::new(),
        false => format!(". Also: {}", decided.message()),
    };
    let message = format!(
        "{}. Its name, zone and metadata stay as they are. {COPY}. {}{also}",
        has_unleased_hosts(own, unleased),
        removed_by_hand(own)
    );
    (changes, Progress::failed(Reason::NameTaken, message))
}

/// Whether what was decided is about the name, zone and metadata.
fn is_of_the_rest(
    share: &Subject<HypervisorShareSpec>,
    own: &Aggregate,
    unleased: &[&String],
    decided: &Progress,
) -> bool {
    let is_waiting = matches!(
        decided,
        Progress::Waiting {
            reason: Reason::WaitingFor(WAITS),
            ..
        }
    );
    is_waiting || (!unleased.is_empty() && own.zone != share.spec.availability_zone)
}

/// Reports hosts in the aggregate of the first share of an identity that it doesn't know to have leased. They stay members.
pub fn unleased_hosts(own: &Aggregate, unleased: &[&String]) -> Progress {
    let message = format!(
        "{}. Where a share in another pool has the same spec.identity, that share is the copy: drain and delete it there. {}",
        has_unleased_hosts(own, unleased),
        removed_by_hand(own)
    );
    Progress::failed(Reason::NameTaken, message)
}

fn has_unleased_hosts(own: &Aggregate, unleased: &[&String]) -> String {
    format!(
        "Nova's aggregate {} has hosts that this share doesn't know to have leased: {}",
        own.name,
        named(unleased, ", ")
    )
}

/// How a person removes such hosts.
fn removed_by_hand(own: &Aggregate) -> String {
    format!(
        "Remove a host that another pool runs by `openstack aggregate remove host {} NODE`. Where its machine is off for good, evacuate its \
         servers, remove its compute service by `openstack compute service delete ID` and its agent by `openstack network agent delete NODE`, \
         and see `openstack resource provider list --name NODE`",
        argument(&own.name)
    )
}
