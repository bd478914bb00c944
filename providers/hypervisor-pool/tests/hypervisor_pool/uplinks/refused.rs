//! Interfaces that don't become uplinks.

use std::fs;

use rstest::rstest;

use super::{GATEWAY, NO_GATEWAY, Node, ROUNDS, says};

#[test]
fn interface_is_added_only_after_it_was_idle_in_several_rounds_in_a_row() {
    let node = Node::new();
    assert_eq!(node.rounds("physnet1:br-ex:eth1", ROUNDS - 1), "");
    assert_eq!(node.says(), says("", NO_GATEWAY, false));
    // The node gives it its address while the agent looks.
    node.0.write(
        "between",
        r#"[ "$count" != 2 ] || echo "2: eth1 inet 192.0.2.7/24 scope global eth1" > "$ROOT/addresses/eth1""#,
    );
    let message = node.rounds("physnet1:br-ex:eth1", ROUNDS);
    assert!(
        message.contains("has the address 192.0.2.7/24"),
        "{message}"
    );
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
}

#[test]
fn interface_that_is_missing_for_a_moment_is_not_idle() {
    let node = Node::new();
    let comes_and_goes = r#"
case $count in
    2) rmdir "$ROOT/sys/class/net/eth1" ;;
    3) mkdir "$ROOT/sys/class/net/eth1" ;;
esac
"#;
    node.0.write("between", comes_and_goes);
    node.run("physnet1:br-ex:eth1", 5);
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
}

/// A restart of the agent or of the node, when the interface isn't in use yet.
#[test]
fn interface_that_was_refused_stays_refused_while_the_pool_names_it() {
    let node = Node::new();
    let address = "2: eth1 inet 192.0.2.7/24 scope global eth1\n";
    node.0.write("addresses/eth1", address);
    let message = node.round("physnet1:br-ex:eth1");
    node.0.write("addresses/eth1", "");
    fs::create_dir_all(node.0.path("sys/class/net/eth2")).unwrap();
    for folder in ["tmp", "dev"] {
        fs::remove_dir_all(node.0.path(folder)).unwrap();
        fs::create_dir(node.0.path(folder)).unwrap();
    }
    assert_eq!(
        Some(node.rounds("physnet1:br-ex:eth1", ROUNDS)),
        message,
        "{message:?}"
    );
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
    // Another value of the pool's is another decision.
    node.take("physnet1:br-ex:eth2");
    assert_eq!(node.ports("br-ex"), ["eth2"]);
    assert_eq!(node.option("c5c3-refused-physnet1"), None);
}

#[test]
fn interface_that_was_refused_is_an_uplink_once_somebody_has_added_it() {
    let node = Node::new();
    node.0.write("routes/4", "default via 192.0.2.1 dev eth1\n");
    assert!(node.round("physnet1:br-ex:eth1").is_some());
    node.0.write("switch/bridges/br-ex/eth1", "3");
    assert_eq!(node.round("physnet1:br-ex:eth1"), None);
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
    assert_eq!(node.option("c5c3-refused-physnet1"), None);
}

/// Only what an ended container has left is in the pod's status.
#[test]
fn agent_ends_when_refusals_change_and_then_runs_on() {
    let node = Node::new();
    let networks = "physnet1:br-ex:eth1 physnet2:br-two:";
    node.0.write("routes/4", "default via 192.0.2.1 dev eth1\n");
    let ran = |node: &Node| {
        node.run(networks, 3);
        fs::read_to_string(node.0.path("rounds")).map_or(0, |rounds| rounds.lines().count())
    };
    assert_eq!(ran(&node), 0, "it ends before it sleeps");
    let said = fs::read_to_string(node.0.path("dev/termination-log")).unwrap();
    // A container begins with an empty file.
    node.0.write("dev/termination-log", "");
    assert_eq!(ran(&node), 3);
    assert_eq!(
        fs::read_to_string(node.0.path("dev/termination-log")).unwrap(),
        said,
        "however it ends"
    );
    node.0.write("switch/bridges/br-two/eth2", "4");
    node.0.write("switch/bridges/br-ex/eth1", "3");
    assert_eq!(ran(&node), 0, "nothing is refused any more");
    assert_eq!(
        fs::read_to_string(node.0.path("dev/termination-log")).unwrap(),
        ""
    );
    assert_eq!(
        node.says(),
        says("physnet1:br-ex,physnet2:br-two", GATEWAY, true)
    );
}

#[test]
fn interface_that_open_vswitch_can_not_open_is_removed_and_refused() {
    let node = Node::new();
    node.0.write("number", "-1");
    let error = r#""could not open network device \"eth1\" (Device or resource busy)""#;
    node.0.write("error", error);
    let message = node.rounds("physnet1:br-ex:eth1", ROUNDS);
    let expected = "the network interface eth1 can't be opened by Open vSwitch: could not open network device eth1 (Device or resource \
                    busy), so that it isn't made the uplink of physnet1: ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
    assert_eq!(node.says(), says("", NO_GATEWAY, false));
    // It isn't tried again and again.
    fs::remove_file(node.0.path("switch/added")).unwrap();
    assert_eq!(node.rounds("physnet1:br-ex:eth1", ROUNDS), message);
    assert!(!node.0.path("switch/added").exists());
}

/// Whatever the node is reached by stays the node's own.
#[rstest]
#[case::address(
    "addresses/eth1",
    "2: eth1 inet 192.0.2.7/24 brd 192.0.2.255 scope global eth1\n",
    "has the address 192.0.2.7/24"
)]
#[case::address_of_another_scope(
    "addresses/eth1",
    "2: eth1    inet 169.254.0.7/16 scope link eth1\\       valid_lft forever\n",
    "has the address 169.254.0.7/16"
)]
#[case::address_of_ipv6(
    "addresses/eth1",
    "2: eth1 inet6 fe80::1/64 scope link\n2: eth1 inet6 2001:db8::7/64 scope global\n",
    "has the address 2001:db8::7/64"
)]
#[case::default_route(
    "routes/4",
    "default via 192.0.2.1 dev eth1\n",
    "has the route default"
)]
#[case::route_of_another_table(
    "routes/4",
    "198.51.100.0/24 dev eth1 table 77 scope link\n",
    "has the route 198.51.100.0/24"
)]
#[case::one_of_several_next_hops(
    "routes/4",
    "default proto bird \\\tnexthop via 192.0.2.3 dev eth2 weight 1 \\\tnexthop via 192.0.2.1 dev eth1 weight 1\n",
    "has the route default"
)]
#[case::route_of_ipv6(
    "routes/6",
    "multicast ff00::/8 dev eth1 table local proto kernel\n2001:db8::/64 dev eth1 proto ra metric 100 pref medium\n",
    "has the route 2001:db8::/64"
)]
#[case::bond("sys/class/net/eth1/upper_bond0/x", "", "is part of bond0")]
#[case::other_bridge(
    "switch/bridges/br-tunnel/eth1",
    "4",
    "is a port of the bridge br-tunnel"
)]
fn interface_that_the_node_uses_is_not_added(
    #[case] file: &str,
    #[case] text: &str,
    #[case] why: &str,
) {
    let node = Node::new();
    node.0.write(file, text);
    node.0.write("switch/bridges/br-two/eth2", "5");
    let message = format!(
        "the network interface eth1 {why}, so that it isn't made the uplink of physnet1: set interface of physnet1 in the pool to one that \
         the node itself doesn't use or, once this one is free, add it on the node with ovs-vsctl add-port br-ex eth1"
    );
    assert_eq!(
        node.round("physnet1:br-ex:eth1 physnet2:br-two:"),
        Some(message)
    );
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
    assert_eq!(node.says(), says("physnet2:br-two", GATEWAY, false));
}

#[test]
fn interface_of_another_name_in_a_route_is_another_one() {
    let node = Node::new();
    let routes = "default via 192.0.2.1 dev eth1.100\n198.51.100.0/24 via 192.0.2.1 dev eth11\n";
    node.0.write("routes/4", routes);
    node.take("physnet1:br-ex:eth1");
    assert_eq!(node.ports("br-ex"), ["eth1"]);
}

#[rstest]
#[case::routes("routes/4")]
#[case::routes_of_ipv6("routes/6")]
fn interface_that_can_not_be_examined_is_refused_until_it_can(#[case] file: &str) {
    let node = Node::new();
    let routes = fs::read_to_string(node.0.path(file)).unwrap();
    fs::remove_file(node.0.path(file)).unwrap();
    assert_eq!(
        node.rounds("physnet1:br-ex:eth1", ROUNDS),
        "the network interface eth1 can't be examined, so that it isn't made the uplink of physnet1: see the log of this container"
    );
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
    node.0.write(file, &routes);
    node.take("physnet1:br-ex:eth1");
    assert_eq!(node.ports("br-ex"), ["eth1"]);
}

#[test]
fn kernel_without_ipv6_has_no_routes_of_it() {
    let node = Node::new();
    for file in ["routes/6", "proc/net/if_inet6"] {
        fs::remove_file(node.0.path(file)).unwrap();
    }
    node.take("physnet1:br-ex:eth1");
    assert_eq!(node.ports("br-ex"), ["eth1"]);
}

/// The bridge may lead to another network than the pool says.
#[rstest]
#[case::as_before("physnet1:br-ex", "physnet1:br-ex", GATEWAY)]
#[case::never_before("", "", NO_GATEWAY)]
#[case::of_another_bridge("physnet1:br-ex2", "", NO_GATEWAY)]
fn bridge_with_another_uplink_gets_no_second_one_and_no_new_mapping(
    #[case] before: &str,
    #[case] after: &str,
    #[case] options: &str,
) {
    let node = Node::new();
    let file = "switch/external_ids/ovn-bridge-mappings";
    node.0.write(file, &format!("\"{before}\"\n"));
    node.0.write("switch/bridges/br-ex/eth0", "3");
    let message = node.round("physnet1:br-ex:eth1").unwrap();
    assert!(
        message.starts_with(
            "the bridge br-ex has the uplink eth0, so that eth1 isn't added to it: set interface of"
        ),
        "{message}"
    );
    assert_eq!(node.ports("br-ex"), ["eth0"]);
    assert_eq!(node.says(), says(after, options, !after.is_empty()));
}
