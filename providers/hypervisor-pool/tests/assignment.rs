//! Properties of the assignment of nodes to shares.

use std::collections::BTreeMap;

use proptest::prelude::*;
use provider_hypervisor_pool::assignment::{Node, Share, assign};

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let lease = prop::option::of(0..4_u8);
    prop::collection::btree_map(0..20_u8, lease, 0..12).prop_map(|nodes| {
        let node = |(name, lease): (u8, Option<u8>)| Node {
            name: format!("node-{name}"),
            lease: lease.map(|lease| format!("plane-{lease}")),
        };
        nodes.into_iter().map(node).collect()
    })
}

fn shares() -> impl Strategy<Value = Vec<Share>> {
    let share = (0..4_u8, 0..3_u8, prop::option::of(0..8_u32));
    prop::collection::btree_map(0..6_u8, share, 0..4).prop_map(|shares| {
        let share = |(name, (plane, created, max_hosts))| Share {
            created: format!("2026-01-0{created}T00:00:00Z"),
            name: format!("share-{name}"),
            control_plane: format!("plane-{plane}"),
            max_hosts,
        };
        shares.into_iter().map(share).collect()
    })
}

/// The nodes once the leases are written.
fn leased(nodes: &[Node], shares: &[Share], leases: &BTreeMap<String, String>) -> Vec<Node> {
    let lease = |node: &Node| {
        let share = shares
            .iter()
            .find(|share| leases.get(&node.name) == Some(&share.name));
        share
            .map(|share| share.control_plane.clone())
            .or_else(|| node.lease.clone())
    };
    let each = nodes.iter();
    each.map(|node| Node {
        lease: lease(node),
        ..node.clone()
    })
    .collect()
}

proptest! {
    #[test]
    fn leases_never_move(nodes in nodes(), shares in shares(), reserve in 0..3_u32) {
        let leases = assign(&nodes, &shares, reserve);
        let after = leased(&nodes, &shares, &leases);
        for (node, now) in nodes.iter().zip(&after) {
            prop_assert!(node.lease.is_none() || node.lease == now.lease);
        }
        prop_assert_eq!(assign(&after, &shares, reserve), leases);
    }

    #[test]
    fn order_of_input_does_not_count(nodes in nodes(), shares in shares(), reserve in 0..3_u32) {
        let reversed = |nodes: &[Node]| nodes.iter().rev().cloned().collect::<Vec<_>>();
        let others: Vec<Share> = shares.iter().rev().cloned().collect();
        prop_assert_eq!(
            assign(&nodes, &shares, reserve),
            assign(&reversed(&nodes), &others, reserve)
        );
    }

    #[test]
    fn several_shares_lease_no_further_node(nodes in nodes(), shares in shares()) {
        prop_assume!(shares.len() > 1);
        let leases = assign(&nodes, &shares, 0);
        let further = nodes.iter().filter(|node| node.lease.is_none() && leases.contains_key(&node.name));
        prop_assert_eq!(further.count(), 0);
    }
}

#[test]
fn only_share_leases_every_node_up_to_its_limits() {
    let nodes: Vec<Node> = ["c", "a", "b"]
        .map(|name| Node {
            name: name.to_owned(),
            lease: None,
        })
        .into();
    let share = |max_hosts| Share {
        created: String::new(),
        name: "share".to_owned(),
        control_plane: "plane".to_owned(),
        max_hosts,
    };
    let leased = |max_hosts, reserve| {
        let leases = assign(&nodes, &[share(max_hosts)], reserve);
        leases.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(leased(None, 0), ["a", "b", "c"]);
    assert_eq!(leased(Some(2), 0), ["a", "b"]);
    assert_eq!(leased(None, 2), ["a"]);
    assert_eq!(leased(Some(2), 5), [""; 0]);
}
