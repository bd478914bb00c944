//! What a node is wiped of, and when it isn't, as a script: the node's files are in a temporary folder, and its programs write to files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Output;

use rstest::rstest;

use crate::root::Root;

const SCRIPT: &str = include_str!("../../src/scripts/wipe.sh");
const DRAIN: &str = include_str!("../../src/scripts/drain.sh");
/// Paths of the container that are in the temporary folder.
const PATHS: [&str; 5] = ["/host/", "/proc/", "/sys/", "/tmp/", "/dev/termination-log"];

/// Counts a call, and kills everything instead where the test says so.
const COUNTED: &str = r#"
count=$(cat "$ROOT/calls" 2> /dev/null || echo 0)
[ "$count" != "${KILL_AFTER:-}" ] || kill -9 0
echo $((count + 1)) > "$ROOT/calls"
"#;
/// Open vSwitch's database: a folder for each bridge, and in it a file for each port with its type and its peer.
const VSCTL: &str = r#"
cd "$ROOT/switch"
while [ "${1#--}" != "$1" ]; do shift; done
case $1 in
    list-br) ls bridges ;;
    list-ports) ls "bridges/$2" ;;
    get)
        text=$(cat bridges/*/"$3")
        case $4 in type) echo "${text%% *}" ;; options:peer) echo "${text#* }" ;; esac
        ;;
    del-port) rm "bridges/$2/$3" ;;
    del-br) rm -r "bridges/$2" ;;
    clear) rm -f "$4" ;;
    *) exit 1 ;;
esac
"#;
/// Runs until it is told to exit. Its socket is the test's.
const SERVER: &str = r#"
touch "$ROOT/switch/runs"
ln -s "$ROOT/socket" "$ROOT/tmp/db.sock"
while [ -e "$ROOT/switch/runs" ]; do sleep 1; done
"#;
const APPCTL: &str = r#"
for command; do :; done
case $command in
    exit) rm "$ROOT/switch/runs" ;;
    */compact) cp -r "$ROOT/switch/bridges/." "$ROOT/switch/compacted" ;;
esac
"#;
const DPCTL: &str = r#"
case $1 in
    dump-dps) ls "$ROOT/switch/datapaths" ;;
    del-dp) rm "$ROOT/switch/datapaths/$2" ;;
esac
"#;
const STAT: &str = r#"
for folder; do :; done
cat "$ROOT/types/${folder##*/}" 2> /dev/null || echo xfs
"#;

/// A node that a share has used.
struct Node {
    root: Root,
    _socket: UnixListener,
}

type Tree = BTreeMap<String, Option<String>>;

impl Node {
    fn used() -> Self {
        let root = Root::new();
        for file in [
            "host/nova/compute_id",
            "host/nova/lease",
            "host/nova/.hidden",
            "host/nova/locks/nova-storage",
            "host/nova/instances/compute_nodes",
            "host/nova/instances/_base/.image",
            "host/nova/instances/5ca1ab1e/disk",
            "host/nova/instances/5ca1ab1e/console.log",
            "host/libvirt/secrets/key",
            "host/libvirt/consoles/server-key.pem",
            "host/libvirt/definitions/networks/keep",
            "host/libvirt/.cache",
            "host/log/qemu/instance-00000001.log",
            "host/run-libvirt/qemu/driver.pid",
            "host/openvswitch/conf.db",
            "tmp/ovsdb-server.pid",
            "switch/external_ids",
            "switch/datapaths/system@ovs-system",
        ] {
            root.write(file, file);
        }
        root.write("host/openvswitch/tunnel-address", "10.0.0.1/24");
        root.write("proc/1/comm", "systemd\n");
        root.write("proc/77/comm", "kubelet\n");
        root.write("switch/bridges/br-int/tap1", "");
        root.write("switch/bridges/br-ex/eth1", "");
        root.write("switch/bridges/br-ex/patch-provnet-1-to-br-int", "patch");
        root.write(
            "switch/bridges/br-ex/patch-to-br-own",
            "patch \"patch-to-br-ex\"",
        );
        root.write(
            "switch/bridges/br-own/patch-to-br-ex",
            "patch \"patch-to-br-own\"",
        );
        root.write("switch/bridges/br-former/eth3", "");
        root.write("switch/bridges/br-tunnel/eth2", "");
        fs::create_dir_all(root.path("sys/module/openvswitch")).unwrap();
        let programs = [
            ("ovs-vsctl", VSCTL),
            ("ovsdb-server", SERVER),
            ("ovs-appctl", APPCTL),
            ("ovs-dpctl", DPCTL),
            ("stat", STAT),
            ("ip", "echo \"$@\" >> \"$ROOT/switch/addresses\"\n"),
            ("find", "PATH=${PATH#*:} exec find \"$@\"\n"),
            ("rm", "PATH=${PATH#*:} exec rm \"$@\"\n"),
        ];
        for (name, program) in programs {
            root.program(name, &format!("{COUNTED}{program}"));
        }
        root.program("sleep", "PATH=${PATH#*:} exec sleep 0.01\n");
        let socket = UnixListener::bind(root.path("socket")).unwrap();
        Self {
            root,
            _socket: socket,
        }
    }

    fn run(&self, kill_after: Option<usize>) -> Output {
        let script = SCRIPT.replace("{folder#/host}", "{folder#$ROOT/host}");
        let mut command = self.root.script(&script, &PATHS);
        command
            .env("BRIDGES", "br-ex br-other")
            .env("TUNNEL_INTERFACE", "eth2")
            .process_group(0);
        if let Some(count) = kill_after {
            command.env("KILL_AFTER", count.to_string());
        }
        let _ = fs::remove_file(self.root.path("calls"));
        command.output().unwrap()
    }

    /// Wipes it. Returns how many programs were called.
    fn wipe(&self) -> usize {
        let output = self.run(None);
        assert!(output.status.success(), "{output:?}");
        let calls = fs::read_to_string(self.root.path("calls")).unwrap();
        calls.trim().parse().unwrap()
    }

    /// Everything on the node and in Open vSwitch.
    fn is(&self) -> [Tree; 2] {
        ["host", "switch"].map(|folder| self.root.tree(folder))
    }
}

fn names(tree: &Tree) -> Vec<&str> {
    tree.keys().map(String::as_str).collect()
}

#[test]
fn node_keeps_its_physical_networks_and_nothing_of_a_share() {
    let node = Node::used();
    node.wipe();
    let [host, switch] = node.is();
    assert_eq!(
        names(&host),
        [
            "libvirt",
            "log",
            "nova",
            // It may be the mount of a disk.
            "nova/instances",
            "openvswitch",
            "openvswitch/conf.db",
            // What runs has its files there, and the next boot removes them.
            "run-libvirt",
            "run-libvirt/qemu",
            "run-libvirt/qemu/driver.pid",
        ]
    );
    assert_eq!(
        names(&switch),
        [
            "addresses",
            "bridges",
            "bridges/br-ex",
            "bridges/br-ex/eth1",
            // The node's own way to the network.
            "bridges/br-ex/patch-to-br-own",
            "bridges/br-own",
            "bridges/br-own/patch-to-br-ex",
            "compacted",
            "compacted/br-ex",
            "compacted/br-ex/eth1",
            "compacted/br-ex/patch-to-br-own",
            "compacted/br-own",
            "compacted/br-own/patch-to-br-ex",
            "datapaths",
        ],
        "deleted rows leave the file too"
    );
    assert_eq!(
        switch["addresses"].as_deref(),
        Some("address replace 10.0.0.1/24 dev eth2\nlink set eth2 up\n")
    );
}

/// Otherwise a bridge of the node's own would be deleted.
#[test]
fn wipe_ends_when_ports_can_not_be_read() {
    let node = Node::used();
    // The server ends with its container.
    let unreadable =
        "case \"$*\" in *'list-ports br-ex') rm \"$ROOT/switch/runs\"; exit 1 ;; esac\n";
    node.root
        .program("ovs-vsctl", &format!("{COUNTED}{unreadable}{VSCTL}"));
    let output = node.run(None);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let [_, switch] = node.is();
    assert!(switch.contains_key("bridges/br-own"));
}

#[test]
fn node_that_is_wiped_stays_as_it_is() {
    let node = Node::used();
    node.wipe();
    let wiped = node.is();
    node.wipe();
    assert_eq!(node.is(), wiped);
}

#[test]
fn node_without_anything_is_wiped() {
    let node = Node::used();
    for folder in ["host", "switch", "sys"] {
        fs::remove_dir_all(node.root.path(folder)).unwrap();
    }
    fs::create_dir_all(node.root.path("host/nova")).unwrap();
    node.wipe();
    assert_eq!(names(&node.is()[0]), ["nova"]);
}

/// The container is killed before each of its programs, and starts again.
#[test]
fn wipe_that_is_killed_is_completed() {
    let undisturbed = Node::used();
    let calls = undisturbed.wipe();
    for count in 0..calls {
        let node = Node::used();
        let killed = node.run(Some(count));
        assert_eq!(killed.status.code(), None, "{killed:?}");
        node.wipe();
        let ([host, switch], [wiped, expected]) = (node.is(), undisturbed.is());
        assert_eq!(host, wiped, "killed after {count} of {calls}");
        let bridges = |tree: &Tree| -> Tree {
            let entries = tree.clone().into_iter();
            entries.filter(|(name, _)| name != "addresses").collect()
        };
        assert_eq!(bridges(&switch), bridges(&expected), "killed after {count}");
        assert!(
            switch["addresses"]
                .as_ref()
                .unwrap()
                .contains("replace 10.0.0.1/24 dev eth2")
        );
    }
}

#[rstest]
#[case::server(
    "proc/9/comm",
    "qemu-system-x86\n",
    "the process qemu-system-x86 runs on the node, which therefore isn't wiped"
)]
#[case::server_of_another_name(
    "proc/9/comm",
    "qemu-kvm\n",
    "the process qemu-kvm runs on the node, which therefore isn't wiped"
)]
#[case::libvirt(
    "proc/9/comm",
    "libvirtd\n",
    "the process libvirtd runs on the node, which therefore isn't wiped"
)]
#[case::nova(
    "proc/9/comm",
    "nova-compute\n",
    "the process nova-compute runs on the node, which therefore isn't wiped"
)]
#[case::ovn(
    "proc/9/comm",
    "ovn-controller\n",
    "the process ovn-controller runs on the node, which therefore isn't wiped"
)]
#[case::switch(
    "proc/9/comm",
    "ovs-vswitchd\n",
    "the process ovs-vswitchd runs on the node, which therefore isn't wiped"
)]
#[case::database(
    "proc/9/comm",
    "ovsdb-server\n",
    "the process ovsdb-server runs on the node, which therefore isn't wiped"
)]
#[case::defined(
    "host/libvirt/definitions/a.xml",
    "",
    "libvirt has the domain of /host/libvirt/definitions/a.xml, so that the node isn't wiped"
)]
#[case::running(
    "host/run-libvirt/qemu/a.xml",
    "",
    "libvirt has the domain of /host/run-libvirt/qemu/a.xml, so that the node isn't wiped"
)]
#[case::shared_folder(
    "types/nova",
    "nfs\n",
    "/var/lib/nova is on a file system of the type nfs, which other nodes may use: delete this node's files, and unmount it"
)]
#[case::shared_instances(
    "types/instances",
    "ceph\n",
    "/var/lib/nova/instances is on a file system of the type ceph, which other nodes may use: delete this node's files, and unmount it"
)]
fn node_is_not_wiped_of_anything(#[case] file: &str, #[case] text: &str, #[case] message: &str) {
    let node = Node::used();
    node.root.write(file, text);
    let before = node.is();
    let refused = node.run(None);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(node.is(), before);
    let said = fs::read_to_string(node.root.path("dev/termination-log")).unwrap();
    let root = node.root.path("").display().to_string();
    assert_eq!(
        said.replace(root.trim_end_matches('/'), ""),
        format!("{message}\n")
    );
}

/// A pod that isn't Ready holds the node's lease.
#[rstest]
#[case::empty("", true, "")]
#[case::with_domains(
    "echo instance-1\necho instance-2\n",
    false,
    "libvirt has domains: instance-1 instance-2\n"
)]
#[case::without_libvirt("exit 1\n", false, "")]
fn node_is_empty_when_libvirt_says_so(
    #[case] virsh: &str,
    #[case] is_empty: bool,
    #[case] says: &str,
) {
    let root = Root::new();
    root.program(
        "virsh",
        &format!("echo \"$@\" > \"$ROOT/arguments\"\n{virsh}"),
    );
    let output = root.script(DRAIN, &[]).output().unwrap();
    assert_eq!(output.status.success(), is_empty, "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), says);
    assert_eq!(
        fs::read_to_string(root.path("arguments")).unwrap(),
        "--connect qemu:///system --readonly list --all --name\n"
    );
}
