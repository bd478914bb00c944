//! Which hosts a Nova is asked about in one reconcile. Nodes may be drained for weeks.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::LeasePhase;
use jiff::Timestamp;
use provider_openstack::digest;

use crate::drain::Reports;
use crate::leases::Leases;
use crate::nodes;
use crate::nova::VALID;

/// How many hosts of an aggregate are asked about, added or removed in one reconcile.
pub const AT_ONCE: usize = 32;
/// How many hosts a Nova is asked about in one reconcile because they are nearest to being free.
pub const NEAREST: usize = 4;
/// How many of the others it is asked about, drawn anew each time.
pub const DRAWN: usize = 4;

/// The nodes that Nova is asked about: first those whose agents stop, then those without a domain. Some of the others are drawn, so that
/// none waits for those that stay where they are.
pub fn asked(leases: &Leases, reports: &Reports, now: Timestamp) -> BTreeSet<String> {
    let ending = leases.nodes().iter().filter(|node| {
        matches!(
            nodes::phase(node),
            LeasePhase::Draining | LeasePhase::Releasing
        )
    });
    let mut ending: Vec<(bool, bool, &str)> = ending
        .map(|node| {
            let is_draining = nodes::phase(node) == LeasePhase::Draining;
            let has_domain = !reports.evidence(node).has_no_domain;
            (is_draining, has_domain, node.metadata.name.as_str())
        })
        .collect();
    ending.sort_unstable();
    let mut others = ending.split_off(NEAREST.min(ending.len()));
    others.sort_by_cached_key(|(_, _, name)| draw(name, now));
    let asked = ending.into_iter().chain(others.into_iter().take(DRAWN));
    asked.map(|(_, _, name)| name.to_owned()).collect()
}

/// Returns these hosts in order of their names. Where there are more than `most`, so many are drawn, so that none waits for those that stay
/// as they are.
pub fn drawn<'h>(
    hosts: impl IntoIterator<Item = &'h String>,
    most: usize,
    now: Timestamp,
) -> Vec<&'h String> {
    let mut hosts: Vec<&String> = hosts.into_iter().collect();
    if hosts.len() > most {
        hosts.sort_by_cached_key(|host| draw(host, now));
        hosts.truncate(most);
    }
    hosts.sort_unstable();
    hosts
}

/// Returns a node's place among others, of which the first are drawn: another one each time. In any fixed order, a pace could skip the same
/// nodes again and again.
fn draw(node: &str, now: Timestamp) -> String {
    let round = (now.as_second() / i64::from(VALID)).to_string();
    digest([node, &round])
}
