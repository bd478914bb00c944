//! The end of a node's lease, as a pure state machine: Leased, Draining, Releasing, Wiping, free.
//!
//! Each step needs a report of the present state. What could not be read is no report, so that it ends no lease.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::LeasePhase;

use crate::assignment::{Division, Node};

/// What is reported of a node whose lease ends. Nothing, unless it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The node is Ready. Reports from one that isn't are those of an earlier state.
    pub is_ready: bool,
    /// What Nova reports.
    pub nova: Nova,
    /// The node's libvirt has no domain.
    pub has_no_domain: bool,
    /// No agent runs on the node any more.
    pub has_no_agent: bool,
    /// Everything that the agents left on the node is deleted.
    pub is_wiped: bool,
}

/// What Nova reports of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nova {
    /// Nothing about this drain.
    #[default]
    Silent,
    /// The compute service is disabled, and so many servers are left.
    Disabled(u32),
    /// Compute service, resource provider and chassis don't exist.
    Removed,
}

/// What happens to a node next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It stays in its phase.
    Stay(Blocker),
    /// It enters a phase.
    Enter(LeasePhase),
    /// Its lease ends.
    Free,
}

/// What changes on a node. Each change is one write, so that an operator that is killed leaves no node in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A control plane leases it.
    Lease(String),
    /// Its lease enters a phase.
    Enter(LeasePhase),
    /// Its lease ends.
    Free,
}

/// Returns what changes on each node, by name. `evidence` has what is reported of the node of an index whose lease ends, or nothing
/// where no share reports of it.
pub fn changes(
    nodes: &[Node],
    division: &Division,
    evidence: impl Fn(usize) -> Option<Evidence>,
) -> BTreeMap<String, Change> {
    let enter = |names: &BTreeSet<String>, phase| {
        let names = names.iter().cloned();
        names
            .map(|name| (name, Change::Enter(phase)))
            .collect::<Vec<_>>()
    };
    let granted = division.granted.iter();
    let mut changes: BTreeMap<String, Change> = granted
        .map(|(name, control_plane)| (name.clone(), Change::Lease(control_plane.clone())))
        .collect();
    changes.extend(enter(&division.drained, LeasePhase::Draining));
    changes.extend(enter(&division.resumed, LeasePhase::Leased));
    for (index, node) in nodes.iter().enumerate() {
        let Some(lease) = &node.lease else { continue };
        if lease.phase == LeasePhase::Leased || changes.contains_key(&node.name) {
            continue;
        }
        let change = match evidence(index).map(|evidence| step(lease.phase, &evidence)) {
            Some(Step::Enter(phase)) => Change::Enter(phase),
            Some(Step::Free) => Change::Free,
            Some(Step::Stay(_)) | None => continue,
        };
        changes.insert(node.name.clone(), change);
    }
    changes
}

/// What a node whose lease ends waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocker {
    /// The node is Ready again.
    Node,
    /// Nova has disabled the compute service.
    Disabled,
    /// So many servers are deleted or moved.
    Servers(u32),
    /// libvirt reports that it has no domain.
    Domains,
    /// Agents have stopped.
    Agents,
    /// Nova has deleted the compute service, and Placement has no resource provider of it.
    Removed,
    /// The node is wiped.
    Wipe,
}

/// Returns what happens to a node whose lease ends.
pub fn step(phase: LeasePhase, evidence: &Evidence) -> Step {
    if !evidence.is_ready {
        return Step::Stay(Blocker::Node);
    }
    match phase {
        // Division drains it.
        LeasePhase::Leased => Step::Enter(LeasePhase::Draining),
        LeasePhase::Draining => match evidence.nova {
            Nova::Silent => Step::Stay(Blocker::Disabled),
            Nova::Disabled(servers @ 1..) => Step::Stay(Blocker::Servers(servers)),
            _ if !evidence.has_no_domain => Step::Stay(Blocker::Domains),
            Nova::Disabled(0) | Nova::Removed => Step::Enter(LeasePhase::Releasing),
        },
        // Scheduled before the compute service was disabled, or by an administrator who names the host.
        LeasePhase::Releasing if matches!(evidence.nova, Nova::Disabled(1..)) => {
            Step::Enter(LeasePhase::Draining)
        }
        // nova-compute and ovn-controller register anew as long as they run.
        LeasePhase::Releasing if !evidence.has_no_agent => Step::Stay(Blocker::Agents),
        LeasePhase::Releasing => match evidence.nova {
            Nova::Removed => Step::Enter(LeasePhase::Wiping),
            _ => Step::Stay(Blocker::Removed),
        },
        LeasePhase::Wiping if evidence.is_wiped => Step::Free,
        LeasePhase::Wiping => Step::Stay(Blocker::Wipe),
    }
}

impl Blocker {
    /// What is waited for, in words.
    pub fn text(self) -> String {
        match self {
            Self::Node => "the node to be Ready, or its Node to be deleted".to_owned(),
            Self::Disabled => {
                "its compute service to be disabled and Nova to say what is on it: see the condition ComputeServicesUp".to_owned()
            }
            Self::Servers(1) => "1 server to be deleted or moved".to_owned(),
            Self::Servers(count) => format!("{count} servers to be deleted or moved"),
            Self::Domains => "the DaemonSet drain to report that libvirt has no domain".to_owned(),
            Self::Agents => "its agents to stop".to_owned(),
            Self::Removed => {
                "its compute service, resource provider and chassis to be deleted: see the conditions ComputeServicesUp and \
                 ResourceProvidersChecked"
                    .to_owned()
            }
            Self::Wipe => "the DaemonSet wipe to report that it is wiped".to_owned(),
        }
    }
}
