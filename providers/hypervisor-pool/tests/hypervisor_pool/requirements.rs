//! The check of a node, as a script: the node's files are in a temporary folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use provider_hypervisor_pool::LEASE;
use rstest::rstest;
use tempfile::TempDir;

const SCRIPT: &str = include_str!("../../src/scripts/requirements.sh");
const OWN: &str = "prod uid-1";

/// A node that has everything.
fn node() -> TempDir {
    let node = tempfile::tempdir().unwrap();
    let path = |file: &str| node.path().join(file);
    for folder in [
        "dev",
        "host/dev/net",
        "host/nova",
        "sys/module/openvswitch",
        "sys/class/net/eth1",
    ] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    for device in ["host/dev/net/tun", "host/dev/kvm"] {
        symlink("/dev/null", path(device)).unwrap();
    }
    node
}

/// Runs the check. Returns its message if it fails.
fn check(node: &Path) -> Option<String> {
    let at = |path: &str| format!("{}{path}", node.display());
    let script = ["/host/", "/sys/", "/dev/termination-log"]
        .iter()
        .fold(SCRIPT.to_owned(), |script, path| {
            script.replace(path, &at(path))
        });
    let status = Command::new("sh")
        .args(["-euc", &script, "requirements"])
        .env("REQUIREMENTS", "tun kvm openvswitch interface")
        .env("TUNNEL_INTERFACE", "eth1")
        .env("LEASE", OWN)
        .output()
        .unwrap()
        .status;
    let message = fs::read_to_string(at("/dev/termination-log")).ok();
    assert_eq!(status.success(), message.is_none());
    message.map(|message| message.trim().to_owned())
}

#[test]
fn node_with_everything_is_accepted_and_marked_with_its_lease() {
    let node = node();
    assert_eq!(check(node.path()), None);
    let lease = fs::read_to_string(node.path().join("host/nova/lease")).unwrap();
    assert_eq!(lease, format!("{OWN}\n"));
    assert_eq!(check(node.path()), None, "its pod restarts");
}

#[rstest]
#[case(
    "host/dev/net/tun",
    "/dev/net/tun is missing: load the kernel module tun"
)]
#[case(
    "host/dev/kvm",
    "/dev/kvm is missing: enable virtualization in the firmware and load kvm_intel or kvm_amd, or set agents.virtualization of the \
     share to qemu"
)]
#[case(
    "sys/module/openvswitch",
    "the kernel module openvswitch isn't loaded: load it, or set agents.datapath of the share to netdev"
)]
#[case(
    "sys/class/net/eth1",
    "the network interface eth1 is missing: set agents.tunnelInterface of the share to one that the node has"
)]
fn node_that_lacks_something_is_refused_with_what_to_do(#[case] path: &str, #[case] message: &str) {
    let node = node();
    let path = node.path().join(path);
    match path.is_dir() {
        true => fs::remove_dir(&path).unwrap(),
        false => fs::remove_file(&path).unwrap(),
    }
    assert_eq!(check(node.path()).as_deref(), Some(message));
}

/// A regular file is no device.
#[test]
fn device_must_be_a_device() {
    let node = node();
    let kvm = node.path().join("host/dev/kvm");
    fs::remove_file(&kvm).unwrap();
    fs::write(&kvm, "").unwrap();
    assert!(
        check(node.path())
            .unwrap()
            .starts_with("/dev/kvm is missing")
    );
}

/// What is on the node may be servers, so deleting it comes last.
#[rstest]
#[case::of_another_control_plane(
    "staging uid-2",
    "the node has servers or files of the HypervisorShare staging with the identity uid-2, so that agents of prod with the identity \
     uid-1 don't start there: give the node back by setting its label c5c3.node-restriction.kubernetes.io/control-plane to the control \
     plane of the HypervisorShare staging. Install the node anew only if none of these servers is wanted any more"
)]
#[case::of_an_earlier_share_of_the_name(
    "prod uid-0",
    "the node has servers or files of the HypervisorShare prod with the identity uid-0, so that agents of prod with the identity uid-1 \
     don't start there: if this share was created again for the same control plane, set its spec.identity to uid-0. Install the node \
     anew only if none of these servers is wanted any more"
)]
fn node_of_another_lease_is_refused_and_stays_marked(#[case] lease: &str, #[case] message: &str) {
    let node = node();
    let file = node.path().join("host/nova/lease");
    fs::write(&file, format!("{lease}\n")).unwrap();
    assert_eq!(check(node.path()).as_deref(), Some(message));
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{lease}\n"));
}

#[test]
fn label_to_give_a_node_back_is_the_one_of_leases() {
    assert!(SCRIPT.contains(&format!("its label {LEASE} to")));
}
