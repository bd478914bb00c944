//! The nodes that one share leases.

use std::cmp::Reverse;

use c5c3_api::hypervisor::{
    HypervisorPoolSpec, HypervisorShareSpec, LeasePhase, PoolShare, ShareHost,
};
use c5c3_api::pool::SharingMode;
use provider_composer::{Failure, Live, ObservedState, Progress, Reason, Subject, named};

use crate::assignment::State;
use crate::drain::Reports;
use crate::lifecycle::{Step, step};
use crate::nodes::{self, Node, ROLE};
use crate::state::only;

/// How many nodes a status has: etcd stores at most 1.5 MB of an object
/// (<https://etcd.io/docs/v3.6/dev-guide/limit/>, request size), and a name has up to 253 bytes.
const REPORTED: usize = 1000;

/// The nodes that one share leases.
pub struct Leases {
    /// In order of their names.
    nodes: Vec<Live<Node>>,
    /// The names of those whose lease doesn't end, and that are dead.
    dead: Vec<String>,
    least: u32,
    due: u32,
    /// Why the share gets no other nodes than those that it has.
    held: Option<Held>,
    /// Since when the pool asks how many servers are on the nodes.
    surplus_since: Option<String>,
    free: u32,
    /// The settings of the pool.
    pub pool: HypervisorPoolSpec,
}

/// Why a share gets no other nodes than those that it has.
#[derive(Clone, Copy)]
enum Held {
    /// Its spec says so.
    Spec,
    /// The pool is dedicated to another share.
    Pool,
}

impl Leases {
    /// The leases of a share, as the nodes' labels say. None for one that is being deleted and has none.
    ///
    /// # Errors
    /// Nodes or pools can't be read, or the pool leases no node to this share.
    pub fn observe(
        subject: &Subject<HypervisorShareSpec>,
        observed: &ObservedState<'_>,
    ) -> Result<Option<Self>, Failure> {
        let nodes = nodes::leased(&subject.spec.control_plane, observed)?;
        if subject.is_deleted() && nodes.is_empty() {
            return Ok(None);
        }
        let pool = only(observed)?;
        let part = match part(subject, &pool) {
            // They are those of the other share.
            Err(failure) if subject.is_deleted() && failure.reason() == Reason::AnotherShare => {
                return Ok(None);
            }
            part => part?,
        };
        let dead = nodes.iter().filter(|node| {
            nodes::phase(node) == LeasePhase::Leased
                && nodes::assignable(node, observed.now()).state == State::Dead
        });
        let dead = dead.map(|node| node.metadata.name.clone()).collect();
        Ok(Some(Self {
            nodes,
            dead,
            least: subject.spec.min_hosts.max(1),
            due: part.map_or(subject.spec.min_hosts, |part| part.due),
            held: part
                .filter(|part| part.held)
                .map(|_| match subject.spec.held {
                    true => Held::Spec,
                    false => Held::Pool,
                }),
            surplus_since: part.and_then(|part| part.surplus_since.clone()),
            free: pool.status.nodes.unwrap_or_default().free,
            pool: pool.spec,
        }))
    }

    /// The nodes, in order of their names.
    pub fn nodes(&self) -> &[Live<Node>] {
        &self.nodes
    }

    /// Since when the pool asks how many servers are on the nodes, to choose those that are drained.
    pub fn surplus_since(&self) -> Option<&str> {
        self.surplus_since.as_deref()
    }

    /// What is reported of the nodes, in order of their names. Of more than [`REPORTED`], those that are nearest to being free: their
    /// reports travel in the status, and those of others follow once these are free. Then those with the fewest servers, where they are
    /// counted.
    pub fn hosts(&self, reports: &Reports) -> Vec<ShareHost> {
        let hosts = self.nodes.iter().map(|node| ShareHost {
            name: node.metadata.name.clone(),
            phase: nodes::phase(node),
            instances: reports.instances(node),
            compute_service: reports.state(node),
            since: nodes::since(node).map(str::to_owned),
        });
        let mut hosts: Vec<ShareHost> = hosts.collect();
        hosts.sort_by_key(|host| {
            let instances = host.instances.unwrap_or(u32::MAX);
            (Reverse(host.phase), instances)
        });
        hosts.truncate(REPORTED);
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        hosts
    }

    /// The names of the nodes, in order.
    pub fn names(&self) -> Vec<String> {
        let names = self.nodes.iter().map(|node| node.metadata.name.clone());
        names.collect()
    }

    /// The number of nodes.
    pub fn count(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// The number of nodes whose lease ends.
    pub fn draining(&self) -> u32 {
        self.count() - self.leased()
    }

    /// The number of nodes whose lease doesn't end.
    pub fn leased(&self) -> u32 {
        let leased = self.in_phase(LeasePhase::Leased).count();
        u32::try_from(leased).unwrap_or(u32::MAX)
    }

    /// The nodes in a phase.
    pub fn in_phase(&self, phase: LeasePhase) -> impl Iterator<Item = &Live<Node>> {
        let nodes = self.nodes.iter();
        nodes.filter(move |node| nodes::phase(node) == phase)
    }

    /// The number of nodes without which the share isn't Ready.
    pub fn least(&self) -> u32 {
        self.least
    }

    /// The number of nodes that work, as far as the pool counts them, and whose lease doesn't end.
    fn working(&self) -> u32 {
        let dead = u32::try_from(self.dead.len()).unwrap_or(u32::MAX);
        self.leased().saturating_sub(dead)
    }

    /// The number of nodes that the share is due and doesn't have.
    pub fn pending(&self) -> u32 {
        self.due.saturating_sub(self.working())
    }

    /// Whether no lease ends, or what those that do wait for.
    pub fn drained(&self, reports: &Reports) -> Progress {
        let ending = self
            .nodes
            .iter()
            .filter(|node| nodes::phase(node) != LeasePhase::Leased);
        let (mut waits, mut servers, mut count) = (Vec::new(), 0, 0);
        for node in ending {
            count += 1;
            servers += reports.instances(node).unwrap_or_default();
            if let Step::Stay(blocker) = step(nodes::phase(node), &reports.evidence(node)) {
                waits.push(format!(
                    "{} waits for {}",
                    node.metadata.name,
                    blocker.text()
                ));
            }
        }
        if count == 0 {
            return Progress::Ready;
        }
        let of = self.count();
        let mut message = format!("{count} of {of} nodes are drained; servers left: {servers}");
        if !waits.is_empty() {
            message = format!("{message}: {}", named(&waits, "; "));
        }
        Progress::waiting(Reason::Draining, message)
    }

    /// The internal addresses of the nodes, in order.
    pub fn addresses(&self) -> Vec<String> {
        let addresses = self.nodes.iter().flat_map(|node| node.body.addresses());
        let mut addresses: Vec<String> = addresses.map(str::to_owned).collect();
        addresses.sort();
        addresses
    }

    /// Whether the share has the nodes that it needs at least.
    pub fn progress(&self) -> Progress {
        let (count, least) = (self.working(), self.least);
        if count >= least {
            return Progress::Ready;
        }
        let (work, repair) = match self.dead.as_slice() {
            [] => ("", String::new()),
            dead => (" and work", format!("{}or ", nodes::repair(dead))),
        };
        let message = match self.held {
            Some(Held::Spec) => format!(
                "{count} of {least} nodes are leased{work}, and this share gets no others, because its spec.held is true: {repair}name the \
                 pool in the claim again or allow its namespace in sharing.allowedNamespaces; without a claim, set held to false"
            ),
            Some(Held::Pool) => format!(
                "{count} of {least} nodes are leased{work}, and this share gets no others, because the HypervisorPool is dedicated to \
                 another share: {repair}set the pool's mode to Shared"
            ),
            None if self.free > 0 && !self.dead.is_empty() => format!(
                "{count} of {least} nodes are leased{work}, {} are free: {repair}cordon those that stay away, so that others replace them",
                self.free
            ),
            None => format!(
                "{count} of {least} nodes are leased{work}, {} are free: {repair}give more nodes the label {ROLE}=\"\"",
                self.free
            ),
        };
        Progress::waiting(Reason::WaitingFor("Nodes"), message)
    }

    /// Whether the share has all nodes that it is due.
    pub fn part(&self) -> Progress {
        let (pending, due) = (self.pending(), self.due);
        if pending == 0 {
            return Progress::Ready;
        }
        let message = match (self.dead.as_slice(), self.held) {
            ([], _) => format!(
                "{pending} of {due} nodes that this share is due aren't free: other shares keep theirs, or nodes aren't ready; see \
                 `kubectl get hypervisorpools -o yaml`"
            ),
            (dead, Some(_)) => format!(
                "{pending} of {due} nodes that this share is due don't work: {}since this share gets no others",
                nodes::repair(dead)
            ),
            (dead, None) => format!(
                "{pending} of {due} nodes that this share is due don't work or aren't free: {}or cordon those that stay away, so that \
                 others replace them; see the condition NodesReady of the HypervisorPool",
                nodes::repair(dead)
            ),
        };
        Progress::waiting(Reason::WaitingFor("Nodes"), message)
    }
}

/// What the pool gives a share; none before the pool was divided with it.
fn part<'a>(
    subject: &Subject<HypervisorShareSpec>,
    pool: &'a Subject<HypervisorPoolSpec>,
) -> Result<Option<&'a PoolShare>, Failure> {
    let parts = || pool.status.shares.iter();
    if let Some(part) = parts().find(|part| part.name == subject.name()) {
        return Ok(Some(part));
    }
    let control_plane = &subject.spec.control_plane;
    if let Some(other) = parts().find(|part| part.control_plane == *control_plane) {
        return Err(Failure::new(
            Reason::AnotherShare,
            format!(
                "the HypervisorShare {} leases nodes for {control_plane} already: delete one of the two",
                other.name
            ),
        ));
    }
    // Others only keep the nodes that they have.
    let holder = parts().find(|part| !part.held);
    match holder.or_else(|| parts().next()) {
        Some(other) if pool.spec.mode == SharingMode::Dedicated => Err(Failure::new(
            Reason::PoolDedicated,
            format!(
                "the HypervisorPool {} is dedicated to {}: create the share in the cluster of another pool",
                pool.name(),
                other.control_plane
            ),
        )),
        _ => Ok(None),
    }
}
