//! Divisions of a pool among its shares.

use std::hint::black_box;

use c5c3_api::hypervisor::LeasePhase;
use clap::ValueEnum;
use provider_hypervisor_pool::assignment::{Domain, Lease, Node, Servers, Share, State, divide};

/// The number of shares.
pub const SHARES: usize = 200;

/// The most nodes that a share may have once it is shrunk: all but the thirty with the least weights have more before.
const MOST: u32 = 15;

/// The state of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pool {
    /// No node is leased.
    Free,
    /// The same, where the label of a rack names each node, as it does where it names a blade.
    Blades,
    /// Every share has what it is due.
    Leased,
    /// The same, then every other share was limited, and every tenth of the nodes is drained.
    Shrunk,
}

impl Pool {
    /// The sizes of pools that are divided, in nodes.
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Self::Free => &[1_000, 10_000, 100_000],
            Self::Blades | Self::Leased | Self::Shrunk => &[1_000, 10_000],
        }
    }

    /// Divides a pool of the given number of nodes among 200 shares, the given number of times.
    pub fn divide(self, size: usize, times: usize) {
        let (nodes, shares) = self.of(size);
        for _ in 0..times {
            black_box(divide(black_box(&nodes), black_box(&shares), 1));
        }
    }

    /// The nodes and the shares.
    pub fn of(self, size: usize) -> (Vec<Node>, Vec<Share>) {
        let (mut nodes, mut shares) = free(size);
        if self == Self::Blades {
            for node in &mut nodes {
                node.domain.rack.clone_from(&node.name);
            }
        }
        if matches!(self, Self::Free | Self::Blades) {
            return (nodes, shares);
        }
        let mut granted = divide(&nodes, &shares, 1).granted;
        for (index, node) in nodes.iter_mut().enumerate() {
            let phase = match self == Self::Shrunk && index % 10 == 0 {
                true => LeasePhase::Draining,
                false => LeasePhase::Leased,
            };
            let control_plane = granted.remove(&node.name);
            node.lease = control_plane.map(|control_plane| Lease {
                control_plane,
                phase,
            });
        }
        if self == Self::Shrunk {
            for share in shares.iter_mut().step_by(2) {
                share.max_hosts = Some(MOST);
            }
        }
        (nodes, shares)
    }
}

fn free(size: usize) -> (Vec<Node>, Vec<Share>) {
    let nodes = (0..size).map(|index| Node {
        name: format!("node-{index:06}"),
        lease: None,
        state: State::Available,
        domain: Domain {
            zone: format!("zone-{}", index % 3),
            rack: format!("rack-{:03}", index / 40),
        },
        servers: Servers::Known(u32::try_from(index % 50).unwrap_or_default()),
    });
    let shares = (1..=SHARES).map(|index| Share {
        created: format!("2026-01-01T{:02}:{:02}:00Z", index / 60, index % 60),
        name: format!("share-{index:03}"),
        control_plane: format!("control-plane-{index:03}"),
        weight: u32::try_from(index).unwrap_or(u32::MAX),
        min_hosts: 1,
        max_hosts: None,
        is_held: false,
    });
    (nodes.collect(), shares.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nodes that a division of 10,000 leases, drains and no longer drains.
    fn changes(pool: Pool) -> [usize; 3] {
        let (nodes, shares) = pool.of(10_000);
        let division = divide(&nodes, &shares, 1);
        assert_eq!(division.parts.len(), SHARES);
        [
            division.granted.len(),
            division.drained.len(),
            division.resumed.len(),
        ]
    }

    #[test]
    fn all_free_nodes_but_the_reserve_are_leased() {
        for pool in [Pool::Free, Pool::Blades] {
            assert_eq!(changes(pool), [9_999, 0, 0], "{pool:?}");
        }
    }

    #[test]
    fn leased_nodes_stay() {
        assert_eq!(changes(Pool::Leased), [0, 0, 0]);
    }

    #[test]
    fn surplus_of_a_shrunk_pool_is_drained_and_others_take_their_nodes_back() {
        let [leased, drained, resumed] = changes(Pool::Shrunk);
        assert_eq!(leased, 0);
        assert!(drained > 2_000 && resumed > 300, "{drained}, {resumed}");
    }
}
