//! Which leased nodes work. Ready of a share needs `minHosts` of them, and at least one. Others are named, so that one node of many that is
//! down, restarts or joins doesn't keep the share, and the claim, from being Ready.
//!
//! A node works if a pod of each agent on it is Ready and, where Nova answers, its compute service is up and isn't disabled since it
//! registered, and it is in the share's aggregate or, where the share has none, Nova lists its hypervisor. A pod is Ready only after its
//! checks of the node, and Kubernetes takes that back from pods of a node that doesn't report any more
//! (pkg/controller/nodelifecycle/node_lifecycle_controller.go, `MarkPodsNotReady`).
//!
//! While Nova doesn't answer, pods decide alone, if enough nodes worked when it last answered. No other share becomes Ready without its
//! answer: all of the compute services may be disabled since they registered.
//!
//! A node whose compute service an administrator has disabled is named, and counts as working: that is a choice, and its servers run.
//! Servers start and run without uplinks and nova-migration, which have conditions of their own.
//!
//! What isn't seen here: whether a pod has the newest version, which the agents' own conditions say; and whether a server really starts.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use provider_composer::{DesiredState, Live, Lookup, Metric, Progress, Reason, Subject, named};
use provider_openstack::Prerequisite;

use crate::aggregate::WAITS;
use crate::compute_services::Computes;
use crate::drain::Reports;
use crate::enabling::had_worked;
use crate::leases::Leases;
use crate::nodes::Node;
use crate::nova::Service;
use crate::status::Lacks;

/// The condition: whether all leased nodes work.
const CONDITION: &str = "HostsWorking";

const LEASED: Metric = Metric {
    name: "hypervisor_share_hosts",
    help: "Leased nodes, those that are drained not counted.",
};
const READY: Metric = Metric {
    name: "hypervisor_share_agent_ready_hosts",
    help: "Leased nodes with a Ready pod of an agent.",
};
const UP: Metric = Metric {
    name: "hypervisor_share_compute_services_up",
    help: "Leased nodes whose nova-compute reports to Nova.",
};

/// What is known of the nodes of a share.
pub struct Hosts<'a> {
    /// The agents that servers need. Each node runs a pod of each.
    pub agents: &'a [&'a str],
    /// What nodes lack.
    pub lacks: Prerequisite<Lacks>,
    /// The pods on each node.
    pub reports: &'a Reports,
    /// What Nova has of the nodes.
    pub computes: &'a Computes,
    /// Whether enough nodes worked when Nova last answered, as the status says.
    pub had_worked: bool,
}

/// Why a node doesn't work. What a person has to correct is first. Claims repeat the text, so it has nothing of other control planes, as
/// what a node lacks may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault<'a> {
    /// It lacks something that its agents need.
    Lacks,
    /// No pod of this agent is Ready there.
    Agent(&'a str),
    /// Nova doesn't answer, and too few nodes worked when it last did.
    Unasked,
    /// Its nova-compute doesn't report to Nova.
    Silent,
    /// Its compute service is disabled since it registered.
    New,
    /// Nova doesn't list its hypervisor: servers fail there until the scheduler has found its cell.
    Unlisted,
    /// It isn't in the share's aggregate.
    Outside,
    /// Its compute service is disabled, as by an administrator or by nova-compute without libvirt. It works all the same.
    Disabled,
}

impl Fault<'_> {
    fn reason(self) -> Reason {
        match self {
            Self::Lacks => Reason::RequirementMissing,
            Self::Agent(_) => Reason::Starting,
            Self::Silent => Reason::NotRegistered,
            Self::Unasked | Self::New | Self::Unlisted => Reason::WaitingFor("Nova"),
            Self::Outside => Reason::WaitingFor(WAITS),
            Self::Disabled => Reason::ComputeServiceDisabled,
        }
    }

    fn of(self, node: &str) -> String {
        match self {
            Self::Lacks => format!("{node} lacks something that its agents need"),
            Self::Agent(agent) => format!("{node} has no Ready pod of {agent}"),
            Self::Unasked => format!("Nova can't be asked about {node}"),
            Self::Silent => format!("{node} has no nova-compute that reports to Nova"),
            Self::New => format!("the compute service of {node} is disabled since it registered"),
            Self::Unlisted => format!("Nova doesn't list the hypervisor of {node}"),
            Self::Outside => format!("{node} isn't in Nova's aggregate"),
            Self::Disabled => {
                format!("{node} gets no further servers, because its compute service is disabled")
            }
        }
    }
}

impl Hosts<'_> {
    /// Sets the condition. Ready waits for it while too few nodes work, unless the share is being deleted.
    pub fn report(
        &self,
        share: &Subject<HypervisorShareSpec>,
        leases: &Leases,
        desired: &mut DesiredState,
    ) {
        self.measure(leases, desired);
        let (progress, suffices) = self.progress(leases);
        match suffices || share.is_deleted() {
            true => desired.conditions.note(CONDITION, &progress),
            false => desired.conditions.set(CONDITION, &progress),
        }
    }

    /// Exports how many of the leased nodes run each agent, and on how many nova-compute reports to Nova, as far as both are known.
    fn measure(&self, leases: &Leases, desired: &mut DesiredState) {
        let leased: Vec<_> = leases.in_phase(LeasePhase::Leased).collect();
        let count = |is: &dyn Fn(&Live<Node>) -> bool| {
            let counted = leased.iter().filter(|node| is(node));
            i64::try_from(counted.count()).unwrap_or(i64::MAX)
        };
        desired.gauge(LEASED, &[], count(&|_| true));
        if self.lacks.is_ok() {
            for &agent in self.agents {
                let ready = count(&|node| self.reports.has_ready_pod(node, agent));
                desired.gauge(READY, &[("agent", agent)], ready);
            }
        }
        if let Lookup::Found(services) = &self.computes.services {
            let is_up = |node: &Live<Node>| {
                let service = services.get(&node.metadata.name);
                service.is_some_and(|service| service.is_up)
            };
            desired.gauge(UP, &[], count(&is_up));
        }
    }

    /// Returns whether all leased nodes work, and whether as many do as the share needs.
    fn progress(&self, leases: &Leases) -> (Progress, bool) {
        let lacks = match &self.lacks {
            Ok(lacks) => lacks,
            Err(unknown) => return (unknown.clone(), false),
        };
        let faults: BTreeSet<(Fault<'_>, &str)> = leases
            .in_phase(LeasePhase::Leased)
            .filter_map(|node| Some((self.fault(node, lacks)?, node.metadata.name.as_str())))
            .collect();
        let Some((first, _)) = faults.first() else {
            // Whether there are enough, NodesLeased says.
            return (self.unasked().unwrap_or(Progress::Ready), true);
        };
        let (leased, least) = (leases.leased(), leases.least());
        let broken = faults.iter().filter(|(fault, _)| *fault != Fault::Disabled);
        let broken = u32::try_from(broken.count()).unwrap_or(u32::MAX);
        let working = leased.saturating_sub(broken);
        let names: Vec<String> = faults.iter().map(|(fault, node)| fault.of(node)).collect();
        let message = format!(
            "{working} of {leased} nodes work, and Ready needs {least}: {}. See the other conditions of the HypervisorShare",
            named(&names, ", ")
        );
        let progress = match first {
            Fault::Lacks => Progress::failed(first.reason(), message),
            _ => Progress::waiting(first.reason(), message),
        };
        (progress, broken == 0 || working >= least)
    }

    /// Returns what isn't known of nodes whose agents all run, if Nova can't be asked. The share is Ready all the same.
    fn unasked(&self) -> Option<Progress> {
        let Lookup::Unknown(why) = &self.computes.services else {
            return None;
        };
        let message = format!(
            "a Ready pod of each agent runs on every node, and Nova can't be asked whether nova-compute reports to it: {why}"
        );
        Some(Progress::Unknown { message })
    }

    /// Returns why a node doesn't work, if it doesn't, as far as that is known.
    fn fault(&self, node: &Live<Node>, lacks: &Lacks) -> Option<Fault<'_>> {
        let name = node.metadata.name.as_str();
        let mut agents = self.agents.iter();
        if let Some(agent) = agents.find(|agent| !self.reports.has_ready_pod(node, agent)) {
            // Whether an agent that isn't Ready waits for its check of the node.
            return Some(match lacks.iter().any(|(lacking, _)| lacking == name) {
                true => Fault::Lacks,
                false => Fault::Agent(agent),
            });
        }
        match &self.computes.services {
            Lookup::Found(services) => fault_in_nova(name, services, self.computes),
            Lookup::Unknown(_) if !self.had_worked => Some(Fault::Unasked),
            Lookup::Unknown(_) | Lookup::Missing => None,
        }
    }
}

/// Returns why a node doesn't work as Nova answers, if it doesn't.
fn fault_in_nova(
    name: &str,
    services: &BTreeMap<String, Service>,
    computes: &Computes,
) -> Option<Fault<'static>> {
    let Some(service) = services.get(name).filter(|service| service.is_up) else {
        return Some(Fault::Silent);
    };
    let is_missing =
        |hosts: Option<&BTreeSet<String>>| hosts.is_some_and(|hosts| !hosts.contains(name));
    match &service.disabled {
        Some(_) if service.is_new() => Some(Fault::New),
        _ if is_missing(computes.listed.as_ref()) => Some(Fault::Unlisted),
        _ if is_missing(computes.inside.as_ref()) => Some(Fault::Outside),
        // The operator's own ends with the drain.
        Some(_) if !service.is_drained() => Some(Fault::Disabled),
        _ => None,
    }
}

/// Returns whether enough nodes for Ready work by the answer of Nova, or did by its last one, whatever pods run on them.
pub fn worked(share: &Subject<HypervisorShareSpec>, leases: &Leases, computes: &Computes) -> bool {
    let services = match &computes.services {
        Lookup::Found(services) => services,
        Lookup::Unknown(_) => return had_worked(share),
        Lookup::Missing => return false,
    };
    let working = leases.in_phase(LeasePhase::Leased).filter(|node| {
        let fault = fault_in_nova(&node.metadata.name, services, computes);
        matches!(fault, None | Some(Fault::Disabled))
    });
    let suffices = u32::try_from(working.count()).is_ok_and(|working| working >= leases.least());
    let is_read = computes.inside.is_some() || computes.listed.is_some();
    suffices && (is_read || had_worked(share))
}
