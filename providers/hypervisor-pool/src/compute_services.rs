//! The compute services of a share's nodes in Nova: disabled while nodes are drained, and deleted once their agents have stopped.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{ComputeState, HypervisorShareSpec, LeasePhase};
use provider_composer::{
    DesiredState, Failure, Live, Lookup, ObservedState, Progress, Reason, Subject,
};

use crate::aggregate;
use crate::api::{Api, access, report};
use crate::asked::asked;
use crate::drain::Reports;
use crate::enabling;
use crate::hold;
use crate::leases::Leases;
use crate::leftovers::{self, Leftovers};
use crate::lost;
use crate::members::{Inventory, inside, known};
use crate::named;
use crate::nodes::{self, Node};
use crate::nova::{Access, Aggregate, Change, Question, Service, VALID, after};
use crate::{recorded, same_identity};

/// How the reason of a compute service that this operator disabled begins. One that is disabled for another reason stays so.
pub const DISABLED: &str = "drained by the HypervisorShare";
/// How the reason of a compute service begins that nova-compute disabled by itself.
const DISABLED_BY_ITSELF: &str = "AUTO:";
/// The condition that says whether nova-compute of all nodes reports to Nova.
const CONDITION: &str = "ComputeServicesUp";
/// How long it takes until nodes that run are read again, in seconds.
const RARELY: u32 = 300;

/// The Nova of a share's control plane.
enum Nova {
    /// No nova-compute of this share ever ran.
    Never,
    /// It can't be read.
    Unknown(String),
    /// It answers.
    Known(Api),
}

/// What Nova has of a share's nodes.
pub struct Computes {
    /// The nodes that the share has lost and that may have servers.
    pub lost: BTreeSet<String>,
    /// The compute services, by host. Missing where no nova-compute of this share ever ran.
    pub services: Lookup<BTreeMap<String, Service>>,
    /// How the Nova is reached that answers.
    pub access: Option<Access>,
    /// The leased nodes that are in the share's aggregate. None where it wants none, or Nova's aggregates can't be read.
    pub inside: Option<BTreeSet<String>>,
    /// The traits that flavors must require to find hosts of the share's aggregate. None where Nova's aggregates can't be read.
    pub isolating: Option<BTreeSet<String>>,
    /// The hosts whose hypervisors Nova lists. None where the share wants an aggregate, or they can't be read.
    pub listed: Option<BTreeSet<String>>,
}

/// What is known of a share's nodes by its aggregate.
struct Membership {
    /// The nodes that the share has lost and of which something is left.
    lost: BTreeSet<String>,
    /// The leased nodes that are in the aggregate, if it is wanted and known.
    inside: Option<BTreeSet<String>>,
    /// The traits that flavors must require to find its hosts, if that is known.
    isolating: Option<BTreeSet<String>>,
}

/// Reads the compute services of a share's nodes, completes the reports, and changes what differs from the nodes' phases.
///
/// # Errors
/// A call can't be written.
pub fn reconcile(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    reports: &mut Reports,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<Computes, Failure> {
    let held = hold::held(share.name(), observed);
    let mut lost = recorded::no_longer_leased(share, leases, held);
    let nova = nova(share, observed);
    let progress = progress(&nova, leases);
    let is_asked = leases.surplus_since().is_some();
    let (mut inside, mut isolating, mut listed) = (None, None, None);
    match &nova {
        Nova::Never => {
            for node in leases.nodes() {
                reports.add(node, None, 0);
            }
            if is_asked {
                reports.set_servers(leases.names().into_iter().map(|name| (name, 0)).collect());
            }
            if !lost.is_empty() {
                desired
                    .conditions
                    .note(lost::CONDITION, &lost::unasked(&lost, share.name()));
                desired.requeue_at(after(RARELY, observed));
            }
            return Ok(Computes {
                lost,
                services: Lookup::Missing,
                access: None,
                inside: None,
                isolating: None,
                listed: None,
            });
        }
        Nova::Unknown(why) => {
            desired.conditions.note(CONDITION, &progress);
            lost::note_unread(&lost, why, desired);
        }
        Nova::Known(api) => {
            // Ready doesn't wait for it: HostsWorking says whether enough nodes work.
            desired.conditions.note(CONDITION, &progress);
            api.nodes(share, leases, reports, observed, desired)?;
            Membership {
                lost,
                inside,
                isolating,
            } = api.aggregate(share, leases, lost, observed, desired)?;
            listed = api.listed(share, leases, observed);
            if is_asked {
                api.count(leases, reports, observed);
            }
        }
    }
    let joins = listed
        .as_ref()
        .is_some_and(|listed| has_others(leases, listed));
    let services = match &nova {
        Nova::Known(api) => Some(&api.services),
        Nova::Unknown(_) | Nova::Never => None,
    };
    let returns = services.is_some_and(|services| enables_itself(leases, services));
    let often = leases.draining() > 0 || is_asked || joins || returns || !progress.is_ready();
    desired.requeue_at(after(if often { VALID } else { RARELY }, observed));
    let (services, access) = match nova {
        Nova::Known(api) => (Lookup::Found(api.services), Some(api.access)),
        Nova::Unknown(why) => (Lookup::Unknown(why), None),
        Nova::Never => (Lookup::Missing, None),
    };
    Ok(Computes {
        lost,
        services,
        access,
        inside,
        isolating,
        listed,
    })
}

impl Api {
    /// Changes the compute services of nodes, and reports of those that are drained.
    fn nodes(
        &self,
        share: &Subject<HypervisorShareSpec>,
        leases: &Leases,
        reports: &mut Reports,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<(), Failure> {
        let asked = asked(leases, reports, observed.now());
        let leftovers = self.leftovers(&asked, leases, reports, observed);
        if let Some(progress) = leftovers.as_ref().and_then(|left| left.progress.as_ref()) {
            desired.conditions.note(leftovers::CONDITION, progress);
        }
        for node in leases.nodes() {
            let name = node.metadata.name.as_str();
            let service = self.services.get(name);
            let id = || {
                service
                    .map(|service| service.id.clone())
                    .unwrap_or_default()
            };
            let disabled = service.map(|service| service.disabled.as_deref());
            match (nodes::phase(node), disabled) {
                (LeasePhase::Leased, Some(Some(reason))) if reason.starts_with(DISABLED) => {
                    self.call(Change::Enable { service: id() }, desired)?;
                }
                (LeasePhase::Leased | LeasePhase::Wiping, _) => {}
                (phase @ (LeasePhase::Draining | LeasePhase::Releasing), Some(None))
                    if phase == LeasePhase::Draining || !reports.evidence(node).has_no_agent =>
                {
                    let since = nodes::since(node).unwrap_or_default();
                    let reason = format!("{DISABLED} {} since {since}", share.name());
                    let service = id();
                    self.call(Change::Disable { service, reason }, desired)?;
                }
                (phase, _) if asked.contains(name) => {
                    let host = name.to_owned();
                    let Lookup::Found(occupants) = self.occupants(name, observed) else {
                        continue;
                    };
                    let instances = occupants.count();
                    let left = leftovers.as_ref().and_then(|left| left.of_node(name));
                    if let (0, Some(left)) = (instances, left) {
                        for change in left {
                            self.call(change.clone(), desired)?;
                        }
                        continue;
                    }
                    reports.add(node, service.map(|_| ComputeState::Disabled), instances);
                    // nova-compute registers anew as long as it runs.
                    let is_empty = instances == 0 && reports.evidence(node).has_no_agent;
                    if service.is_some() && phase == LeasePhase::Releasing && is_empty {
                        let service = id();
                        self.call(Change::Delete { service, host }, desired)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts the servers on each node at once. A node without a compute service, such as a new one, has none, unless Nova lists no compute
    /// service at all, as before its database is restored.
    fn count(&self, leases: &Leases, reports: &mut Reports, observed: &ObservedState<'_>) {
        if self.services.is_empty() {
            return;
        }
        let servers = self
            .access
            .read::<BTreeMap<String, u32>>(Question::Servers, observed);
        let Lookup::Found(mut servers) = servers else {
            return;
        };
        for name in leases.names() {
            if !self.services.contains_key(&name) {
                servers.entry(name).or_insert(0);
            }
        }
        reports.set_servers(servers);
    }

    /// The hosts whose hypervisors Nova lists, if that can be read: the scheduler has found their cells, without which servers fail there
    /// (nova/conductor/manager.py, `schedule_and_build_instances`). Where the share wants an aggregate, its members tell that, since Nova
    /// adds no other hosts. Hosts are found by their own names in the list of all, whatever libvirt calls them.
    fn listed(
        &self,
        share: &Subject<HypervisorShareSpec>,
        leases: &Leases,
        observed: &ObservedState<'_>,
    ) -> Option<BTreeSet<String>> {
        if aggregate::is_wanted(share) || share.is_deleted() || leases.leased() == 0 {
            return None;
        }
        let servers = self
            .access
            .read::<BTreeMap<String, u32>>(Question::Servers, observed);
        let servers = servers.found()?;
        Some(servers.into_keys().collect())
    }

    /// What Placement and Neutron have of those of the asked nodes whose compute service is deleted, if there are any.
    fn leftovers(
        &self,
        asked: &BTreeSet<String>,
        leases: &Leases,
        reports: &Reports,
        observed: &ObservedState<'_>,
    ) -> Option<Leftovers> {
        let released = leases.in_phase(LeasePhase::Releasing).filter(|node| {
            let name = &node.metadata.name;
            let is_deleted = asked.contains(name) && !self.services.contains_key(name);
            is_deleted && reports.evidence(node).has_no_agent
        });
        let hosts = released.map(|node| node.metadata.name.clone());
        let hosts: BTreeSet<String> = hosts.collect();
        if hosts.is_empty() {
            return None;
        }
        let question = Question::Leftovers {
            hosts: hosts.clone(),
        };
        let leftovers = Leftovers::of(&hosts, self.access.read(question, observed));
        let question = Question::Chassis {
            hosts: hosts.clone(),
        };
        Some(leftovers.with_chassis(&hosts, self.access.read(question, observed)))
    }

    /// Keeps the aggregate of the share's nodes, in which lost nodes stay. Nova removes a host from it when it deletes the compute service.
    fn aggregate(
        &self,
        share: &Subject<HypervisorShareSpec>,
        leases: &Leases,
        lost: BTreeSet<String>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<Membership, Failure> {
        let found = self
            .access
            .read::<Vec<Aggregate>>(Question::Aggregates, observed);
        let found = match known(found, "Nova's aggregates can't be read") {
            Ok(found) => found,
            Err(why) => {
                lost::note_unread(&lost, why.message(), desired);
                desired.requeue_at(after(VALID, observed));
                return Ok(Membership {
                    lost,
                    inside: None,
                    isolating: None,
                });
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
        let lost = lost::reconcile(self, share, lost, sought, &is_elsewhere, observed, desired)?;
        let hosts = nodes.iter().copied().chain(members);
        let hosts = hosts.filter(|name| self.services.contains_key(*name));
        let hosts: BTreeSet<String> = hosts.cloned().collect();
        let hypervisor = |host: &str| {
            let host = host.to_owned();
            self.access
                .read::<Option<String>>(Question::Hypervisor { host }, observed)
        };
        let inventory = Inventory {
            hypervisor: &hypervisor,
            now: observed.now(),
            members: match own.filter(|_| !share.is_deleted()) {
                Some(own) => self.members(&own.uuid, observed, desired),
                None => Lookup::Missing,
            },
        };
        let occupants = |host: &str| self.occupants(host, observed);
        enabling::reconcile(self, share, leases, own, &inventory, observed, desired)?;
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
            self.call(change, desired)?;
        }
        let is_wanted = aggregate::is_wanted(share) && !share.is_deleted();
        Ok(Membership {
            lost,
            inside: is_wanted.then_some(inside),
            isolating: Some(own.map(aggregate::isolating_traits).unwrap_or_default()),
        })
    }
}

fn nova(share: &Subject<HypervisorShareSpec>, observed: &ObservedState<'_>) -> Nova {
    let access = match access(share, observed) {
        Ok(Some(access)) => access,
        Ok(None) => return Nova::Never,
        Err(progress) => return Nova::Unknown(progress.message().to_owned()),
    };
    match access.read(Question::Services, observed) {
        Lookup::Found(services) => Nova::Known(Api { access, services }),
        Lookup::Missing => Nova::Unknown("there is no driver of Nova".to_owned()),
        Lookup::Unknown(why) => Nova::Unknown(why),
    }
}

/// Whether the share has leased nodes that aren't among these hosts.
fn has_others(leases: &Leases, hosts: &BTreeSet<String>) -> bool {
    let mut leased = leases.in_phase(LeasePhase::Leased);
    leased.any(|node| !hosts.contains(&node.metadata.name))
}

/// Whether the nova-compute of a leased node disabled its own service: it does so while libvirt is away, and enables it once libvirt is back
/// (nova/virt/libvirt/driver.py, `_set_host_enabled`).
fn enables_itself(leases: &Leases, services: &BTreeMap<String, Service>) -> bool {
    let mut leased = leases.in_phase(LeasePhase::Leased);
    leased.any(|node| {
        let service = services.get(&node.metadata.name);
        let reason = service.and_then(|service| service.disabled.as_deref());
        reason.is_some_and(|reason| reason.starts_with(DISABLED_BY_ITSELF))
    })
}

/// Whether the nova-compute of every leased node reports to Nova.
fn progress(nova: &Nova, leases: &Leases) -> Progress {
    let services = match nova {
        Nova::Never => return Progress::Ready,
        Nova::Unknown(why) => {
            let message = format!(
                "Nova can't be read, so that no node is freed unless spec.computeServices says what is on it: {why}"
            );
            return Progress::waiting(Reason::LookupFailed, message);
        }
        Nova::Known(api) => &api.services,
    };
    let is_down = |node: &&Live<Node>| {
        let service = services.get(&node.metadata.name);
        service.is_none_or(|service| !service.is_up)
    };
    let leased = leases.in_phase(LeasePhase::Leased).filter(is_down);
    let down: Vec<&str> = leased.map(|node| node.metadata.name.as_str()).collect();
    if down.is_empty() {
        return Progress::Ready;
    }
    Progress::waiting(
        Reason::NotRegistered,
        format!(
            "nova-compute doesn't report to Nova from {}: check its pods on these nodes, and `openstack compute service list`",
            named(&down, ", ")
        ),
    )
}
