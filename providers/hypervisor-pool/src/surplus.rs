//! The servers on the nodes of a share that has more than it is due, by which the pool chooses those to drain.
//!
//! The pool asks by a moment in its status, and the share repeats this moment in its own status once it has counted. So nothing is counted,
//! and no status changes with a server, while no node is given up.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{HypervisorPoolStatus, HypervisorShareSpec, LeasePhase};
use jiff::{SignedDuration, Timestamp};
use provider_composer::Subject;

use crate::assignment::{Division, Node, Servers};

/// How long the pool waits until a share has counted: its Nova may be updated just now. A drain may take months, a choice can wait.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Writes to nodes how many servers are on them, where their share has counted for its present surplus.
pub fn count(
    nodes: &mut [Node],
    shares: &[Subject<HypervisorShareSpec>],
    pool: &HypervisorPoolStatus,
) {
    let asked = asked(pool);
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
    if counted.is_empty() {
        return;
    }
    for node in nodes {
        let servers = node.lease.as_ref().and_then(|lease| {
            let node = (lease.control_plane.as_str(), node.name.as_str());
            counted.get(&node).copied()
        });
        node.servers = servers.map_or(Servers::Unknown, Servers::Known);
    }
}

/// Postpones the drains of shares that haven't counted yet. Returns since when each of them is asked, by its name.
pub fn ask(
    division: &mut Division,
    shares: &[Subject<HypervisorShareSpec>],
    pool: &HypervisorPoolStatus,
    now: Timestamp,
) -> BTreeMap<String, Timestamp> {
    let asked = asked(pool);
    let mut waiting = BTreeMap::new();
    for share in shares {
        let name = share.name();
        if !division.chosen.contains_key(name) || has_counted(share, &asked) {
            continue;
        }
        let since: Option<Timestamp> = asked.get(name).and_then(|since| since.parse().ok());
        // The clock may have been set back.
        let since = since.filter(|since| *since <= now);
        let since = since.unwrap_or_else(|| in_seconds(now));
        if deadline(since) > now {
            division.postpone(name);
            waiting.insert(name.to_owned(), since);
        }
    }
    waiting
}

/// When the pool chooses nodes of a share that has been asked since a moment, even if nothing was counted.
pub fn deadline(since: Timestamp) -> Timestamp {
    since.checked_add(PATIENCE).unwrap_or(Timestamp::MAX)
}

/// The shares that are asked, by name, with the moment since when they are.
fn asked(pool: &HypervisorPoolStatus) -> BTreeMap<&str, &str> {
    let shares = pool.shares.iter();
    let asked = shares.filter_map(|share| {
        let since = share.surplus_since.as_deref()?;
        Some((share.name.as_str(), since))
    });
    asked.collect()
}

fn has_counted(share: &Subject<HypervisorShareSpec>, asked: &BTreeMap<&str, &str>) -> bool {
    let since = asked.get(share.name()).copied();
    since.is_some() && share.status.surplus_counted.as_deref() == since
}

/// A moment as a status has it.
fn in_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}
