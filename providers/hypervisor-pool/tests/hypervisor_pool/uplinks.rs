//! Which physical networks a node reaches, as a script on a node of files, and what a share says of it.

use std::fs;
use std::process::Output;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::Key;
use provider_composer_testing::Cluster;
use rstest::rstest;
use serde_json::{Value, json};

use crate::fixture::*;
use crate::root::Root;

const SCRIPT: &str = include_str!("../../src/scripts/uplinks.sh");
/// Paths of the container that are in the temporary folder.
const PATHS: [&str; 3] = ["/sys/class/net/", "/tmp/", "/dev/termination-log"];

/// Open vSwitch's database: a folder for each bridge, and in it a file for each port with its number.
const VSCTL: &str = r#"
[ ! -e "$ROOT/down" ] || exit 1
cd "$ROOT/switch"
while [ "${1#--}" != "$1" ]; do shift; done
case $1 in
    add-br) mkdir -p "bridges/$2"; echo "$7" > "type-$2" ;;
    list-ifaces) ls "bridges/$2" ;;
    iface-to-br)
        for port in bridges/*/"$2"; do
            [ -e "$port" ] || exit 1
            basename "$(dirname "$port")"
        done
        ;;
    add-port) cp "$ROOT/number" "bridges/$2/$3" ;;
    find)
        for port in bridges/*/*; do
            [ "$(cat "$port")" != -1 ] || printf '%s\n\n' "$(basename "$port")"
        done
        ;;
    remove) rm -f "external_ids/$5" ;;
    set) pair=${4#external_ids:}; echo "${pair#*=}" > "external_ids/${pair%%=*}" ;;
    *) exit 2 ;;
esac
"#;
const IP: &str = r#"
case $* in
    "-o address show dev $5 scope global") cat "$ROOT/addresses/$5" 2> /dev/null || : ;;
    "-4 route show default dev $6") cat "$ROOT/routes/$6" 2> /dev/null || : ;;
    "-6 route show default dev $6") exit 2 ;;
    "link set $3 up") echo "$3" >> "$ROOT/up" ;;
    *) exit 3 ;;
esac
"#;

/// A node with the interface eth1.
struct Node(Root);

impl Node {
    fn new() -> Self {
        let root = Root::new();
        for folder in [
            "tmp",
            "addresses",
            "routes",
            "switch/bridges",
            "switch/external_ids",
            "sys/class/net/eth1",
        ] {
            fs::create_dir_all(root.path(folder)).unwrap();
        }
        root.write("number", "7");
        for (name, program) in [("ovs-vsctl", VSCTL), ("ip", IP)] {
            root.program(name, program);
        }
        Self(root)
    }

    fn run(&self, networks: &str, arguments: &[&str]) -> Output {
        let mut command = self.0.script(SCRIPT, &PATHS);
        command
            .args(arguments)
            .env("DATAPATH", "system")
            .env("NETWORKS", networks)
            .env("GATEWAY", "enable-chassis-as-gw")
            .env("CHASSIS_OPTIONS", "availability-zones=az-1");
        command.output().unwrap()
    }

    /// Runs one round. Returns its message if it fails.
    fn round(&self, networks: &str) -> Option<String> {
        let output = self.run(networks, &["once"]);
        let log = self.0.path("dev/termination-log");
        let message = fs::read_to_string(log).ok();
        assert_eq!(output.status.success(), message.is_none(), "{output:?}");
        message.map(|message| message.trim().to_owned())
    }

    fn option(&self, name: &str) -> Option<String> {
        let file = self.0.path(&format!("switch/external_ids/{name}"));
        let text = fs::read_to_string(file).ok()?;
        Some(text.trim().trim_matches('"').to_owned())
    }

    /// The networks that OVN is told of, the part of the node, and whether the pod is Ready.
    fn says(&self) -> (Option<String>, Option<String>, bool) {
        (
            self.option("ovn-bridge-mappings"),
            self.option("ovn-cms-options"),
            self.0.path("tmp/connected").exists(),
        )
    }

    fn ports(&self, bridge: &str) -> Vec<String> {
        let tree = self.0.tree(&format!("switch/bridges/{bridge}"));
        tree.into_keys().collect()
    }
}

fn says(mappings: &str, options: &str, is_ready: bool) -> (Option<String>, Option<String>, bool) {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    (text(mappings), text(options), is_ready)
}

const GATEWAY: &str = "enable-chassis-as-gw,availability-zones=az-1";
const NO_GATEWAY: &str = "availability-zones=az-1";

#[test]
fn node_with_the_interface_of_the_pool_is_connected_and_a_gateway() {
    let node = Node::new();
    for _ in 0..2 {
        assert_eq!(node.round("physnet1:br-ex:eth1"), None);
        assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
        assert_eq!(node.ports("br-ex"), ["eth1"]);
    }
    let up = fs::read_to_string(node.0.path("up")).unwrap();
    assert_eq!(up, "eth1\neth1\n", "it is set up again after a restart");
    let type_ = fs::read_to_string(node.0.path("switch/type-br-ex")).unwrap();
    assert_eq!(type_, "datapath_type=system\n");
}

#[test]
fn node_without_an_uplink_is_no_gateway() {
    let node = Node::new();
    // As an earlier version wrote it.
    for (name, value) in [
        ("ovn-bridge-mappings", "\"physnet1:br-ex\""),
        ("ovn-cms-options", "\"enable-chassis-as-gw\""),
    ] {
        node.0.write(&format!("switch/external_ids/{name}"), value);
    }
    let patch = "switch/bridges/br-ex/patch-provnet-1-to-br-int";
    node.0.write(patch, "2");
    for networks in ["physnet1:br-ex:", "physnet1:br-ex:eth9"] {
        assert_eq!(node.round(networks), None);
        assert_eq!(node.says(), says("", NO_GATEWAY, false), "{networks}");
    }
}

#[rstest]
#[case::port("switch/bridges/br-ex/eth1", "3")]
#[case::other_port("switch/bridges/br-ex/bond0", "3")]
#[case::patch_to_a_bridge_of_the_nodes_own("switch/bridges/br-ex/patch-to-br-provider", "3")]
#[case::address("addresses/br-ex", "9: br-ex inet 192.0.2.1/24 scope global br-ex\n")]
fn node_that_somebody_has_connected_is_a_gateway(#[case] file: &str, #[case] text: &str) {
    let node = Node::new();
    node.0.write(file, text);
    assert_eq!(node.round("physnet1:br-ex:"), None);
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
}

#[test]
fn node_reaches_the_networks_whose_bridges_have_an_uplink() {
    let node = Node::new();
    assert_eq!(
        node.round("physnet1:br-ex:eth1 physnet2:br-two:eth2 physnet3:br-ex:eth1"),
        None
    );
    let mappings = "physnet1:br-ex,physnet3:br-ex";
    assert_eq!(node.says(), says(mappings, GATEWAY, false));
}

#[test]
fn uplink_that_open_vswitch_could_not_add_does_not_count() {
    let node = Node::new();
    node.0.write("number", "-1");
    assert_eq!(node.round("physnet1:br-ex:eth1"), None);
    assert_eq!(node.says(), says("", NO_GATEWAY, false));
}

/// Whatever the node is reached by stays the node's own.
#[rstest]
#[case::address(
    "addresses/eth1",
    "2: eth1 inet 192.0.2.7/24 brd 192.0.2.255 scope global eth1\n",
    "has the address 192.0.2.7/24"
)]
#[case::route("routes/eth1", "default via 192.0.2.1\n", "has a default route")]
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
        "the network interface eth1 {why}, which the node would lose if it became the uplink of physnet1: set interface of physnet1 in \
         the pool to one that the node itself doesn't use"
    );
    assert_eq!(
        node.round("physnet1:br-ex:eth1 physnet2:br-two:"),
        Some(message)
    );
    assert_eq!(node.ports("br-ex"), Vec::<String>::new());
    assert_eq!(node.says(), says("physnet2:br-two", GATEWAY, false));
}

#[test]
fn bridge_with_another_uplink_gets_no_second_one() {
    let node = Node::new();
    node.0.write("switch/bridges/br-ex/eth0", "3");
    let message = node.round("physnet1:br-ex:eth1").unwrap();
    assert!(
        message.starts_with(
            "the bridge br-ex has the uplink eth0, so that eth1 isn't added to it: set interface of"
        ),
        "{message}"
    );
    assert_eq!(node.ports("br-ex"), ["eth0"]);
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
}

#[test]
fn node_becomes_a_gateway_once_an_uplink_is_added_and_stays_one_while_open_vswitch_is_down() {
    let node = Node::new();
    // Somebody adds the port after the first round, and Open vSwitch ends after the second.
    node.0.program(
        "sleep",
        r#"
echo >> "$ROOT/rounds"
case $(wc -l < "$ROOT/rounds") in
    1) [ ! -e "$ROOT/tmp/connected" ]; echo 3 > "$ROOT/switch/bridges/br-ex/eth1" ;;
    2) [ -e "$ROOT/tmp/connected" ]; touch "$ROOT/down" ;;
    *) exit 1 ;;
esac
"#,
    );
    let output = node.run("physnet1:br-ex:", &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "uplinks: none, without: physnet1\nuplinks: physnet1:br-ex, without: none\n"
    );
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
}

/// A share of a pool with a physical network.
fn connected_cluster(network: Value) -> Cluster {
    let mut cluster = cluster();
    put_pool(
        &mut cluster,
        json!({ "mode": "Shared", "physicalNetworks": [network] }),
    );
    put_share(&mut cluster, "prod", json!({ "gateway": true }));
    settle(&mut cluster, "prod");
    cluster
}

fn template(cluster: &Cluster, agent: &str) -> Value {
    let key = Key::of::<DaemonSet>("agents-prod", agent);
    cluster.get(&key).unwrap()["spec"]["template"]["spec"].clone()
}

fn variable(container: &Value, name: &str) -> Value {
    let mut variables = container["env"].as_array().unwrap().iter();
    let found = variables.find(|variable| variable["name"] == name);
    found.unwrap()["value"].clone()
}

#[rstest]
#[case::named(
    json!({ "name": "physnet1", "bridge": "br-ex", "interface": "eth1" }),
    "physnet1:br-ex:eth1",
    json!(["NET_ADMIN"])
)]
#[case::by_hand(
    json!({ "name": "physnet1", "bridge": "br-ex" }),
    "physnet1:br-ex:",
    Value::Null
)]
fn agent_of_uplinks_has_the_networks_and_the_rights_that_it_needs(
    #[case] network: Value,
    #[case] networks: &str,
    #[case] rights: Value,
) {
    let cluster = connected_cluster(network);
    let uplinks = template(&cluster, "uplinks");
    for container in [&uplinks["initContainers"][0], &uplinks["containers"][0]] {
        assert_eq!(variable(container, "NETWORKS"), networks);
        assert_eq!(variable(container, "GATEWAY"), "enable-chassis-as-gw");
        assert_eq!(container["securityContext"]["capabilities"]["add"], rights);
    }
    assert_eq!(uplinks["initContainers"][0]["args"], json!(["once"]));
    let controller = &template(&cluster, "ovn-controller")["containers"][0];
    assert_eq!(variable(controller, "UPLINKS"), "true");
}

#[test]
fn pool_without_physical_networks_has_no_agent_of_uplinks() {
    let mut cluster = cluster();
    settle(&mut cluster, "prod");
    let key = Key::of::<DaemonSet>("agents-prod", "uplinks");
    assert!(cluster.get(&key).is_none());
    let condition = find_condition(&cluster, &share_key("prod"), "UplinksReady");
    assert_eq!(condition, None);
    let controller = &template(&cluster, "ovn-controller")["containers"][0];
    assert_eq!(variable(controller, "UPLINKS"), "false");
}

fn put_pod(cluster: &mut Cluster, node: &str, status: Value) {
    let name = format!("uplinks-{node}");
    let labels = json!({ "app.kubernetes.io/component": "uplinks" });
    let pod =
        json!({ "metadata": { "labels": labels }, "spec": { "nodeName": node, "containers": [] } });
    put::<Pod>(cluster, "agents-prod", &name, &pod);
    cluster.set_status(&Key::of::<Pod>("agents-prod", &name), status);
}

#[test]
fn share_names_nodes_without_an_uplink_and_is_ready_all_the_same() {
    let mut cluster = connected_cluster(json!({ "name": "physnet1", "bridge": "br-ex" }));
    let ready = |status: &str| json!({ "conditions": [{ "type": "Ready", "status": status }] });
    put_pod(&mut cluster, "node-a", ready("True"));
    put_pod(&mut cluster, "node-b", ready("False"));
    run_agents(&mut cluster, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "UplinksReady"),
        [
            "False",
            "UplinkMissing",
            "1 of 2 nodes lack an uplink to a physical network, and have no gateways to it: node-b. If they are to have some, see \
             `kubectl logs -n agents-prod -l app.kubernetes.io/component=uplinks --prefix`, and set interface of the network in the pool"
        ]
        .map(str::to_owned)
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    put_pod(&mut cluster, "node-b", ready("True"));
    settle(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "UplinksReady")[0], "True");
}

#[test]
fn share_says_which_interface_can_not_be_an_uplink() {
    let mut cluster =
        connected_cluster(json!({ "name": "physnet1", "bridge": "br-ex", "interface": "eth1" }));
    let check = json!({
        "name": "connect", "image": "", "imageID": "", "ready": false, "restartCount": 3,
        "state": { "terminated": { "exitCode": 1, "message": "the network interface eth1 has a default route\n" } },
    });
    put_pod(
        &mut cluster,
        "node-b",
        json!({ "initContainerStatuses": [check] }),
    );
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "HostsReady"),
        [
            "False",
            "RequirementMissing",
            "node node-b: the network interface eth1 has a default route"
        ]
        .map(str::to_owned)
    );
}
