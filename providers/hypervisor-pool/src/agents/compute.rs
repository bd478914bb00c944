//! libvirt and nova-compute: servers.

use c5c3_api::hypervisor::{AgentImages, Agents, HypervisorPoolSpec, Virtualization};
use c5c3_api::parts::name_of;
use k8s_openapi::api::core::v1::{Container, Probe};
use provider_openstack::{Prerequisite, digest, empty_dir, secret_volume, variable};

use super::{CERTIFICATE, LIBVIRT, PROVIDERS, migration, propagated, run_openvswitch, with_mount};
use crate::configuration::{CEPH_KEYS, CONSOLES, Configuration};
use crate::images;
use crate::pod::{
    Agent, Pace, Processes, Rights, config_map_volume, container, host_folder, mount, node_folder,
    node_variables, probe, requirements, resources, secrets,
};

/// libvirt-qemu, the group in the image that QEMU belongs to.
const QEMU_GROUP: i64 = 64055;

/// libvirt: starts and stops servers. Servers run in control groups of their own, and outlive its pods.
pub fn libvirt(
    settings: &Agents,
    images: &AgentImages,
    lease: &str,
    configuration: &[&str],
) -> Agent {
    let image = images::libvirt(images);
    let encrypted = settings.is_encrypted();
    let virtualization = variable("VIRTUALIZATION", name_of(settings.hosts.virtualization));
    // Starts processes in control groups of the node, gives them devices of the node, and reads all of their memory.
    let mut daemon = Container {
        env: Some(vec![virtualization]),
        args: Some(vec!["--listen".to_owned()]).filter(|_| encrypted),
        resources: Some(resources("100m", "128Mi", "2Gi")),
        readiness_probe: Some(probe(&["virsh", "--connect", "qemu:///system", "version"])),
        volume_mounts: Some(vec![
            mount("config", "/etc/libvirt/config"),
            mount("ceph", "/etc/libvirt/keys/ceph"),
            mount("definitions", "/etc/libvirt/qemu"),
            mount("run-libvirt", "/run/libvirt"),
            mount("libvirt", "/var/lib/libvirt"),
            mount("log", "/var/log/libvirt"),
            propagated("nova", "/var/lib/nova", "HostToContainer"),
            mount("run-openvswitch", "/run/openvswitch"),
            mount("cgroup", "/sys/fs/cgroup"),
            mount("terminals", "/dev/pts"),
        ]),
        ..container(
            "libvirtd",
            &image,
            include_str!("../scripts/libvirtd.sh"),
            Rights::Privileged,
        )
    };
    let mut volumes = vec![
        node_folder("dev", "/dev"),
        config_map_volume("config", LIBVIRT),
        secrets("ceph", &CEPH_KEYS),
        host_folder("definitions", "/var/lib/libvirt/definitions"),
        host_folder("run-libvirt", "/run/libvirt"),
        host_folder("libvirt", "/var/lib/libvirt"),
        host_folder("log", "/var/log/libvirt"),
        host_folder("nova", "/var/lib/nova"),
        run_openvswitch(),
        node_folder("cgroup", "/sys/fs/cgroup"),
        node_folder("terminals", "/dev/pts"),
    ];
    if encrypted {
        daemon = with_mount(daemon, mount("tls", "/etc/libvirt/tls"));
        daemon = with_mount(daemon, mount("consoles", "/etc/libvirt/consoles"));
        volumes.push(secret_volume("tls", CERTIFICATE));
        volumes.push(secrets("consoles", &[CONSOLES]));
    }
    let mut needed = vec!["tun"];
    needed.extend(Some("kvm").filter(|_| settings.hosts.virtualization == Virtualization::Kvm));
    Agent {
        requirements: Some(requirements(&image, &needed, "", lease)),
        containers: vec![daemon],
        volumes,
        processes: Processes::Node,
        group: Some(QEMU_GROUP).filter(|_| encrypted),
        pace: Pace::Tenth,
        grace: 30,
        configuration: digest(configuration.iter().copied()),
    }
}

/// nova-compute: carries out what Nova decides.
///
/// # Errors
/// The configuration lacks something.
pub fn nova_compute(
    settings: &Agents,
    pool: &HypervisorPoolSpec,
    nova: &Configuration,
    providers: &str,
) -> Prerequisite<Agent> {
    // os-vif, os-brick and Nova drop all capabilities but these for each thing that they do as root: files of QEMU's user,
    // ports, and mounts.
    let rights = Rights::Capabilities(&[
        "CHOWN",
        "DAC_OVERRIDE",
        "DAC_READ_SEARCH",
        "FOWNER",
        "NET_ADMIN",
        "SYS_ADMIN",
    ]);
    let encrypted = settings.is_encrypted();
    let reserved = &pool.system_reserved;
    let mut env = node_variables();
    env.extend([
        variable("VIRTUALIZATION", name_of(settings.hosts.virtualization)),
        variable("LIVE_MIGRATION", if encrypted { "true" } else { "false" }),
        variable("RESERVED_MEMORY", reserved.memory_mb.to_string()),
        variable("RESERVED_DISK", reserved.disk_mb.to_string()),
    ]);
    env.extend(migration::variables());
    let compute = Container {
        env: Some(env),
        resources: Some(resources("100m", "256Mi", "2Gi")),
        // A socket of libvirt that is newer than the process: the process holds a connection to one that is gone.
        // A restart fails the servers that are being built, so a busy host gets more time to answer than others.
        liveness_probe: Some(Probe {
            timeout_seconds: Some(30),
            ..probe(&[
                "sh",
                "-c",
                "[ ! -e /run/agent/started ] || [ ! /run/libvirt/libvirt-sock -nt /run/agent/started ]",
            ])
        }),
        readiness_probe: Some(probe(&["test", "-e", "/run/agent/started"])),
        volume_mounts: Some(vec![
            mount("config", "/etc/nova/config"),
            mount("providers", "/etc/nova/provider_config"),
            mount("agent", "/run/agent"),
            mount("run-openvswitch", "/run/openvswitch"),
            mount("run-libvirt", "/run/libvirt"),
            propagated("nova", "/var/lib/nova", "HostToContainer"),
            mount("terminals", "/dev/pts"),
            mount("migration", migration::KEY_FOLDER),
            mount("ssh", "/root/.ssh"),
            mount("tmp", "/tmp"),
        ]),
        ..container(
            "nova-compute",
            &images::of(nova, &pool.images)?,
            include_str!("../scripts/nova-compute.sh"),
            rights,
        )
    };
    Ok(Agent {
        containers: vec![compute],
        volumes: vec![
            secret_volume("config", nova.name),
            config_map_volume("providers", PROVIDERS),
            empty_dir("agent"),
            run_openvswitch(),
            host_folder("run-libvirt", "/run/libvirt"),
            host_folder("nova", "/var/lib/nova"),
            node_folder("terminals", "/dev/pts"),
            migration::client_key(),
            empty_dir("ssh"),
            empty_dir("tmp"),
        ],
        // It starts for seconds. Told to end meanwhile, it would work until the end of the grace period, and be killed amid its work.
        processes: Processes::Pod,
        // An attachment or a disk that is being copied is finished first. Nova doesn't wait for builds.
        grace: 180,
        configuration: digest([nova.digest().as_str(), providers]),
        ..Agent::default()
    })
}
