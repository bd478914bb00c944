//! The SSH server of a host and the clients of others, as scripts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::root::Root;

const SERVER: &str = include_str!("../../src/scripts/nova-migration.sh");
const CLIENT: &str = include_str!("../../src/scripts/nova-compute.sh");
const KEY: &str = "etc/nova/migration/ssh-privatekey";
/// Whose files are on the node.
const LEASE: &str = "var/lib/nova/lease";
const OWN: &str = "prod 11112222\n";
/// How long something may take that happens within milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads its key, and reads it again when it is told to.
const SSHD: &str = r#"
trap 'cp "$ROOT/etc/nova/migration/ssh-privatekey" "$ROOT/read"' HUP
trap 'exit 0' TERM
echo "$@" > "$ROOT/sshd"
cp "$ROOT/etc/nova/migration/ssh-privatekey" "$ROOT/read"
while :; do PATH=${PATH#*:} sleep 0.01; done
"#;
const SSH_KEYGEN: &str = r#"
while [ "$#" -gt 1 ]; do shift; done
grep -q private "$1" && echo "ecdsa-sha2-nistp256 of-$(cat "$1")"
"#;

/// The container of the SSH server.
struct Container {
    root: Root,
    process: Child,
}

impl Container {
    fn start(key: &str) -> Self {
        Self::start_on(OWN, key)
    }

    /// Starts on a node that has files of a share.
    fn start_on(lease: &str, key: &str) -> Self {
        let root = Root::new();
        root.program("ssh-keygen", SSH_KEYGEN);
        root.program("pgrep", "[ -e \"$ROOT/copies\" ]");
        root.program(
            "sleep",
            "echo >> \"$ROOT/slept\"\nPATH=${PATH#*:} exec sleep 0.02",
        );
        root.program_in("usr/sbin", "sshd", SSHD);
        root.write(KEY, key);
        root.write(LEASE, lease);
        fs::create_dir_all(root.path("run/migration")).unwrap();
        let process = root
            .script(
                SERVER,
                &[
                    "/usr/sbin/",
                    "/etc/nova/migration",
                    "/run/migration",
                    "/var/lib/",
                ],
            )
            .arg("the command")
            .env("LEASE", OWN.trim_end())
            .env("HOST_IP", "2001:db8::1")
            .env("MIGRATION_PORT", "8022")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { root, process }
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.path(file)).unwrap_or_default()
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}");
            sleep(Duration::from_millis(5));
        }
    }

    fn reads(&mut self, key: &str) {
        self.until(key, |container| {
            container.text("read") == key
                && container.text("run/migration/authorized_keys")
                    == format!("restrict ecdsa-sha2-nistp256 of-{key}\n")
        });
    }

    fn waits(&mut self) {
        let before = self.text("slept").len();
        self.until("it waits", |container| {
            container.text("slept").len() > before + 2
        });
    }

    fn signal(&self) {
        let kill = format!("kill -TERM {}", self.process.id());
        let _ = Command::new("sh").args(["-c", &kill]).status();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.root.path("copies"));
        if let Ok(None) = self.process.try_wait() {
            self.signal();
        }
        let _ = self.process.wait();
    }
}

#[test]
fn ssh_server_admits_the_key_of_the_share_to_its_commands_alone() {
    let mut container = Container::start("private");
    container.reads("private");
    assert_eq!(container.text("run/migration/command"), "the command\n");
    let configuration = container.text("run/migration/sshd_config");
    let run = container.root.path("run/migration").display().to_string();
    for line in [
        "ListenAddress 2001:db8::1".to_owned(),
        "Port 8022".to_owned(),
        format!("AuthorizedKeysFile {run}/authorized_keys"),
        "AuthenticationMethods publickey".to_owned(),
        "AllowUsers openstack".to_owned(),
        "DisableForwarding yes".to_owned(),
        "PermitTTY no".to_owned(),
        format!("ForceCommand /bin/sh -eu {run}/command"),
    ] {
        assert!(
            configuration.lines().any(|other| other == line),
            "{line} isn't in:\n{configuration}"
        );
    }
    assert_eq!(
        container.text("sshd"),
        format!("-D -e -f {run}/sshd_config\n")
    );
}

#[test]
fn ssh_server_reads_a_new_key_without_a_restart_and_ignores_one_that_is_none() {
    let mut container = Container::start("private one");
    container.reads("private one");
    container.root.write(KEY, "broken");
    container.waits();
    container.reads("private one");
    container.root.write(KEY, "private two");
    container.reads("private two");
}

#[test]
fn ssh_server_waits_for_a_key() {
    let mut container = Container::start("broken");
    container.waits();
    assert_eq!(container.text("sshd"), "");
    container.root.write(KEY, "private");
    container.reads("private");
}

/// A node may come back whose Node was deleted, with servers of another control plane.
#[test]
fn ssh_server_waits_while_files_of_the_node_are_of_another_share() {
    let mut container = Container::start_on("prod 33334444\n", "private");
    container.waits();
    assert_eq!(container.text("sshd"), "");
    container.root.write(LEASE, OWN);
    container.reads("private");
}

#[rstest]
#[case::for_the_node("staging 33334444\n", "private")]
#[case::for_a_key(OWN, "broken")]
fn ssh_server_that_waits_ends_at_once(#[case] lease: &str, #[case] key: &str) {
    let mut container = Container::start_on(lease, key);
    container.waits();
    container.signal();
    container.until("it ends", |container| {
        container.process.try_wait().unwrap().is_some()
    });
    assert!(container.process.wait().unwrap().success());
}

#[test]
fn ssh_server_ends_after_the_copies_that_have_begun() {
    let mut container = Container::start("private");
    container.reads("private");
    // The script forwards the signal only once its trap is set, which may be after the server has read its key.
    container.waits();
    container.root.write("copies", "");
    container.signal();
    container.waits();
    assert!(container.process.try_wait().unwrap().is_none());
    fs::remove_file(container.root.path("copies")).unwrap();
    container.until("it ends", |container| {
        container.process.try_wait().unwrap().is_some()
    });
    assert!(container.process.wait().unwrap().success());
}

#[test]
fn image_without_an_ssh_server_is_named() {
    let root = Root::new();
    root.write("dev/termination-log", "");
    let paths = ["/usr/sbin/", "/dev/termination-log"];
    let output = root.script(SERVER, &paths).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    let path = root.path("usr/sbin/sshd").display().to_string();
    assert_eq!(
        message,
        format!(
            "the image of Nova lacks {path}, so that no server moves to this host: build it with OpenSSH, push it under another tag, since \
             nodes keep the image that they have of a tag, and name it in spec.images.nova of the HypervisorPool\n"
        )
    );
    let ended = fs::read_to_string(root.path("dev/termination-log")).unwrap();
    assert_eq!(ended, message, "the status of the pod has it");
}

/// What nova-compute finds in its pod, but for sockets.
fn pod() -> Root {
    let root = Root::new();
    for folder in [
        "run/agent",
        "root/.ssh",
        "run/openvswitch",
        "var/lib/nova/instances",
    ] {
        fs::create_dir_all(root.path(folder)).unwrap();
    }
    root.write("run/libvirt/ceph-keys-defined", "");
    root.program("sleep", "PATH=${PATH#*:} exec sleep 0.01");
    root
}

/// Starts nova-compute.
fn nova_compute(root: &Root) -> Command {
    let mut command = root.script(
        CLIENT,
        &["/var/lib/", "/run/", "/root/.ssh", "/etc/nova/migration"],
    );
    for (name, value) in [
        ("NODE_NAME", "node-a"),
        ("HOST_IP", "10.0.0.1"),
        ("VIRTUALIZATION", "kvm"),
        ("LIVE_MIGRATION", "false"),
        ("RESERVED_MEMORY", "4096"),
        ("RESERVED_DISK", "0"),
        ("MIGRATION_PORT", "8022"),
    ] {
        command.env(name, value);
    }
    command.stderr(Stdio::null());
    command
}

#[test]
fn nova_compute_waits_until_libvirt_answers_at_the_socket_that_the_last_one_left() {
    let root = pod();
    root.program("chgrp", "exit 1");
    root.program("sleep", "touch \"$ROOT/waits\"");
    root.program("nova-compute", "touch \"$ROOT/started\"");
    let libvirt = root.path("run/libvirt/libvirt-sock");
    drop(UnixListener::bind(&libvirt).unwrap());
    let _switch = UnixListener::bind(root.path("run/openvswitch/db.sock")).unwrap();

    let mut compute = nova_compute(&root).spawn().unwrap();
    while !root.path("waits").exists() {
        assert_eq!(compute.try_wait().unwrap(), None);
    }
    assert!(!root.path("started").exists());
    fs::remove_file(&libvirt).unwrap();
    let _libvirt = UnixListener::bind(&libvirt).unwrap();
    assert!(compute.wait().unwrap().success());
    assert!(root.path("started").exists());
}

/// A server that is missing later was migrated live while nova-compute didn't run: a second one would write to the same disks.
#[test]
fn nova_compute_starts_servers_again_after_a_reboot_and_no_later() {
    let root = pod();
    root.program("chgrp", "exit 1");
    let runs = "cp \"$ROOT/run/agent/node.conf\" \"$ROOT/conf\"
        until [ -e \"$ROOT/run/libvirt/servers-resumed\" ]; do PATH=${PATH#*:} sleep 0.01; done";
    root.program("nova-compute", runs);
    let _sockets = ["run/libvirt/libvirt-sock", "run/openvswitch/db.sock"]
        .map(|socket| UnixListener::bind(root.path(socket)).unwrap());
    let resumes = || {
        assert!(nova_compute(&root).status().unwrap().success());
        let file = fs::read_to_string(root.path("conf")).unwrap();
        let default = file.split("\n[").next().unwrap().to_owned();
        !default.contains("\nresume_guests_state_on_host_boot = false")
    };
    assert_eq!([resumes(), resumes(), resumes()], [true, false, false]);
}

/// Starts nova-compute where the folder of servers belongs to a group, or can't.
#[rstest]
#[case::of_its_own("echo \"$@\" > \"$ROOT/chgrp\"", 0o1775)]
#[case::that_takes_no_group("exit 1", 0o755)]
fn nova_compute_connects_to_other_hosts_with_the_key_of_the_share(
    #[case] chgrp: &str,
    #[case] mode: u32,
) {
    let root = pod();
    root.program("chgrp", chgrp);
    root.program("nova-compute", "echo \"$PATH\" > \"$ROOT/path\"");
    let instances = root.path("var/lib/nova/instances");
    fs::set_permissions(&instances, Permissions::from_mode(0o755)).unwrap();
    let _sockets = ["run/libvirt/libvirt-sock", "run/openvswitch/db.sock"]
        .map(|socket| UnixListener::bind(root.path(socket)).unwrap());
    assert!(nova_compute(&root).status().unwrap().success());

    let text = |file: &str| fs::read_to_string(root.path(file)).unwrap();
    let found = fs::metadata(&instances).unwrap().permissions().mode();
    assert_eq!(found & 0o7777, mode);
    if mode == 0o1775 {
        assert_eq!(text("chgrp"), format!("42424 {}\n", instances.display()));
    }
    let [key, known, programs] =
        [KEY, "run/agent/known-hosts", "run/agent/bin"].map(|path| root.path(path));
    let configuration = text("root/.ssh/config");
    for line in [
        "Port 8022".to_owned(),
        "User openstack".to_owned(),
        format!("IdentityFile {}", key.display()),
        "HostKeyAlias hypervisor".to_owned(),
        format!("UserKnownHostsFile {}", known.display()),
        "GlobalKnownHostsFile none".to_owned(),
        "StrictHostKeyChecking yes".to_owned(),
    ] {
        assert!(
            configuration.lines().any(|other| other.trim() == line),
            "{line} isn't in:\n{configuration}"
        );
    }
    let first = format!("{}:", programs.display());
    assert!(text("path").starts_with(&first), "{}", text("path"));
    let client = programs.join("ssh");
    assert_eq!(
        text("run/agent/bin/scp"),
        format!(
            "#!/bin/sh\nexec /usr/bin/scp -O -S {} \"$@\"\n",
            client.display()
        )
    );
    for program in ["ssh", "scp"] {
        let found = fs::metadata(programs.join(program)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o755, "{program}");
    }

    root.program("ssh-keygen", SSH_KEYGEN);
    root.program("ssh", "echo \"$@\" > \"$ROOT/ssh\"");
    let connect = || {
        let script = text("run/agent/bin/ssh").replace("/usr/bin/ssh", "ssh");
        let connected = root.script(&script, &[]).args(["node-b", "true"]).status();
        connected.unwrap().success()
    };
    root.write(KEY, "unusable");
    assert!(!connect(), "without a key, a former one would be known");
    assert!(!root.path("ssh").exists());
    for key in ["private", "next-private"] {
        root.write(KEY, key);
        assert!(connect());
        let expected = format!("hypervisor ecdsa-sha2-nistp256 of-{key}\n");
        assert_eq!(text("run/agent/known-hosts"), expected);
        assert_eq!(text("ssh"), "node-b true\n");
    }
}
