//! How many machines a hypervisor pool has: never fewer than its consumers were promised, nor than are in use.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{HypervisorPoolStatus, NodeGroup};
use c5c3_api::{Consumer, HypervisorClusterSpec, HypervisorClusterStatus};
use function_protocol::{Fatal, Request, Response};

use super::{HYPERVISOR, POOL};
use crate::cluster::Cluster;
use crate::cluster::marked::{self, Choice};
use crate::cluster::shoot::{LastSize, Size};
use crate::cluster::size_accepted;
use crate::composite::Composite;
use crate::observed::Observation;
use crate::pools::promised;

/// How many nodes a message names.
const NAMED: usize = 10;

/// Which machines a person may mark.
const CHOICE: Choice = Choice {
    loses: "servers",
    of: "nodes without a lease",
};

/// A group of machines, and what a smaller pool does to it.
struct Group<'a> {
    name: &'a str,
    in_use: u32,
    /// The lower one of its limits that become lower.
    limit: u32,
    /// Its nodes beyond the most machines that it may have, which Gardener deletes.
    deleted: u32,
}

/// The size of a pool. A smaller one is refused while nodes beyond it are in use, or while it isn't known how many are. Where
/// Gardener would delete machines, they must be marked: it deletes the oldest ones otherwise, with the servers on them.
///
/// # Errors
/// The observed Shoot isn't one.
pub fn accepted(
    cluster: &Cluster<'_>,
    claim: &Composite<HypervisorClusterSpec, HypervisorClusterStatus>,
    consumers: &[Consumer],
    request: &Request,
    response: &mut Response,
) -> Result<Size, Fatal> {
    let spec = &claim.spec;
    let last = cluster.last_size(request, HYPERVISOR)?;
    let promised = promised(consumers);
    let needed = match consumers {
        [] => 0,
        _ => promised.saturating_add(spec.sharing.reserve),
    };
    let pool: Observation<HypervisorPoolStatus> = Observation::of(request.observed().get(POOL));
    let pool = pool.synced.then_some(&pool.status);
    let removable = pool.map_or(&[][..], |pool| &pool.removable);
    let groups = pool.and_then(|pool| groups(spec, needed, &last, pool));
    let obstacle = match &groups {
        _ if spec.workers >= last.all.minimum && spec.max_workers >= last.all.maximum => None,
        Some(groups) => in_use(groups).or_else(|| {
            let unmarked = marked::unmarked(&deleted(groups), &CHOICE, &claim.metadata)?;
            Some(unmarked + &candidates(removable))
        }),
        None => Some(
            "the HypervisorPool doesn't report how many nodes of each group of machines are in use"
                .to_owned(),
        ),
    };
    let is_refused = obstacle.is_some() || spec.max_workers < needed;
    let keep = |wanted: u32, last: u32| if is_refused { wanted.max(last) } else { wanted };
    let maximum = keep(spec.max_workers, last.all.maximum);
    let minimum = keep(spec.workers, last.all.minimum)
        .max(needed)
        .min(maximum);

    let size = if spec.workers < needed {
        Err(format!(
            "spec.workers is {}, and the pool keeps {minimum}: its {} consumers were promised {promised} nodes, and {} are in reserve",
            spec.workers,
            consumers.len(),
            spec.sharing.reserve
        ))
    } else if let Some(obstacle) = obstacle {
        Err(format!(
            "spec.workers is {} and spec.maxWorkers {}, and the pool keeps {minimum} to {maximum} machines: {obstacle}",
            spec.workers, spec.max_workers
        ))
    } else {
        let deleted = groups.as_deref().map(deleted);
        Ok(deleted.map_or_else(String::new, |deleted| {
            marked::outdated(&deleted, &claim.metadata)
        }))
    };
    size_accepted(size, response);
    Ok(Size { minimum, maximum })
}

/// The groups of the Shoot with their nodes; none while these aren't known.
fn groups<'a>(
    spec: &HypervisorClusterSpec,
    needed: u32,
    last: &'a LastSize,
    pool: &HypervisorPoolStatus,
) -> Option<Vec<Group<'a>>> {
    let nodes = pool.groups.iter().map(|group| group.nodes);
    let reported = nodes.fold(0, u32::saturating_add);
    // A node of unknown group may be in any.
    pool.node_count.filter(|nodes| *nodes == reported)?;
    let reported: BTreeMap<&str, &NodeGroup> = pool
        .groups
        .iter()
        .map(|group| (group.name.as_str(), group))
        .collect();
    let lower = |size: u32, last: u32| if size < last { size } else { u32::MAX };
    let asked = Size {
        minimum: spec.workers,
        maximum: spec.max_workers,
    };
    // Gardener deletes what the groups don't get, and they get what is needed.
    let given = Size {
        minimum: spec.workers.max(needed).min(spec.max_workers),
        ..asked
    };
    let groups = last.resized(asked).zip(last.resized(given));
    let groups = groups.map(|((name, last, size), (_, _, given))| {
        let (nodes, in_use) = reported
            .get(name)
            .map_or((0, 0), |group| (group.nodes, group.in_use));
        Group {
            name,
            in_use,
            limit: lower(size.minimum, last.minimum).min(lower(size.maximum, last.maximum)),
            deleted: nodes.saturating_sub(given.maximum),
        }
    });
    Some(groups.collect())
}

/// The machines that Gardener deletes.
fn deleted<'a>(groups: &'a [Group<'a>]) -> Vec<marked::Group<'a>> {
    let deleted = groups.iter().map(|group| marked::Group {
        name: group.name,
        deleted: group.deleted,
    });
    deleted.collect()
}

/// Why a smaller pool would be smaller than what is in use.
fn in_use(groups: &[Group<'_>]) -> Option<String> {
    let group = groups.iter().find(|group| group.in_use > group.limit)?;
    let Group {
        name,
        in_use,
        limit,
        ..
    } = group;
    let nodes = match groups {
        [_] => format!("{in_use} nodes are leased or drained"),
        _ => format!(
            "{in_use} nodes of its group {name} are leased or drained, and the group would have {limit} machines"
        ),
    };
    Some(format!(
        "{nodes}; lower the shares of its consumers first, or raise spec.workers and spec.maxWorkers"
    ))
}

/// The first nodes whose machines may be deleted.
fn candidates(removable: &[String]) -> String {
    let named = removable.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<&str>>().join(", ");
    match removable.len() {
        0 => String::new(),
        1..=NAMED => format!("; these nodes have none: {named}"),
        _ => format!(
            "; these nodes have none: {named}, and others in status.removable of the HypervisorPool"
        ),
    }
}
