//! What libvirt's container does beside libvirt, as a script: keys of Ceph, certificates, and logs of consoles.

mod consoles;
mod migration;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::root::Root;

const SCRIPT: &str = include_str!("../../src/scripts/libvirtd.sh");
/// Paths of the container that are in the temporary folder.
const PATHS: [&str; 8] = [
    "/var/lib/",
    "/var/log/libvirt",
    "/etc/libvirt",
    "/run/libvirt",
    "/sys/fs/cgroup",
    "/proc/self/",
    "/dev/ptmx",
    "/dev/kvm",
];
/// How long something may take that happens within milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

const FIRST: &str = "11111111-aaaa-bbbb-cccc-000000000001";
const SECOND: &str = "22222222-aaaa-bbbb-cccc-000000000002";
const DEFINED: &str = "run/libvirt/ceph-keys-defined";
const CERTIFICATE: &str = "etc/libvirt/tls/tls.crt";
/// The folders with the certificate of the node, and with that of consoles: as the pod gets them.
const NODE: &str = "etc/libvirt/tls";
const CONSOLES: &str = "etc/libvirt/consoles";
/// The folders from which QEMU reads them.
const MIGRATION: &str = "var/lib/libvirt/migration";
const READ: &str = "var/lib/libvirt/consoles";

/// Fails while libvirt is down, and else writes what it is told. A server without TLS refuses to reload its certificate, and one that is
/// stuck doesn't answer.
const VIRSH: &str = r#"
[ ! -e "$ROOT/down" ] || exit 1
while [ "${1#-}" != "$1" ] || [ "$1" = qemu:///system ]; do shift; done
case $1 in
    secret-define) echo "define $(cat "$2")" >> "$ROOT/virsh" ;;
    secret-set-value) echo "set $2 $(cat "$4")" >> "$ROOT/virsh" ;;
    list) cat "$ROOT/servers" ;;
    domdisplay-reload)
        echo "$2" >> "$ROOT/reloaded"
        [ "$2" != stuck ] || PATH=${PATH#*:} exec sleep 600
        [ "$2" != plain ]
        ;;
    *) exit 1 ;;
esac
"#;
const VIRT_ADMIN: &str = r#"
[ ! -e "$ROOT/down" ] || exit 1
echo "$@" >> "$ROOT/virt-admin"
"#;
/// For a server that is stuck, a minute passes as soon as it was told to reload.
const TIMEOUT: &str = r#"
limit=$1
shift
case "$limit $* " in
    "60 "*" stuck ")
        "$@" &
        until grep -qsx stuck "$ROOT/reloaded"; do PATH=${PATH#*:} sleep 0.02; done
        kill "$!"
        exit 124
        ;;
esac
exec "$(PATH=${PATH#*:} command -v timeout)" --foreground "$limit" "$@"
"#;
/// Counts how often each loop waits. An hour passes where the test says so.
const SLEEP: &str = r#"
echo >> "$ROOT/slept-$1"
time=0.02
[ "$1" != 3600 ] || [ -e "$ROOT/hours" ] || time=600
PATH=${PATH#*:} exec sleep "$time"
"#;
/// This machine may have no group of QEMU's.
const INSTALL: &str = r#"
case " $* " in *" --group=libvirt-qemu "*) ;; *) exit 1 ;; esac
for word; do
    shift
    case $word in --group=*) ;; *) set -- "$@" "$word" ;; esac
done
PATH=${PATH#*:} exec install "$@"
"#;

/// The container.
struct Pod {
    root: Root,
    process: Child,
}

impl Pod {
    /// Starts it on a node that `prepare` makes.
    fn start(prepare: impl FnOnce(&Root)) -> Self {
        let root = Root::new();
        for (name, program) in [
            ("virsh", VIRSH),
            ("virt-admin", VIRT_ADMIN),
            ("timeout", TIMEOUT),
            ("sleep", SLEEP),
            ("install", INSTALL),
            ("mknod", ""),
            (
                "libvirtd",
                "touch \"$ROOT/started\"\nPATH=${PATH#*:} exec sleep 600\n",
            ),
        ] {
            root.program(name, program);
        }
        for file in [
            "etc/libvirt/config/libvirtd.conf",
            "etc/libvirt/config/qemu.conf",
            "sys/fs/cgroup/cgroup.controllers",
        ] {
            root.write(file, "");
        }
        root.write("proc/self/cgroup", "0::/kubepods.slice/pod1/libvirtd\n");
        for folder in [
            "etc/libvirt/keys/ceph",
            "run/libvirt",
            "var/lib/nova/instances",
        ] {
            fs::create_dir_all(root.path(folder)).unwrap();
        }
        prepare(&root);
        let mut command = root.script(SCRIPT, &PATHS);
        command
            .env("VIRTUALIZATION", "qemu")
            .process_group(0)
            .stdout(Stdio::null());
        let process = command.spawn().unwrap();
        Self { root, process }
    }

    /// Starts it with the certificates of the node and of consoles, on a node with servers, and waits until libvirt runs.
    fn encrypted(servers: &str, prepare: impl FnOnce(&Root)) -> Self {
        let pod = Self::start(|root| {
            give(root, NODE, "the node");
            give(root, CONSOLES, "consoles");
            root.write("servers", servers);
            prepare(root);
        });
        pod.until("libvirt starts", |pod| pod.exists("started"));
        pod
    }

    fn exists(&self, file: &str) -> bool {
        self.root.path(file).exists()
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.path(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}");
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits until each loop has seen everything that is so now.
    fn rounds(&self) {
        let consoles = self.exists(CONSOLES).then_some("slept-5");
        for loop_ in ["slept-2", "slept-10"].into_iter().chain(consoles) {
            let before = self.lines(loop_).len();
            self.until(loop_, |pod| pod.lines(loop_).len() >= before + 3);
        }
    }

    /// Replaces a file as the kubelet does: at once.
    fn replace(&self, file: &str, text: &str) {
        self.root.write("new", text);
        fs::rename(self.root.path("new"), self.root.path(file)).unwrap();
    }

    /// What QEMU reads for consoles: the authority, the certificate and its key.
    fn read(&self) -> [String; 3] {
        self.read_as("server", READ)
    }

    /// What QEMU reads in a folder, as a server or as a client.
    fn read_as(&self, side: &str, folder: &str) -> [String; 3] {
        let files = [
            "ca-cert.pem".to_owned(),
            format!("{side}-cert.pem"),
            format!("{side}-key.pem"),
        ];
        files.map(|file| {
            let path = self.root.path(&format!("{folder}/{file}"));
            fs::read_to_string(path).unwrap_or_default()
        })
    }

    fn mode(&self, file: &str) -> u32 {
        let metadata = fs::metadata(self.root.path(file)).unwrap();
        metadata.permissions().mode() & 0o777
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let end = format!("kill -9 -{}", self.process.id());
        let _ = Command::new("sh").args(["-c", &end]).status();
        let _ = self.process.wait();
    }
}

/// Puts a certificate there.
fn give(root: &Root, folder: &str, name: &str) {
    for (file, text) in ["ca.crt", "tls.crt", "tls.key"].iter().zip(of(name)) {
        root.write(&format!("{folder}/{file}"), &text);
    }
}

/// The files of a certificate.
fn of(name: &str) -> [String; 3] {
    ["authority", "certificate", "key"].map(|file| format!("{file} of {name}"))
}

fn key(uuid: &str) -> String {
    format!("etc/libvirt/keys/ceph/ceph-key-{uuid}")
}

/// What libvirt is told of a key.
fn definition(uuid: &str, value: &str) -> [String; 2] {
    [
        format!(
            "define <secret ephemeral=\"yes\" private=\"yes\"><uuid>{uuid}</uuid><usage type=\"ceph\"><name>{uuid}</name></usage></secret>"
        ),
        format!("set {uuid} {value}"),
    ]
}

#[test]
fn keys_of_ceph_are_defined_when_libvirt_starts_and_again_when_one_changes() {
    let pod = Pod::start(|root| {
        root.write(&key(FIRST), "old");
        root.write(&key(SECOND), "other");
        root.write(&key("..data"), "of the kubelet");
        // What the pod before has left.
        root.write(DEFINED, "");
        root.write("down", "");
    });
    pod.until("libvirt starts", |pod| pod.exists("started"));
    pod.rounds();
    assert!(!pod.exists(DEFINED), "nova-compute waits for the keys");
    fs::remove_file(pod.root.path("down")).unwrap();
    pod.until("the keys are defined", |pod| pod.exists(DEFINED));
    let both = |value| [definition(FIRST, value), definition(SECOND, "other")].concat();
    assert_eq!(pod.lines("virsh"), both("old"));
    pod.rounds();
    assert_eq!(pod.lines("virsh"), both("old"), "once is enough");
    pod.replace(&key(FIRST), "new");
    pod.rounds();
    assert_eq!(pod.lines("virsh"), [both("old"), both("new")].concat());
    assert!(pod.exists(DEFINED));
}

/// libvirt was killed between two keys, or is restarted.
#[test]
fn changed_key_is_defined_once_libvirt_answers() {
    let pod = Pod::start(|root| root.write(&key(FIRST), "old"));
    pod.until("the key is defined", |pod| pod.exists(DEFINED));
    pod.root.write("down", "");
    pod.replace(&key(FIRST), "new");
    pod.rounds();
    assert_eq!(pod.lines("virsh"), definition(FIRST, "old"));
    fs::remove_file(pod.root.path("down")).unwrap();
    pod.rounds();
    let expected = [definition(FIRST, "old"), definition(FIRST, "new")].concat();
    assert_eq!(pod.lines("virsh"), expected);
}

#[test]
fn node_without_ceph_waits_for_no_key_and_without_tls_loads_no_certificate() {
    let pod = Pod::start(|_| ());
    pod.until("nova-compute may start", |pod| pod.exists(DEFINED));
    pod.rounds();
    assert_eq!(pod.lines("virsh"), Vec::<String>::new());
    assert_eq!(pod.lines("virt-admin"), Vec::<String>::new());
}

#[test]
fn renewed_certificate_is_loaded_once_and_again_if_libvirt_did_not_answer() {
    let pod = Pod::start(|root| root.write(CERTIFICATE, "first"));
    pod.until("libvirt starts", |pod| pod.exists("started"));
    pod.rounds();
    assert_eq!(
        pod.lines("virt-admin"),
        Vec::<String>::new(),
        "libvirt has read it"
    );
    pod.replace(CERTIFICATE, "second");
    pod.rounds();
    let reload = "--quiet server-update-tls libvirtd";
    assert_eq!(pod.lines("virt-admin"), [reload]);
    pod.root.write("down", "");
    pod.replace(CERTIFICATE, "third");
    pod.rounds();
    assert_eq!(pod.lines("virt-admin"), [reload]);
    fs::remove_file(pod.root.path("down")).unwrap();
    pod.rounds();
    assert_eq!(pod.lines("virt-admin"), [reload, reload]);
}

/// QEMU continues at its offset, so that the size of a log says nothing.
#[test]
fn log_of_a_console_begins_anew_once_it_takes_16_mib_of_the_disk() {
    let file = |name: &str| format!("var/lib/nova/instances/{name}");
    let large = "x".repeat(17 << 20);
    let pod = Pod::start(|root| {
        root.write(&file("uuid-1/console.log"), &large);
        root.write(&file("uuid-2/console.log"), "small");
        root.write(&file("uuid-1/disk"), &large);
        root.write(&file("uuid-3/console.log"), "");
        let sparse = fs::OpenOptions::new()
            .write(true)
            .open(root.path(&file("uuid-3/console.log")));
        sparse.unwrap().set_len(1 << 30).unwrap();
    });
    pod.rounds();
    let sizes = [
        "uuid-1/console.log",
        "uuid-2/console.log",
        "uuid-1/disk",
        "uuid-3/console.log",
    ];
    let sizes = sizes.map(|name| fs::metadata(pod.root.path(&file(name))).unwrap().len());
    assert_eq!(sizes, [0, 5, 17 << 20, 1 << 30]);
}

/// libvirt has no daemon for logs, which would end with the pod.
#[test]
fn log_of_qemu_begins_anew_once_it_takes_16_mib_of_the_disk() {
    let file = |name: &str| format!("var/log/libvirt/qemu/{name}");
    let large = "x".repeat(17 << 20);
    let pod = Pod::start(|root| {
        root.write(&file("instance-1.log"), &large);
        root.write(&file("instance-2.log"), "small");
    });
    pod.rounds();
    let sizes = ["instance-1.log", "instance-2.log"];
    let sizes = sizes.map(|name| fs::metadata(pod.root.path(&file(name))).unwrap().len());
    assert_eq!(sizes, [0, 5]);
}

#[test]
fn libvirt_leaves_the_control_groups_of_its_pod_before_it_starts_a_server() {
    let pod = Pod::start(|_| ());
    pod.until("libvirt starts", |pod| pod.exists("started"));
    let processes = pod
        .root
        .path("sys/fs/cgroup/openstack-servers/cgroup.procs");
    assert_eq!(fs::read_to_string(processes).unwrap(), "0\n");
}

#[test]
fn libvirt_does_not_start_where_servers_would_end_with_its_pod() {
    let mut pod = Pod::start(|root| root.write("proc/self/cgroup", "0::/elsewhere\n"));
    assert!(!pod.process.wait().unwrap().success());
    assert!(!pod.exists("started"));
}
