//! The pool of a cluster: which node is leased to which share.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{
    HypervisorPoolSpec, HypervisorPoolStatus, HypervisorShareSpec, LeasePhase, NodeGroup, PoolShare,
};
use c5c3_api::nova::NovaSpec;
use jiff::Timestamp;
use jiff::civil::DateTime;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{
    Composer, Conditions, Custom, DesiredState, Failure, Live, ObservedState, Progress, Reason,
    Resource, Subject, Use, named,
};

use crate::assignment::{Division, Share, State};
use crate::drain::Reports;
use crate::lifecycle::{Change, changes};
use crate::nodes::{self, FORMER_LEASE, LEASE, Node, PHASE, ROLE, SINCE};
use crate::state::{PoolState, only, shares};
use crate::{dead, lost, recorded, surplus, vlans};

const GIGABYTE: f64 = 1e9;

/// The highest integer that all JSON parsers represent exactly. The kubelet of a node sets its capacity, and the API server would refuse
/// the whole status of the pool with a higher number.
const MOST: f64 = (1_u64 << 53) as f64;

/// Composes HypervisorPools: it alone labels nodes, so that no two shares ever lease the same node.
pub struct HypervisorPool;

impl Composer for HypervisorPool {
    type Spec = HypervisorPoolSpec;
    type Status = HypervisorPoolStatus;
    const OPERATOR: &'static str = "hypervisor-pool-operator";

    fn uses(&self) -> Vec<Use> {
        vec![
            Use::reads(Subject::<HypervisorPoolSpec>::KIND),
            Use::labels(Subject::<HypervisorShareSpec>::KIND),
            Use::reads(Pod::KIND),
            Use::reads(Custom::<NovaSpec>::KIND),
            Use::labels(Node::KIND),
        ]
    }

    fn compose(
        &self,
        subject: &Subject<HypervisorPoolSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<HypervisorPoolStatus, Failure> {
        only(observed)?;
        let nodes = nodes::list(observed)?;
        let owners = shares(observed)?;
        let mut state = PoolState::of(subject, &owners, &nodes, observed.now());
        let questions = surplus::postpone_uncounted(
            &mut state.division,
            &owners,
            &subject.status,
            observed.now(),
        );
        if let Some(deadline) = questions.deadline() {
            desired.requeue_at(deadline);
        }
        if let Some(progress) = questions.progress() {
            desired.conditions.note("SurplusCounted", &progress);
        }
        let (shares, division) = (&state.shares, &state.division);
        let reports = reports(&owners, &nodes, observed);
        let evidence = |index: usize| {
            let node = &nodes[index];
            Some(reports.get(nodes::lease(node)?)?.evidence(node))
        };
        let changes = changes(&state.nodes, division, evidence);
        let reported = LazyCell::new(|| reported(&owners));
        for node in &nodes {
            let name = node.metadata.name.as_str();
            let date = |lease: &str| {
                let reported = reported.get(&(lease, name)).copied();
                nodes::moment(node, reported, observed.now())
            };
            write(node, changes.get(name), date, desired);
        }
        let counted = owners.iter();
        let counted = counted.filter(|share| division.parts.contains_key(share.name()));
        vlans::label(&subject.spec, &counted.collect::<Vec<_>>(), desired);
        let minima = minima(shares, division, &state.dead());
        desired.conditions.set("MinHostsLeased", &minima);
        dead::report(&nodes, &state, &mut desired.conditions);
        without_share(&nodes, shares, &mut desired.conditions);
        report_returned(&state, &owners, &mut desired.conditions);
        // Nothing in the cluster changes when a node becomes dead.
        let unready = nodes
            .iter()
            .zip(&state.nodes)
            .filter(|(_, node)| node.state == State::Unready);
        let moments = unready.filter_map(|(node, _)| node.body.dead_at());
        if let Some(moment) = moments.min() {
            desired.requeue_at(moment);
        }
        let free = nodes
            .iter()
            .zip(&state.nodes)
            .filter(|(_, node)| node.state == State::Available && !state.is_in_use(node));
        let free: Vec<&Live<Node>> = free.map(|(node, _)| node).collect();
        let sum = |resource: &str, unit: f64| -> u64 {
            let amounts = free.iter().map(|node| node.body.capacity(resource));
            (amounts.sum::<f64>() / unit).min(MOST) as u64
        };
        Ok(HypervisorPoolStatus {
            node_count: Some(count(nodes.len())),
            nodes: Some(state.counts()),
            groups: groups(&nodes, &state),
            removable: state.removable().into_iter().map(str::to_owned).collect(),
            free_vcpus: Some(sum("cpu", 1.0)),
            free_memory_gb: Some(sum("memory", GIGABYTE)),
            shares: parts(shares, division, &questions.since),
            conditions: Vec::new(),
        })
    }
}

/// What is known of nodes whose lease ends, by control plane.
fn reports<'a>(
    shares: &'a [Subject<HypervisorShareSpec>],
    nodes: &'a [Live<Node>],
    observed: &ObservedState<'_>,
) -> BTreeMap<&'a str, Reports> {
    let ending = nodes
        .iter()
        .filter(|node| nodes::phase(node) != LeasePhase::Leased);
    let ending: BTreeSet<&str> = ending.filter_map(nodes::lease).collect();
    let mut reports = BTreeMap::new();
    for share in shares {
        let control_plane = share.spec.control_plane.as_str();
        // The eldest share of a control plane runs its agents.
        if ending.contains(control_plane) && !reports.contains_key(control_plane) {
            reports.insert(control_plane, Reports::of_status(share, observed));
        }
    }
    reports
}

/// When the latest lease or drain of each node began that the share of a control plane reports, by control plane and node: its status may
/// still be of a lease that has ended, and a report of a person stays in its spec. Only reports of the share that leases a node count.
fn reported(shares: &[Subject<HypervisorShareSpec>]) -> BTreeMap<(&str, &str), DateTime> {
    let mut latest: BTreeMap<(&str, &str), DateTime> = BTreeMap::new();
    for share in shares {
        let hosts = share.status.hosts.iter();
        let hosts = hosts.filter_map(|host| Some((host.name.as_str(), host.since.as_deref()?)));
        let services = share.spec.compute_services.iter();
        let services = services.map(|service| (service.name.as_str(), service.since.as_str()));
        for (name, since) in hosts.chain(services) {
            if let Some(since) = nodes::parsed(since) {
                let known = latest
                    .entry((share.spec.control_plane.as_str(), name))
                    .or_insert(since);
                *known = since.max(*known);
            }
        }
    }
    latest
}

/// Writes a change of the lease of a node that is as it was observed. `date` is that of a new lease or drain for a control plane.
fn write(
    node: &Live<Node>,
    change: Option<&Change>,
    date: impl Fn(&str) -> String,
    desired: &mut DesiredState,
) {
    let mut label = |labels: &[(&str, Option<&str>)]| desired.label::<Node>(&node.metadata, labels);
    let lease = nodes::lease(node).unwrap_or_default();
    match change {
        Some(Change::Lease(control_plane)) => label(&[
            (LEASE, Some(control_plane)),
            (PHASE, None),
            (SINCE, Some(&date(control_plane))),
        ]),
        Some(Change::Enter(LeasePhase::Leased)) => {
            label(&[(PHASE, None), (SINCE, Some(&date(lease)))]);
        }
        Some(Change::Enter(phase @ LeasePhase::Draining)) => {
            label(&[(PHASE, Some(phase.name())), (SINCE, Some(&date(lease)))]);
        }
        Some(Change::Enter(phase)) => label(&[(PHASE, Some(phase.name()))]),
        Some(Change::Free) => label(&[
            (LEASE, None),
            (PHASE, None),
            (SINCE, None),
            (FORMER_LEASE, None),
        ]),
        // Someone leased the node or began the drain by hand: without a date no report would be of it, and nothing would tell that the
        // node was leased if it lost the label of its lease.
        None if nodes::lease(node).is_some() && nodes::since(node).is_none() => {
            label(&[(SINCE, Some(&date(lease)))]);
        }
        None => {}
    }
}

/// Whether every share has its `minHosts`.
fn minima(shares: &[Share], division: &Division, dead: &[&str]) -> Progress {
    let (mut missing, mut unreplaced) = (0, 0);
    let mut names = Vec::new();
    for share in shares {
        let Some(part) = division.parts.get(&share.name) else {
            continue;
        };
        let most = match share.is_held {
            // It gets no others.
            true => count(part.due.saturating_sub(part.unreplaced)),
            false => share.max_hosts.unwrap_or(u32::MAX),
        };
        let least = share.min_hosts.min(most);
        let has = count(part.hosts);
        if has < least {
            missing += least - has;
            unreplaced += part.unreplaced;
            names.push(format!("{} ({has} of {least})", share.name));
        }
    }
    if names.is_empty() {
        return Progress::Ready;
    }
    if unreplaced > 0 {
        let message = format!(
            "too few nodes work for minHosts of the HypervisorShares {}, and some of those that are down aren't replaced: {}or cordon those \
             that stay away. See the condition NodesReady",
            named(&names, ", "),
            nodes::repair(dead)
        );
        return Progress::failed(Reason::NodeNotReady, message);
    }
    Progress::failed(
        Reason::Overcommitted,
        format!(
            "no free node is left for minHosts of the HypervisorShares {}: {}give {missing} more nodes the label {ROLE}=\"\", or \
             lower minHosts",
            named(&names, ", "),
            nodes::repair(dead)
        ),
    )
}

/// Reports leases of control planes that no share names, and nodes that have lost the label of their lease. Neither is leased to another.
fn without_share(nodes: &[Live<Node>], shares: &[Share], conditions: &mut Conditions) {
    let known: BTreeSet<&str> = shares
        .iter()
        .map(|share| share.control_plane.as_str())
        .collect();
    let held = nodes.iter().filter_map(|node| {
        let lease = nodes::lease(node).filter(|lease| !known.contains(lease))?;
        Some(format!("{} ({lease})", node.metadata.name))
    });
    let held: Vec<String> = held.collect();
    let unlabelled = nodes.iter().filter_map(|node| {
        let label = nodes::former_lease(node)?;
        Some(format!("{} ({label})", node.metadata.name))
    });
    let unlabelled: Vec<String> = unlabelled.collect();
    let mut messages = Vec::new();
    if !held.is_empty() {
        messages.push(format!(
            "no HypervisorShare is for the control plane of the nodes {}: create it again or, where no server is left on a \
             node, remove the node's labels {LEASE} and {SINCE}",
            named(&held, ", ")
        ));
    }
    if !unlabelled.is_empty() {
        messages.push(format!(
            "these nodes have no label {LEASE}, but the one of a lease in brackets: {}. Set {LEASE} to the control plane that leased \
             them or, where no server is left on a node, remove the label in brackets",
            named(&unlabelled, ", ")
        ));
    }
    if !messages.is_empty() {
        let progress = Progress::failed(Reason::LeaseWithoutShare, messages.join("; "));
        conditions.note("LeasesHaveShares", &progress);
    }
}

/// Reports nodes that came back without a lease and that a share has lost. The pool gives none of them up, and whoever administrates the Nova
/// of that control plane, as its tenant may, decides how long that lasts. Reports too that any node may be one of them.
fn report_returned(
    state: &PoolState,
    owners: &[Subject<HypervisorShareSpec>],
    conditions: &mut Conditions,
) {
    let mut names = Vec::new();
    for share in owners {
        let returned = share.status.lost.iter();
        let returned = returned.filter(|name| state.returned.contains(*name));
        names.extend(returned.map(|name| format!("{name} ({})", share.name())));
    }
    let mut messages = Vec::new();
    if !names.is_empty() {
        messages.push(format!(
            "these nodes came back without a lease, and the pool gives up no machine of them while the HypervisorShare in brackets has lost \
             them: {}. See its condition LostNodesRemoved. Whoever administrates Nova there, as a tenant may, decides how long that lasts. {}, \
             with the name of that share as NAME",
            named(&names, ", "),
            lost::removed_by_hand("NAME")
        ));
    }
    let full = owners.iter().filter(|share| recorded::is_full(share));
    let full: Vec<&str> = full.map(Subject::name).collect();
    if !full.is_empty() {
        messages.push(format!(
            "status.lost has no room for more nodes in the HypervisorShares {}, so that any node without a lease may be one that they lost, \
             and the pool gives up no machine: see their condition LostNodesRemoved",
            named(&full, ", ")
        ));
    }
    if !messages.is_empty() {
        let progress = Progress::failed(Reason::NodeLost, messages.join("; "));
        conditions.note("ReturnedNodesEmpty", &progress);
    }
}

/// The nodes of each group of machines, by name.
fn groups(nodes: &[Live<Node>], state: &PoolState) -> Vec<NodeGroup> {
    let mut groups: BTreeMap<&str, NodeGroup> = BTreeMap::new();
    for (node, assignable) in nodes.iter().zip(&state.nodes) {
        let Some(name) = nodes::group(node) else {
            continue;
        };
        let group = groups.entry(name).or_insert_with(|| NodeGroup {
            name: name.to_owned(),
            ..NodeGroup::default()
        });
        group.nodes += 1;
        group.in_use += u32::from(state.is_in_use(assignable));
    }
    groups.into_values().collect()
}

fn parts(
    shares: &[Share],
    division: &Division,
    asked: &BTreeMap<String, Timestamp>,
) -> Vec<PoolShare> {
    let parts: BTreeMap<&str, &Share> = shares
        .iter()
        .map(|share| (share.name.as_str(), share))
        .collect();
    let parts = parts.into_iter().filter_map(|(name, share)| {
        let part = division.parts.get(name)?;
        Some(PoolShare {
            name: name.to_owned(),
            control_plane: share.control_plane.clone(),
            hosts: count(part.hosts),
            draining: count(part.draining),
            due: count(part.due),
            held: share.is_held,
            surplus_since: asked.get(name).map(Timestamp::to_string),
        })
    });
    parts.collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
