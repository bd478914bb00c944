//! The aggregate of a share's nodes in Nova: which hosts are members, which of them Placement knows, and which lost nodes stay in it.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Subject};

use crate::aggregate;
use crate::api::{Api, report};
use crate::enabling;
use crate::leases::Leases;
use crate::lost;
use crate::members::{Inventory, inside, known};
use crate::nova::{Aggregate, Question, VALID, after};
use crate::same_identity;

/// What is known of a share's nodes by its aggregate.
pub struct Membership {
    /// The nodes that the share has lost and of which something is left.
    pub lost: BTreeSet<String>,
    /// The leased nodes that are in the aggregate, if it is wanted and known.
    pub inside: Option<BTreeSet<String>>,
    /// The traits that flavors must require to find its hosts, if that is known.
    pub isolating: Option<BTreeSet<String>>,
}

impl Api {
    /// Keeps the aggregate of the share's nodes, in which lost nodes stay. Nova removes a host from it when it deletes the compute service.
    pub fn aggregate(
        &self,
        share: &Subject<HypervisorShareSpec>,
        leases: &Leases,
        lost: BTreeSet<String>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Membership {
        let found = self
            .access
            .read::<Vec<Aggregate>>(Question::Aggregates, observed);
        let found = match known(found, "Nova's aggregates can't be read") {
            Ok(found) => found,
            Err(why) => {
                lost::note_unread(&lost, why.message(), desired);
                enabling::note_unread(share, why.message(), desired);
                desired.requeue_at(after(VALID, observed));
                return Membership {
                    lost,
                    inside: None,
                    isolating: None,
                };
            }
        };
        let nodes = leases.nodes().iter().map(|node| &node.metadata.name);
        let nodes: BTreeSet<&String> = nodes.collect();
        let own = aggregate::own(share, &found);
        let members = own.into_iter().flat_map(|own| &own.hosts);
        let members: BTreeSet<&String> = members.filter(|host| !nodes.contains(host)).collect();
        let unleased = members.iter().copied();
        let unleased = unleased.filter(|&host| !lost.contains(host));
        let unleased = unleased.filter(|&host| self.services.contains_key(host));
        let unleased: Vec<&String> = unleased.collect();
        let is_first = aggregate::is_first(share);
        // Those of a copy are most likely nodes of another pool.
        let sought = if is_first { unleased.as_slice() } else { &[] };
        let is_elsewhere = |host: &str| aggregate::is_in_another_aggregate(host, own, &found);
        let lost = lost::reconcile(self, share, lost, sought, &is_elsewhere, observed, desired);
        let hosts = nodes.iter().copied().chain(members);
        let hosts = hosts.filter(|name| self.services.contains_key(*name));
        let hosts: BTreeSet<String> = hosts.cloned().collect();
        let hypervisor = |host: &str| self.hypervisor(host, observed);
        let inventory = Inventory {
            hypervisor: &hypervisor,
            now: observed.now(),
            members: match own.filter(|_| !share.is_deleted()) {
                Some(own) => self.members(&own.uuid, observed, desired),
                None => Lookup::Missing,
            },
        };
        let occupants = |host: &str| self.occupants(host, observed);
        enabling::reconcile(self, share, leases, own, &inventory, observed, desired);
        let decided = aggregate::changes(share, &hosts, &unleased, &found, &inventory, &occupants);
        let (changes, progress) = match own {
            Some(own) => same_identity::permitted(share, own, &hosts, &unleased, decided),
            None => decided,
        };
        if let Some(own) = own.filter(|_| is_first && !unleased.is_empty()) {
            let unleased = same_identity::unleased_hosts(own, &unleased);
            desired.conditions.note("AggregateMembersKnown", &unleased);
        }
        if !progress.is_ready() {
            desired.requeue_at(after(VALID, observed));
        }
        let condition = "AggregateReady";
        let leased = leases.in_phase(LeasePhase::Leased);
        let leased = leased.map(|node| &node.metadata.name);
        let inside: BTreeSet<String> = match own {
            // Placement lacks none of them, whatever libvirt calls them.
            Some(own) if progress.is_ready() => {
                let members = leased.filter(|name| own.hosts.contains(*name));
                members.cloned().collect()
            }
            Some(own) => inside(own, leased, &inventory),
            None => BTreeSet::new(),
        };
        let suffices = u32::try_from(inside.len()).is_ok_and(|count| count >= leases.least());
        match suffices && matches!(progress, Progress::Waiting { .. }) {
            // Others take servers while hosts join, and while the operator changes the aggregate's name, metadata or zone.
            true => desired.conditions.note(condition, &progress),
            // Until then servers would be scheduled outside of the nodes' zone, or a person has to correct something.
            false => report(share, condition, &progress, desired),
        }
        for change in changes {
            self.call(change, desired);
        }
        let is_wanted = aggregate::is_wanted(share) && !share.is_deleted();
        Membership {
            lost,
            inside: is_wanted.then_some(inside),
            isolating: Some(own.map(aggregate::isolating_traits).unwrap_or_default()),
        }
    }
}
