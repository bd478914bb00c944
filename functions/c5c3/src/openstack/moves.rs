//! Moves of servers between the hypervisor pools of one cell of Nova, whose scheduler may choose a host of any of them.

use std::collections::BTreeMap;

use c5c3_api::Reason;
use function_protocol::Response;

use super::Recipe;
use crate::transitions;

/// Whether servers move between all pools of each cell. It isn't set before it has been False.
const BETWEEN_POOLS: &str = "MigrationBetweenPools";

/// What decides to which pools servers move from the nodes of a share.
pub struct Hosts {
    /// Name of the pool.
    pub pool: String,
    /// Nova's cell.
    pub cell: String,
    /// Whether their SSH key is of this share alone; none if that isn't known, or they have no key.
    pub has_own_key: Option<bool>,
    /// Whether servers migrate live between them, with certificates of an authority of this share alone.
    pub is_encrypted: bool,
}

impl Recipe<'_> {
    /// Names the pools between which servers don't move, and what to do. The claim is Ready all the same.
    pub fn migration_between_pools(&self, hosts: &[Hosts], response: &mut Response) {
        let mut cells: BTreeMap<&str, Vec<&Hosts>> = BTreeMap::new();
        for hosts in hosts {
            cells.entry(&hosts.cell).or_default().push(hosts);
        }
        let cells = cells.iter().filter(|(_, pools)| pools.len() > 1);
        let separate: Vec<String> = cells
            .flat_map(|(cell, pools)| [self.separate_keys(cell, pools), separate(cell, pools)])
            .flatten()
            .collect();
        if separate.is_empty() {
            let is_known = hosts.iter().all(|hosts| hosts.has_own_key.is_some());
            let (holds, reason, message) = match is_known && !hosts.is_empty() {
                true => (Some(true), Reason::Ready, ""),
                false => (
                    None,
                    Reason::Waiting,
                    "not every HypervisorShare reports which SSH key its nodes have",
                ),
            };
            return transitions::lapse(response, BETWEEN_POOLS, holds, reason, message);
        }
        let message = separate.join("; ");
        transitions::set(
            response,
            BETWEEN_POOLS,
            false,
            Reason::PoolsSeparate,
            message,
        );
    }

    /// Says which pools of a cell have SSH keys of their own; none if all have that of the cell.
    fn separate_keys(&self, cell: &str, pools: &[&Hosts]) -> Option<String> {
        let own: Vec<&str> = pools
            .iter()
            .filter(|hosts| hosts.has_own_key == Some(true))
            .map(|hosts| hosts.pool.as_str())
            .collect();
        (!own.is_empty()).then(|| {
            format!(
                "resizes and migrations between pools of {cell} fail to and from {own}, whose nodes have SSH keys of their own: have the \
                 platform team upgrade the nova-operator and the hypervisor-pool-operator, if they are of an earlier version, and then \
                 delete the Secret nova-migration of the namespace agents-{share} in {own}, and nodes get the key of {cell}",
                own = own.join(", "),
                share = self.names.control_plane()
            )
        })
    }
}

/// Says between which pools of a cell servers don't migrate live; none if they do so in no pool.
fn separate(cell: &str, pools: &[&Hosts]) -> Option<String> {
    let is_encrypted = pools.iter().any(|hosts| hosts.is_encrypted);
    is_encrypted.then(|| {
        let pools: Vec<&str> = pools.iter().map(|hosts| hosts.pool.as_str()).collect();
        format!(
            "live migrations fail between the pools of {cell}, {}, each of which has an authority of its own: name a host of the server's \
             own pool (openstack server migrate --live-migration --host NODE SERVER)",
            pools.join(", ")
        )
    })
}
