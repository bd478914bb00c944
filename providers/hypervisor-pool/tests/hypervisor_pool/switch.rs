//! What runs beside Open vSwitch on a node, as a script: its programs write to files.

use std::fs;

use crate::root::Root;

const SCRIPT: &str = include_str!("../../src/scripts/ovs-vswitchd.sh");

/// Open vSwitch's database, in which an interface of a server is down until it is set up.
const VSCTL: &str = r#"
case "$*" in
    *'find Interface admin_state=down external_ids:vm-uuid!=""') cat "$ROOT/down" ;;
esac
"#;
const IP: &str = r#"
echo "$*" >> "$ROOT/links"
case "$*" in
    *'address show'*) echo '2: eth2 inet 10.0.0.1/24 scope global eth2' ;;
    'link set tap1 up') : > "$ROOT/down" ;;
esac
"#;
/// Runs until the interface is up, or for some seconds.
const SWITCH: &str = r#"
tries=0
while [ -s "$ROOT/down" ] && [ $tries -lt 500 ]; do
    tries=$((tries + 1))
    PATH=${PATH#*:} sleep 0.01
done
touch "$ROOT/ended"
"#;
/// Fails once the switch has ended, and ends with it what runs beside it.
const SLEEP: &str = r#"
[ ! -e "$ROOT/ended" ] || exit 1
PATH=${PATH#*:} exec sleep 0.01
"#;

#[test]
fn switch_in_user_space_sets_interfaces_of_servers_up_that_it_took_down() {
    let root = Root::new();
    for (name, program) in [
        ("ovs-vsctl", VSCTL),
        ("ip", IP),
        ("ovs-vswitchd", SWITCH),
        ("sleep", SLEEP),
    ] {
        root.program(name, program);
    }
    root.write("down", "tap1\n");
    root.write("var/lib/openvswitch/tunnel-address", "");
    let mut command = root.script(SCRIPT, &["/var/lib/"]);
    command
        .env("DATAPATH", "netdev")
        .env("TUNNEL_INTERFACE", "eth2");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let links = fs::read_to_string(root.path("links")).unwrap();
    let raised = links.lines().filter(|line| *line == "link set tap1 up");
    assert_eq!(raised.count(), 1, "{links}");
}
