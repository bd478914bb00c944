//! What Nova, Placement and Neutron have of nodes that a share leased until a person deleted their Nodes, as is done with a dead machine, or
//! their labels.
//!
//! A Node that is created again has no label of its former lease. Servers may be there all the same, so the share's status names it until
//! Nova, which refuses to delete the compute service of a host with servers, has none of it, and Placement no resource provider.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::HypervisorShareSpec;
use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Reason, Subject, named};

use crate::api::{Api, report};
use crate::asked::{AT_ONCE, DRAWN, NEAREST, drawn};
use crate::drain::{self, HOLD};
use crate::members::known;
use crate::nodes::{FORMER_LEASE, LEASE, SINCE};
use crate::nova::{Change, Leftover, Question, Service, VALID, after};
use crate::zone::OccupantsOf;

/// The condition that says what is left of lost nodes. It is only there while something is.
pub const CONDITION: &str = "LostNodesRemoved";

/// What is said of lost nodes while no Secret has Nova's configuration, nor a copy is left, which goes with the last node.
pub fn unasked(lost: &BTreeSet<String>, share: &str) -> Progress {
    let message = format!(
        "Nova has no configuration, so it can't be asked what is on {}, which this share leases no longer. {}",
        named(&Vec::from_iter(lost), ", "),
        removed_by_hand(share)
    );
    Progress::Unknown { message }
}

/// What is said of lost nodes while Nova lists no compute service, as one whose database is created anew and not restored yet. A Nova whose
/// hosts run has at least one.
fn unlisted(lost: &BTreeSet<String>, share: &str) -> Progress {
    let message = format!(
        "Nova lists no compute service at all, as before its database is restored, so it isn't known what is on {}, which this share leases no \
         longer. {}",
        named(&Vec::from_iter(lost), ", "),
        removed_by_hand(share)
    );
    Progress::Unknown { message }
}

/// How a person takes nodes out of the status of a share. What protects a node adds it again.
pub fn removed_by_hand(share: &str) -> String {
    let namespace = drain::namespace(share);
    format!(
        "Where no server is left there, remove the label {SINCE} or {FORMER_LEASE} of a node that has it without {LEASE}, and delete the \
         StatefulSet {HOLD}-* in {namespace} of one that another control plane leases; once no {HOLD}-* of these nodes is left, remove the \
         names from status.lost by `kubectl edit hypervisorshare {share} --subresource=status`"
    )
}

/// Says of lost nodes that Nova can't be read, if there are any. They may have servers, so that the condition doesn't go meanwhile.
pub fn note_unread(lost: &BTreeSet<String>, why: &str, desired: &mut DesiredState) {
    if lost.is_empty() {
        return;
    }
    let message = format!(
        "Nova can't be asked what is on {}, which this share leases no longer: {why}",
        named(&Vec::from_iter(lost), ", ")
    );
    desired
        .conditions
        .note(CONDITION, &Progress::Unknown { message });
}

/// Deletes what Nova, Placement and Neutron have of lost nodes once they are down and empty. Where another share has a host in its aggregate, its
/// machine may be a node of another cluster now. Of `unleased`, members of the share's aggregate that it doesn't know to have leased, servers
/// are reported unless many are down, and nothing is deleted. Returns the nodes of which something is left or may be.
pub fn reconcile(
    api: &Api,
    share: &Subject<HypervisorShareSpec>,
    mut lost: BTreeSet<String>,
    unleased: &[&String],
    is_in_another_aggregate: &dyn Fn(&str) -> bool,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> BTreeSet<String> {
    if api.services.is_empty() && !lost.is_empty() {
        let progress = unlisted(&lost, share.name());
        desired.conditions.note(CONDITION, &progress);
        return lost;
    }
    let now = observed.now();
    let occupants = |host: &str| api.occupants(host, observed);
    let mut cleanup = Cleanup::default();
    let with_service = lost.iter().filter(|host| api.services.contains_key(*host));
    let (others, own): (Vec<&String>, Vec<&String>) =
        with_service.partition(|host| is_in_another_aggregate(host));
    cleanup.others = others.into_iter().cloned().collect();
    let down = unleased.iter().copied().filter(|host| {
        let service = api.services.get(*host);
        service.is_some_and(|service| !service.is_up) && !is_in_another_aggregate(host)
    });
    let down: Vec<&String> = down.collect();
    let mut asked = drawn(own.iter().copied(), NEAREST + DRAWN, now);
    if asked.len() < own.len() {
        cleanup.many = own.into_iter().cloned().collect();
    }
    match down.len() > NEAREST + DRAWN {
        // No answer would change what is said or done.
        true => cleanup.unleased = down.into_iter().cloned().collect(),
        false => asked.extend(down),
    }
    for host in asked {
        let is_empty = cleanup.check_empty(host, &occupants);
        let service = api.services.get(host).filter(|_| lost.contains(host));
        if let (true, Some(service)) = (is_empty, service) {
            cleanup.add_service(host, service);
        }
    }
    let gone = lost.iter().filter(|host| !api.services.contains_key(*host));
    let gone: Vec<&String> = gone.collect();
    if !gone.is_empty() {
        let asked = drawn(gone.iter().copied(), AT_ONCE, now).into_iter();
        let asked: BTreeSet<String> = asked.cloned().collect();
        let hosts = asked.clone();
        let found = api.access.read(Question::Leftovers { hosts }, observed);
        let mut unfinished = cleanup.add_providers(&gone, &asked, found, &occupants);
        let hosts = asked.clone();
        let found = api.access.read(Question::Chassis { hosts }, observed);
        cleanup.add_chassis(&gone, &asked, found, &occupants, &mut unfinished);
        lost.retain(|host| unfinished.contains(host) || !asked.contains(host));
    }
    if let Some(progress) = cleanup.progress() {
        desired.requeue_at(after(VALID, observed));
        report(share, CONDITION, &progress, desired);
    } else if let Some(progress) = cleanup.blocked() {
        // No server waits for that.
        desired.conditions.note(CONDITION, &progress);
    }
    for change in cleanup.changes {
        api.call(change, desired);
    }
    lost
}

/// What is left of lost nodes.
#[derive(Default)]
struct Cleanup {
    /// What deletes it, where nothing is there.
    changes: Vec<Change>,
    /// All hosts with a compute service, where they are too many to ask about at once: which are asked about changes each time, and a
    /// message must not.
    many: Vec<String>,
    /// The members of the aggregate that are down and that the share doesn't know to have leased, where they are too many to ask about.
    unleased: Vec<String>,
    /// The hosts with servers, and how many.
    occupied: Vec<String>,
    /// The hosts without servers whose nova-compute runs.
    up: Vec<String>,
    /// The hosts without a compute service whose ovn-controller runs.
    connected: Vec<String>,
    /// The hosts that another share has.
    others: Vec<String>,
    /// The hosts whose resource provider has allocations, and its ID.
    allocated: Vec<String>,
    /// Why some answer is missing.
    unknown: Option<Progress>,
}

impl Cleanup {
    /// Adds the compute service of an empty host.
    fn add_service(&mut self, host: &str, service: &Service) {
        match service.is_up {
            // It would register anew.
            true => self.up.push(host.to_owned()),
            false => self.changes.push(Change::Delete {
                service: service.id.clone(),
                host: host.to_owned(),
            }),
        }
    }

    /// Adds what Placement has of the hosts without a compute service that were asked about. Returns those of which it has something or may
    /// have something.
    fn add_providers(
        &mut self,
        gone: &[&String],
        asked: &BTreeSet<String>,
        found: Lookup<Option<BTreeMap<String, Leftover>>>,
        occupants: OccupantsOf<'_>,
    ) -> BTreeSet<String> {
        let message = format!(
            "Placement can't be asked for resource providers of {}, which this share leases no longer",
            named(gone, ", ")
        );
        let found = match known(found, &message) {
            Ok(found) => found.unwrap_or_default(),
            Err(why) => {
                self.unknown.get_or_insert(why);
                return asked.clone();
            }
        };
        let mut unfinished = BTreeSet::new();
        for (id, Leftover { host, is_allocated }) in found {
            unfinished.insert(host.clone());
            if is_allocated {
                self.allocated.push(format!("{host} ({id})"));
            } else if self.check_empty(&host, occupants) {
                self.changes.push(Change::DeleteProvider { id, host });
            }
        }
        if asked.len() < gone.len() && !self.allocated.is_empty() {
            // Others are asked about next.
            self.allocated = vec![format!("some of {}", named(gone, ", "))];
        }
        unfinished
    }

    /// Adds the chassis of the hosts without a compute service that were asked about: a person may have deleted that alone. Hosts of which
    /// something is or may be left are added to the unfinished ones. What Placement has of a host is deleted first.
    fn add_chassis(
        &mut self,
        gone: &[&String],
        asked: &BTreeSet<String>,
        found: Lookup<Option<BTreeMap<String, bool>>>,
        occupants: OccupantsOf<'_>,
        unfinished: &mut BTreeSet<String>,
    ) {
        let message = format!(
            "Neutron can't be asked for the chassis of {}, which this share leases no longer",
            named(gone, ", ")
        );
        let found = match known(found, &message) {
            Ok(found) => found.unwrap_or_default(),
            Err(why) => {
                self.unknown.get_or_insert(why);
                unfinished.extend(asked.iter().cloned());
                return;
            }
        };
        for (host, is_up) in found {
            if !unfinished.insert(host.clone()) {
                continue;
            }
            if is_up {
                // It would register anew.
                self.connected.push(host);
            } else if self.check_empty(&host, occupants) {
                self.changes.push(Change::DeleteChassis { host });
            }
        }
    }

    /// Returns whether a host has neither servers nor migrations, and records why not.
    fn check_empty(&mut self, host: &str, occupants: OccupantsOf<'_>) -> bool {
        match occupants(host) {
            Lookup::Found(found) if found.count() == 0 => return true,
            Lookup::Found(found) => self.occupied.push(format!("{host} ({})", found.count())),
            Lookup::Missing | Lookup::Unknown(_) => {
                let message = format!(
                    "Nova can't be asked what is on {host}, which this share leases no longer"
                );
                self.unknown.get_or_insert(Progress::Unknown { message });
            }
        }
        false
    }

    /// What is waited for, if anything.
    fn progress(&self) -> Option<Progress> {
        if !self.many.is_empty() {
            return Some(node_lost(&format!(
                "this share leases these {} nodes no longer, and Nova may have servers or migrations on some of them: {}",
                self.many.len(),
                named(&self.many, ", ")
            )));
        }
        if !self.occupied.is_empty() {
            return Some(node_lost(&format!(
                "this share leases these nodes no longer, and Nova has servers or migrations there: {}",
                named(&self.occupied, ", ")
            )));
        }
        if !self.up.is_empty() {
            let message = format!(
                "waits for Nova to report that nova-compute is down on {}, which this share leases no longer",
                named(&self.up, ", ")
            );
            return Some(Progress::waiting(Reason::WaitingFor("Nova"), message));
        }
        if !self.connected.is_empty() {
            let message = format!(
                "waits for Neutron to report that ovn-controller is down on {}, which this share leases no longer",
                named(&self.connected, ", ")
            );
            return Some(Progress::waiting(Reason::WaitingFor("Neutron"), message));
        }
        let waits = "waits for Nova, Placement and Neutron to delete compute services, resource providers and chassis of nodes that this \
                     share leases no longer";
        let is_changing = !self.changes.is_empty();
        let waits = is_changing.then(|| Progress::waiting(Reason::WaitingFor("Nova"), waits));
        self.unknown.clone().or(waits)
    }

    /// What only a person can delete, if there is something.
    fn blocked(&self) -> Option<Progress> {
        let others = (!self.others.is_empty()).then(|| {
            format!(
                "this share leased these nodes before, and another share has them in its aggregate in Nova, so their compute services stay: \
                 {}. For a machine that was moved to another cluster, this ends once that share frees it. Otherwise remove each host by \
                 `openstack aggregate remove host AGGREGATE NODE`",
                named(&self.others, ", ")
            )
        });
        let allocated = (!self.allocated.is_empty()).then(|| {
            format!(
                "Placement keeps resource providers of nodes that this share leases no longer, because something is allocated there: {}. See \
                 `openstack resource provider show --allocations ID`, and remove allocations of servers that run on other hosts or don't exist \
                 any more by `openstack resource provider allocation unset --provider ID SERVER`",
                named(&self.allocated, ", ")
            )
        });
        let unleased = (!self.unleased.is_empty()).then(|| {
            format!(
                "Nova isn't asked what is on these {} hosts, which are down and which this share doesn't know to have leased, because there \
                 are so many: {}. Nothing of them is deleted: see the condition AggregateMembersKnown",
                self.unleased.len(),
                named(&self.unleased, ", ")
            )
        });
        let reason = match others.is_some() || unleased.is_some() {
            true => "Nova",
            false => "Placement",
        };
        let messages = others.into_iter().chain(allocated).chain(unleased);
        let messages: Vec<String> = messages.collect();
        let waits = || Progress::waiting(Reason::WaitingFor(reason), messages.join("; "));
        (!messages.is_empty()).then(waits)
    }
}

/// What is said of lost nodes with servers, and what to do.
fn node_lost(what: &str) -> Progress {
    Progress::failed(
        Reason::NodeLost,
        format!(
            "{what}. Where a node has come back as it was, set its label {LEASE} to the control plane of this share. Otherwise make sure that \
             its machine is off, then evacuate or delete what `openstack server list --all-projects --host NODE` lists"
        ),
    )
}
