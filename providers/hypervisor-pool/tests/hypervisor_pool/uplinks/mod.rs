//! Which physical networks a node reaches, as a script on a node of files, and what a share says of it.

mod refused;
mod share;

use std::fs;
use std::process::Output;

use rstest::rstest;

use crate::root::Root;

const SCRIPT: &str = include_str!("../../../src/scripts/uplinks.sh");
/// Paths of the container that are in the temporary folder.
const PATHS: [&str; 4] = [
    "/sys/class/net/",
    "/proc/net/",
    "/tmp/",
    "/dev/termination-log",
];
/// After how many rounds an idle interface is added.
const ROUNDS: usize = 3;

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
    add-port) cp "$ROOT/number" "bridges/$2/$3"; touch added ;;
    del-port) rm "bridges/$2/$3" ;;
    get)
        case $4 in
            ofport) cat bridges/*/"$3" ;;
            error) cat "$ROOT/error" ;;
            external_ids:*) cat "external_ids/${4#external_ids:}" 2> /dev/null || echo ;;
        esac
        ;;
    find)
        for port in bridges/*/*; do
            case "ofport=$(cat "$port") name=\"$(basename "$port")\"" in
                *"$3"*) printf '%s\n\n' "$(basename "$port")" ;;
            esac
        done
        ;;
    remove) rm -f "external_ids/$5" ;;
    set) pair=${4#external_ids:}; echo "${pair#*=}" > "external_ids/${pair%%=*}" ;;
    *) exit 2 ;;
esac
"#;
const IP: &str = r#"
case $* in
    "-o address show dev $5") cat "$ROOT/addresses/$5" 2> /dev/null || : ;;
    "-o -4 route show table all") cat "$ROOT/routes/4" ;;
    "-o -6 route show table all") cat "$ROOT/routes/6" ;;
    "link set $3 up") echo "$3" >> "$ROOT/up" ;;
    *) exit 3 ;;
esac
"#;
/// Ends after a number of rounds, and runs a program of the test's between them.
const SLEEP: &str = r#"
echo >> "$ROOT/rounds"
count=$(wc -l < "$ROOT/rounds")
[ ! -e "$ROOT/between" ] || . "$ROOT/between"
[ "$count" -lt "$ROUNDS" ]
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
        // What every node has.
        root.write("proc/net/if_inet6", "");
        root.write(
            "addresses/eth1",
            "2: eth1    inet6 fe80::1/64 scope link \\       valid_lft forever\n",
        );
        root.write(
            "routes/4",
            "default via 10.0.0.254 dev eth0 proto dhcp\nlocal 10.0.0.1 dev eth0 table local proto kernel scope host src 10.0.0.1\n",
        );
        root.write(
            "routes/6",
            "fe80::/64 dev eth1 proto kernel metric 256 pref medium\nlocal fe80::1 dev eth1 table local proto kernel metric 0 pref medium\n\
             anycast fe80:: dev eth1 table local proto kernel metric 0 pref medium\nmulticast ff00::/8 dev eth1 table local proto kernel \
             metric 256 pref medium\n",
        );
        for (name, program) in [("ovs-vsctl", VSCTL), ("ip", IP), ("sleep", SLEEP)] {
            root.program(name, program);
        }
        Self(root)
    }

    fn run(&self, networks: &str, rounds: usize) -> Output {
        let _ = fs::remove_file(self.0.path("rounds"));
        let mut command = self.0.script(SCRIPT, &PATHS);
        command
            .env("ROUNDS", rounds.to_string())
            .env("DATAPATH", "system")
            .env("NETWORKS", networks)
            .env("GATEWAY", "enable-chassis-as-gw")
            .env("CHASSIS_OPTIONS", "availability-zones=az-1");
        command.output().unwrap()
    }

    /// Runs rounds, and once more where the container ends to say something. Returns what it says.
    fn rounds(&self, networks: &str, rounds: usize) -> String {
        for _ in 0..2 {
            let output = self.run(networks, rounds);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
        }
        let log = self.0.path("dev/termination-log");
        fs::read_to_string(log).unwrap()
    }

    /// Runs one round. Returns its message if it refuses an interface.
    fn round(&self, networks: &str) -> Option<String> {
        Some(self.rounds(networks, 1)).filter(|message| !message.is_empty())
    }

    /// Adds the interface of the network once it has been idle for long enough.
    fn take(&self, networks: &str) {
        assert_eq!(self.rounds(networks, ROUNDS), "");
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
        node.take("physnet1:br-ex:eth1");
        assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
        assert_eq!(node.ports("br-ex"), ["eth1"]);
    }
    let up = fs::read_to_string(node.0.path("up")).unwrap();
    assert_eq!(up.lines().count(), 4, "it is set up again after a restart");
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
#[case::address("addresses/br-ex", "9: br-ex inet 192.0.2.1/32 scope link br-ex\n")]
#[case::route("routes/4", "192.0.2.0/24 dev br-ex scope link\n")]
#[case::device_on_top("sys/class/net/br-ex/upper_br-ex.100/x", "")]
fn node_that_somebody_has_connected_is_a_gateway(#[case] file: &str, #[case] text: &str) {
    let node = Node::new();
    fs::create_dir_all(node.0.path("sys/class/net/br-ex")).unwrap();
    node.0.write(file, text);
    assert_eq!(node.round("physnet1:br-ex:"), None);
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
}

#[test]
fn node_reaches_the_networks_whose_bridges_have_an_uplink() {
    let node = Node::new();
    node.take("physnet1:br-ex:eth1 physnet2:br-two:eth2 physnet3:br-ex:eth1");
    let mappings = "physnet1:br-ex,physnet3:br-ex";
    assert_eq!(node.says(), says(mappings, GATEWAY, false));
}

#[test]
fn uplink_that_the_node_has_not_any_more_does_not_count() {
    let node = Node::new();
    node.0.write("switch/bridges/br-ex/eth1", "-1");
    assert_eq!(node.round("physnet1:br-ex:eth1"), None);
    assert_eq!(node.says(), says("", NO_GATEWAY, false));
}

#[test]
fn node_becomes_a_gateway_once_an_uplink_is_added_and_stays_one_while_open_vswitch_is_down() {
    let node = Node::new();
    // Somebody adds the port after the first round, and Open vSwitch ends after the second.
    node.0.write(
        "between",
        r#"
case $count in
    1) [ ! -e "$ROOT/tmp/connected" ] && echo 3 > "$ROOT/switch/bridges/br-ex/eth1" ;;
    2) [ -e "$ROOT/tmp/connected" ] && touch "$ROOT/down" ;;
esac
"#,
    );
    let output = node.run("physnet1:br-ex:", 3);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "uplinks: none, without: physnet1\nuplinks: physnet1:br-ex, without: none\n"
    );
    assert_eq!(node.says(), says("physnet1:br-ex", GATEWAY, true));
}
