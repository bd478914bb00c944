//! Divisions of a pool among its shares.

use std::hint::black_box;

use provider_hypervisor_pool::assignment::{Domain, Node, Share, State, divide};

/// The sizes of pools that are divided, in nodes.
pub const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const SHARES: usize = 200;

/// Divides a pool of the given number of free nodes among 200 shares, the given number of times.
pub fn repeat(size: usize, times: usize) {
    let (nodes, shares) = pool(size);
    for _ in 0..times {
        black_box(divide(black_box(&nodes), black_box(&shares), 1));
    }
}

fn pool(size: usize) -> (Vec<Node>, Vec<Share>) {
    let nodes = (0..size).map(|index| Node {
        name: format!("node-{index:06}"),
        lease: None,
        state: State::Available,
        domain: Domain {
            zone: format!("zone-{}", index % 3),
            rack: format!("rack-{:03}", index / 40),
        },
    });
    let shares = (1..=SHARES).map(|index| Share {
        created: format!("2026-01-01T{:02}:{:02}:00Z", index / 60, index % 60),
        name: format!("share-{index:03}"),
        control_plane: format!("control-plane-{index:03}"),
        weight: u32::try_from(index).unwrap_or(u32::MAX),
        min_hosts: 1,
        max_hosts: None,
    });
    (nodes.collect(), shares.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_but_the_reserve_are_leased() {
        let (nodes, shares) = pool(1_000);
        let division = divide(&nodes, &shares, 1);
        assert_eq!(
            (division.granted.len(), division.parts.len()),
            (999, SHARES)
        );
    }
}
