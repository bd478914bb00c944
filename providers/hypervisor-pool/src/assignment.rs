//! Which share leases which node, as a pure function.
//!
//! A cluster with one share leases it every hypervisor, up to the share's `maxHosts` and the pool's reserve. With more than one
//! share no further node is leased. A lease never ends and never moves.

use std::collections::BTreeMap;

/// A node with the role of a hypervisor, or with a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The control plane that leases it.
    pub lease: Option<String>,
}

/// A share, as far as it counts for leases. Shares are ordered by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// When it was created, RFC 3339.
    pub created: String,
    /// Its name.
    pub name: String,
    /// The control plane that it leases nodes for.
    pub control_plane: String,
    /// The number of nodes that it never exceeds.
    pub max_hosts: Option<u32>,
}

/// Returns the share of each leased node, by the node's name. `reserve` nodes stay free.
pub fn assign(nodes: &[Node], shares: &[Share], reserve: u32) -> BTreeMap<String, String> {
    let mut shares: Vec<&Share> = shares.iter().collect();
    shares.sort();
    let holder = |lease: &str| shares.iter().find(|share| share.control_plane == lease);
    let leased = nodes.iter().filter_map(|node| {
        let share = holder(node.lease.as_deref()?)?;
        Some((node.name.clone(), share.name.clone()))
    });
    let mut leases: BTreeMap<String, String> = leased.collect();
    let [only] = shares.as_slice() else {
        return leases;
    };
    let reserve = usize::try_from(reserve).unwrap_or(usize::MAX);
    let most = only.max_hosts.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    let limit = most.min(nodes.len().saturating_sub(reserve));
    let mut free: Vec<&Node> = nodes.iter().filter(|node| node.lease.is_none()).collect();
    free.sort();
    let room = limit.saturating_sub(leases.len());
    leases.extend(
        free.into_iter()
            .take(room)
            .map(|node| (node.name.clone(), only.name.clone())),
    );
    leases
}
