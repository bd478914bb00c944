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

/// Open vSwitch's database, which doesn't answer the first time that it is to have the flows of the kernel deleted.
const DATABASE: &str = r#"
case "$*" in
    *'set Open_vSwitch'*) echo "$*" >> "$ROOT/log" ;;
    *'remove Open_vSwitch'*)
        echo "$*" >> "$ROOT/log"
        [ -e "$ROOT/refused" ] || { touch "$ROOT/refused"; exit 1; }
        touch "$ROOT/ended"
        ;;
esac
"#;
/// Has flows when it is asked for the hundredth time.
const FLOWS: &str = r#"
echo asked >> "$ROOT/log"
[ "$(grep -c asked "$ROOT/log")" -ge 100 ] && echo 'flow_count=7' || echo 'flow_count=0'
"#;
/// Runs until the flows of the kernel may be deleted, or for some seconds.
const UNTIL_RESTORED: &str = r#"
tries=0
while [ ! -e "$ROOT/ended" ] && [ $tries -lt 3000 ]; do
    tries=$((tries + 1))
    PATH=${PATH#*:} sleep 0.01
done
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

/// The kernel's flows are deleted then, and those of ovn-controller may come minutes later, once it is of northd's version.
#[test]
fn switch_keeps_the_flows_of_the_kernel_until_it_has_others() {
    let root = Root::new();
    for (name, program) in [
        ("ovs-vsctl", DATABASE),
        ("ovs-ofctl", FLOWS),
        ("ovs-vswitchd", UNTIL_RESTORED),
        ("sleep", "PATH=${PATH#*:} exec sleep 0"),
    ] {
        root.program(name, program);
    }
    let mut command = root.script(SCRIPT, &["/var/lib/"]);
    command.env("DATAPATH", "system");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = fs::read_to_string(root.path("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let [waits, asked @ .., removed, again] = &lines[..] else {
        panic!("{log}");
    };
    assert!(waits.ends_with("flow-restore-wait=true"), "{waits}");
    assert_eq!(asked.len(), 100);
    for removed in [removed, again] {
        assert!(
            removed.ends_with("remove Open_vSwitch . other_config flow-restore-wait"),
            "{removed}"
        );
    }
}
