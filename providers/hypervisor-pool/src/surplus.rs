//! The servers on the nodes of a share that has more than it is due, by which the pool chooses those to drain.
//!
//! The pool asks by a moment in its status, and the share repeats this moment in its own status once it has counted. So nothing is counted,
//! and no status changes with a server, while no node is given up.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{HypervisorPoolStatus, HypervisorShareSpec, LeasePhase};
use jiff::{SignedDuration, Timestamp};
use provider_composer::{Progress, Reason, Subject, named};

use crate::assignment::{Division, Node, Servers};

/// How long the pool waits for a share to count servers: without its Nova, no drain ends anyway.
const TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

/// How long after the timeout a question counts. A pool that was reconciled meanwhile has chosen by then, and else asks again.
const OVERDUE: SignedDuration = SignedDuration::from_mins(5);

/// Writes to nodes how many servers are on them, where their share has counted for its present surplus.
pub fn count(
    nodes: &mut [Node],
    shares: &[Subject<HypervisorShareSpec>],
    pool: &HypervisorPoolStatus,
    now: Timestamp,
) {
    let asked = asked(pool, now);
    let mut counted: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for share in shares.iter().filter(|share| has_counted(share, &asked)) {
        let leased = share.status.hosts.iter();
        let leased = leased.filter(|host| host.phase == LeasePhase::Leased);
        for host in leased {
            if let Some(servers) = host.instances {
                let node = (share.spec.control_plane.as_str(), host.name.as_str());
                counted.insert(node, servers);
            }
        }
    }
    for node in nodes {
        let Some(lease) = &node.lease else { continue };
        let name = (lease.control_plane.as_str(), node.name.as_str());
        if let Some(servers) = counted.get(&name) {
            node.servers = Servers::Known(*servers);
        }
    }
}

/// What the pool asks of shares with a surplus.
#[derive(Debug, Default)]
pub struct Questions {
    /// Since when each share is asked, by its name: also one that has counted, until its nodes are drained.
    pub since: BTreeMap<String, Timestamp>,
    /// The shares whose drains are postponed until they have counted.
    pub uncounted: Vec<String>,
}

impl Questions {
    /// When the pool chooses nodes of the first share that doesn't answer.
    pub fn deadline(&self) -> Option<Timestamp> {
        let since = self.uncounted.iter().map(|name| &self.since[name]);
        since.min().map(|since| later(*since, TIMEOUT))
    }

    /// Which shares the pool waits for, if it does.
    pub fn progress(&self) -> Option<Progress> {
        let deadline = self.deadline()?;
        let message = format!(
            "the HypervisorShares {} have more nodes than they are due, and haven't counted the servers on each of them yet: see their \
             condition ComputeServicesUp. At {deadline} nodes are chosen without that",
            named(&self.uncounted, ", ")
        );
        Some(Progress::waiting(Reason::WaitingFor("Nova"), message))
    }
}

/// Postpones the drains of shares that haven't counted yet.
pub fn postpone_uncounted(
    division: &mut Division,
    shares: &[Subject<HypervisorShareSpec>],
    pool: &HypervisorPoolStatus,
    now: Timestamp,
) -> Questions {
    let asked = asked(pool, now);
    let mut questions = Questions::default();
    for share in shares {
        let name = share.name();
        if !division.chosen.contains_key(name) || cannot_be_asked(pool, name) {
            continue;
        }
        let since = asked.get(name).and_then(|since| since.parse().ok());
        let since = since.unwrap_or_else(|| in_seconds(now));
        if !has_counted(share, &asked) && later(since, TIMEOUT) > now {
            division.postpone(name);
            questions.uncounted.push(name.to_owned());
        }
        questions.since.insert(name.to_owned(), since);
    }
    questions
}

/// Whether the pool has asked a share and the question is lost, as with a CustomResourceDefinition that doesn't have the field yet: a
/// surplus that was postponed always has a question.
fn cannot_be_asked(pool: &HypervisorPoolStatus, share: &str) -> bool {
    let mut parts = pool.shares.iter();
    parts.any(|part| part.name == share && part.hosts > part.due && part.surplus_since.is_none())
}

/// The shares that are asked, by name, with the moment since when they are. After a pause of the pool's operator, or a jump of its clock,
/// a question is asked anew.
fn asked(pool: &HypervisorPoolStatus, now: Timestamp) -> BTreeMap<&str, &str> {
    let is_recent = |since: Timestamp| since <= now && now < later(since, TIMEOUT + OVERDUE);
    let shares = pool.shares.iter();
    let asked = shares.filter_map(|share| {
        let since = share.surplus_since.as_deref()?;
        let is_recent = since.parse().is_ok_and(is_recent);
        is_recent.then_some((share.name.as_str(), since))
    });
    asked.collect()
}

fn has_counted(share: &Subject<HypervisorShareSpec>, asked: &BTreeMap<&str, &str>) -> bool {
    let since = asked.get(share.name()).copied();
    since.is_some() && share.status.surplus_counted.as_deref() == since
}

fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// A moment as a status has it.
fn in_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}
