//! The compute services of a share's nodes in Nova: disabled while nodes are drained, and deleted once their agents have stopped.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{ComputeState, HypervisorShareSpec, LeasePhase};
use provider_composer::{
    DesiredState, Live, Lookup, ObservedState, Progress, Reason, Subject, named,
};

use crate::aggregate;
use crate::api::{Api, access};
use crate::asked::asked;
use crate::drain::Reports;
use crate::enabling;
use crate::hold;
use crate::leases::Leases;
use crate::leftovers::{self, Leftovers};
use crate::lost;
use crate::nodes::{self, Node};
use crate::nova::{Access, Change, Question, Service, VALID, after, drained};
use crate::recorded;

/// How the reason of a compute service begins that nova-compute disabled by itself.
const DISABLED_BY_ITSELF: &str = "AUTO:";
/// The condition that says whether nova-compute of all nodes reports to Nova.
const CONDITION: &str = "ComputeServicesUp";
/// How long it takes until nodes that run are read again, in seconds.
const RARELY: u32 = 300;

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

/// Reads the compute services of a share's nodes, completes the reports, and changes what differs from the nodes' phases.
pub fn reconcile(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    reports: &mut Reports,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Computes {
    let held = hold::held(share.name(), observed);
    let lost = recorded::no_longer_leased(share, leases.nodes(), held);
    let is_asked = leases.surplus_since().is_some();
    let nova = nova(share, observed);
    let progress = progress(&nova, leases);
    let computes = match nova {
        Lookup::Missing => return never_ran(share, leases, lost, reports, observed, desired),
        Lookup::Unknown(why) => {
            desired.conditions.note(CONDITION, &progress);
            lost::note_unread(&lost, &why, desired);
            enabling::note_unread(share, &why, desired);
            Computes::without(Lookup::Unknown(why), lost)
        }
        Lookup::Found(api) => {
            // Ready doesn't wait for it: HostsWorking says whether enough nodes work.
            desired.conditions.note(CONDITION, &progress);
            api.nodes(share, leases, reports, observed, desired);
            let membership = api.aggregate(share, leases, lost, observed, desired);
            let listed = api.listed(share, leases, observed);
            if is_asked {
                api.count(leases, reports, observed);
            }
            Computes {
                lost: membership.lost,
                inside: membership.inside,
                isolating: membership.isolating,
                listed,
                services: Lookup::Found(api.services),
                access: Some(api.access),
            }
        }
    };
    let waits = leases.draining() > 0 || is_asked || !progress.is_ready();
    let often = waits || computes.changes_soon(leases);
    desired.requeue_at(after(if often { VALID } else { RARELY }, observed));
    computes
}

/// What there is of a share whose nodes never ran a nova-compute: its nodes are empty.
fn never_ran(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    lost: BTreeSet<String>,
    reports: &mut Reports,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Computes {
    enabling::note_unread(share, "nova-compute has no configuration yet", desired);
    for node in leases.nodes() {
        reports.add(node, None, 0);
    }
    if leases.surplus_since().is_some() {
        reports.set_servers(leases.names().into_iter().map(|name| (name, 0)).collect());
    }
    if !lost.is_empty() {
        let progress = lost::unasked(&lost, share.name());
        desired.conditions.note(lost::CONDITION, &progress);
        desired.requeue_at(after(RARELY, observed));
    }
    Computes::without(Lookup::Missing, lost)
}

impl Computes {
    /// Without an answer of Nova.
    fn without(services: Lookup<BTreeMap<String, Service>>, lost: BTreeSet<String>) -> Self {
        Self {
            lost,
            services,
            access: None,
            inside: None,
            isolating: None,
            listed: None,
        }
    }

    /// Whether Nova soon lists a leased node that it lacks, or a nova-compute enables its own service: it disables that while libvirt is away,
    /// and enables it once libvirt is back (nova/virt/libvirt/driver.py, `_set_host_enabled`).
    fn changes_soon(&self, leases: &Leases) -> bool {
        let Lookup::Found(services) = &self.services else {
            return false;
        };
        let mut leased = leases.in_phase(LeasePhase::Leased);
        leased.any(|node| {
            let name = &node.metadata.name;
            let listed = self.listed.as_ref();
            let reason = services
                .get(name)
                .and_then(|service| service.disabled.as_deref());
            listed.is_some_and(|listed| !listed.contains(name))
                || reason.is_some_and(|reason| reason.starts_with(DISABLED_BY_ITSELF))
        })
    }
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
    ) {
        let asked = asked(leases, reports, observed.now());
        let leftovers = self.leftovers(&asked, leases, reports, observed);
        if let Some(progress) = leftovers.as_ref().and_then(|left| left.progress.as_ref()) {
            desired.conditions.note(leftovers::CONDITION, progress);
        }
        for node in leases.nodes() {
            let name = node.metadata.name.as_str();
            match (nodes::phase(node), self.services.get(name)) {
                (LeasePhase::Leased, Some(service)) if service.is_drained() => {
                    let (service, host) = (service.id.clone(), name.to_owned());
                    self.call(Change::Enable { service, host }, desired);
                }
                (LeasePhase::Leased | LeasePhase::Wiping, _) => {}
                (phase @ (LeasePhase::Draining | LeasePhase::Releasing), Some(service))
                    if service.disabled.is_none()
                        && (phase == LeasePhase::Draining
                            || !reports.evidence(node).has_no_agent) =>
                {
                    let since = nodes::since(node).unwrap_or_default();
                    let change = Change::Disable {
                        service: service.id.clone(),
                        host: name.to_owned(),
                        reason: drained(share.name(), since),
                    };
                    self.call(change, desired);
                }
                (phase, service) if asked.contains(name) => {
                    let Lookup::Found(occupants) = self.occupants(name, observed) else {
                        continue;
                    };
                    let instances = occupants.count();
                    let left = leftovers.as_ref().and_then(|left| left.of_node(name));
                    if let (0, Some(left)) = (instances, left) {
                        for change in left {
                            self.call(change.clone(), desired);
                        }
                        continue;
                    }
                    reports.add(node, service.map(|_| ComputeState::Disabled), instances);
                    // nova-compute registers anew as long as it runs.
                    let is_empty = instances == 0 && reports.evidence(node).has_no_agent;
                    if let Some(service) = service
                        && phase == LeasePhase::Releasing
                        && is_empty
                    {
                        let (service, host) = (service.id.clone(), name.to_owned());
                        self.call(Change::Delete { service, host }, desired);
                    }
                }
                _ => {}
            }
        }
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
}

/// The Nova of a share's control plane. Missing where no nova-compute of this share ever ran.
fn nova(share: &Subject<HypervisorShareSpec>, observed: &ObservedState<'_>) -> Lookup<Api> {
    let access = match access(share, observed) {
        Ok(Some(access)) => access,
        Ok(None) => return Lookup::Missing,
        Err(progress) => return Lookup::Unknown(progress.message().to_owned()),
    };
    match access.read(Question::Services, observed) {
        Lookup::Found(services) => Lookup::Found(Api { access, services }),
        Lookup::Missing => Lookup::Unknown("there is no driver of Nova".to_owned()),
        Lookup::Unknown(why) => Lookup::Unknown(why),
    }
}

/// Whether the nova-compute of every leased node reports to Nova.
fn progress(nova: &Lookup<Api>, leases: &Leases) -> Progress {
    let services = match nova {
        Lookup::Missing => return Progress::Ready,
        Lookup::Unknown(why) => {
            let message = format!(
                "Nova can't be read, so that no node is freed unless spec.computeServices says what is on it: {why}"
            );
            return Progress::waiting(Reason::LookupFailed, message);
        }
        Lookup::Found(api) => &api.services,
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
