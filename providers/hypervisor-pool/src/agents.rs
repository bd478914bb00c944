//! The agents of a share, each with what it may do on a node and why.

use c5c3_api::REGISTRY;
use c5c3_api::hypervisor::{Agents, Datapath, Virtualization};
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, ExecAction, Lifecycle, LifecycleHandler, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_openstack::{Awaited, digest, table};

use crate::configuration::Configuration;
use crate::pod::{
    Agent, Rights, container, host_folder, mount, node_folder, node_variables, probe, requirements,
    resources, scratch, secret, variable,
};

/// The ConfigMap with libvirt's configuration, and the volume that it is.
pub const LIBVIRT: &str = "libvirt";
/// The Secret with the nodes' certificate.
pub const CERTIFICATE: &str = "hypervisor-tls";
/// libvirt-qemu, the group in the image that QEMU belongs to.
const QEMU_GROUP: i64 = 64055;

/// Open vSwitch: the switch on each node, whoever programs it.
///
/// One node at a time: with the datapath in user space traffic stops while it restarts.
///
/// # Errors
/// The configuration names no image.
pub fn open_vswitch(settings: &Agents, ovn: &Configuration) -> Awaited<Agent> {
    let image = ovn.line("ovsImage")?;
    let (interface, datapath) = (tunnel_interface(settings), datapath(settings));
    let common = |command: &[&str]| Container {
        readiness_probe: Some(probe(command)),
        volume_mounts: Some(vec![
            mount("run-openvswitch", "/run/openvswitch"),
            mount("openvswitch", "/var/lib/openvswitch"),
            mount("tmp", "/tmp"),
        ]),
        ..Container::default()
    };
    // Files and a socket of root's: needs no capability.
    let database = Container {
        resources: Some(resources("50m", "64Mi", "512Mi")),
        ..merged(
            container(
                "ovsdb-server",
                image,
                include_str!("scripts/ovsdb-server.sh"),
                Rights::Capabilities(&[]),
            ),
            common(&["ovs-vsctl", "--timeout=3", "--no-wait", "show"]),
        )
    };
    // NET_ADMIN creates ports and programs the kernel's datapath; NET_RAW opens packet sockets on interfaces.
    let switch = Container {
        env: Some(vec![
            variable("DATAPATH", datapath),
            variable("TUNNEL_INTERFACE", interface),
        ]),
        resources: Some(resources("200m", "128Mi", "2Gi")),
        ..merged(
            container(
                "ovs-vswitchd",
                image,
                include_str!("scripts/ovs-vswitchd.sh"),
                Rights::Capabilities(&["NET_ADMIN", "NET_RAW"]),
            ),
            common(&[
                "ovs-appctl",
                "--timeout=3",
                "--target=/run/openvswitch/ovs-vswitchd.ctl",
                "version",
            ]),
        )
    };
    let switch = with_mount(switch, mount("net", "/dev/net"));
    let mut needed = vec!["tun"];
    needed.extend(Some("openvswitch").filter(|_| settings.datapath == Datapath::System));
    needed.extend(Some("interface").filter(|_| !interface.is_empty()));
    Ok(Agent {
        requirements: Some(requirements(image, &needed, interface)),
        containers: vec![database, switch],
        volumes: vec![
            node_folder("dev", "/dev"),
            host_folder("net", "/dev/net"),
            run_openvswitch(),
            host_folder("openvswitch", "/var/lib/openvswitch"),
            scratch("tmp"),
        ],
        host_pid: false,
        group: None,
        max_unavailable: IntOrString::Int(1),
        grace: 30,
        configuration: String::new(),
    })
}

/// ovn-controller: programs Open vSwitch as the southbound database says. `mappings` are the bridges to physical networks, each
/// `network:bridge`.
///
/// # Errors
/// The configuration lacks something.
pub fn ovn_controller(
    settings: &Agents,
    ovn: &Configuration,
    mappings: &[String],
) -> Awaited<Agent> {
    let options = match settings.gateway {
        true => "enable-chassis-as-gw",
        false => "",
    };
    let mut env = node_variables();
    env.extend([
        variable("OVN_REMOTE", ovn.line("remote")?),
        variable("DATAPATH", datapath(settings)),
        variable("TUNNEL_INTERFACE", tunnel_interface(settings)),
        variable("BRIDGE_MAPPINGS", &mappings.join(" ")),
        variable("CHASSIS_OPTIONS", options),
    ]);
    // Sockets of root's, and connections: needs no capability.
    let script = include_str!("scripts/ovn-controller.sh");
    let image = ovn.line("image")?;
    let mut controller = Container {
        env: Some(env),
        resources: Some(resources("50m", "128Mi", "2Gi")),
        readiness_probe: Some(probe(&[
            "sh",
            "-c",
            "[ \"$(ovn-appctl --timeout=3 -t ovn-controller connection-status)\" = connected ]",
        ])),
        lifecycle: Some(Lifecycle {
            pre_stop: Some(LifecycleHandler {
                exec: Some(ExecAction {
                    // Without --restart it would remove the node from the southbound database, and its flows.
                    command: Some(
                        ["ovn-appctl", "-t", "ovn-controller", "exit", "--restart"]
                            .map(str::to_owned)
                            .into(),
                    ),
                }),
                ..LifecycleHandler::default()
            }),
            ..Lifecycle::default()
        }),
        volume_mounts: Some(vec![
            mount("run-openvswitch", "/run/openvswitch"),
            mount("run-ovn", "/run/ovn"),
            mount("tmp", "/tmp"),
        ]),
        ..container("ovn-controller", image, script, Rights::Capabilities(&[]))
    };
    let mut volumes = vec![run_openvswitch(), scratch("run-ovn"), scratch("tmp")];
    if ovn.has("tls.key") {
        let files = [
            ("--ca-cert", "ca.crt"),
            ("--certificate", "tls.crt"),
            ("--private-key", "tls.key"),
        ];
        let arguments = files.map(|(option, file)| format!("{option}=/etc/ovn/tls/{file}"));
        controller.args = Some(arguments.into());
        controller = with_mount(controller, mount("tls", "/etc/ovn/tls"));
        volumes.push(secret("tls", ovn.name));
    }
    Ok(Agent {
        requirements: None,
        containers: vec![controller],
        volumes,
        host_pid: false,
        group: None,
        max_unavailable: most(),
        grace: 30,
        configuration: ovn.digest(),
    })
}

/// neutron-ovn-agent: answers servers' requests for metadata, from a namespace for each network.
///
/// # Errors
/// The configuration lacks something.
pub fn neutron_agent(ovn: &Configuration, neutron: &Configuration) -> Awaited<Agent> {
    let script = include_str!("scripts/neutron-ovn-agent.sh");
    // Network namespaces are mounts that the node must see, and only a privileged container may pass mounts on.
    let agent = container(
        "neutron-ovn-agent",
        neutron.line("image")?,
        script,
        Rights::Privileged,
    );
    let mut mounts = vec![
        mount("config", "/etc/neutron/config"),
        mount("agent", "/run/agent"),
        mount("run-openvswitch", "/run/openvswitch"),
        VolumeMount {
            mount_propagation: Some("Bidirectional".to_owned()),
            ..mount("netns", "/run/netns")
        },
        mount("state", "/var/lib/neutron"),
        mount("tmp", "/tmp"),
    ];
    let mut volumes = vec![
        secret("config", neutron.name),
        scratch("agent"),
        run_openvswitch(),
        host_folder("netns", "/run/netns"),
        scratch("state"),
        scratch("tmp"),
    ];
    if ovn.has("tls.key") {
        mounts.push(mount("tls", "/etc/ovn/tls"));
        volumes.push(secret("tls", ovn.name));
    }
    let agent = Container {
        env: Some(node_variables()),
        resources: Some(resources("50m", "256Mi", "2Gi")),
        volume_mounts: Some(mounts),
        ..agent
    };
    Ok(Agent {
        requirements: None,
        containers: vec![agent],
        volumes,
        host_pid: false,
        group: None,
        max_unavailable: most(),
        grace: 30,
        configuration: digest([neutron.digest().as_str(), ovn.digest().as_str()]),
    })
}

/// libvirt: starts and stops servers. Servers run in control groups of their own, and outlive its pods.
pub fn libvirt(settings: &Agents, configuration: &[&str]) -> Agent {
    let image = match &settings.libvirt_image {
        Some(image) => image.clone(),
        None => format!("{REGISTRY}/libvirt:{}", table::LIBVIRT),
    };
    let encrypted = settings.issuer_ref.is_some();
    // Starts processes in control groups of the node, gives them devices of the node, and reads all of their memory.
    let mut daemon = Container {
        env: Some(vec![variable("VIRTUALIZATION", virtualization(settings))]),
        args: Some(vec!["--listen".to_owned()]).filter(|_| encrypted),
        resources: Some(resources("100m", "128Mi", "2Gi")),
        readiness_probe: Some(probe(&["virsh", "--connect", "qemu:///system", "version"])),
        volume_mounts: Some(vec![
            mount("config", "/etc/libvirt/config"),
            mount("definitions", "/etc/libvirt/qemu"),
            mount("run-libvirt", "/run/libvirt"),
            mount("libvirt", "/var/lib/libvirt"),
            mount("log", "/var/log/libvirt"),
            VolumeMount {
                mount_propagation: Some("HostToContainer".to_owned()),
                ..mount("nova", "/var/lib/nova")
            },
            mount("run-openvswitch", "/run/openvswitch"),
            mount("cgroup", "/sys/fs/cgroup"),
            mount("terminals", "/dev/pts"),
        ]),
        ..container(
            "libvirtd",
            &image,
            include_str!("scripts/libvirtd.sh"),
            Rights::Privileged,
        )
    };
    let mut volumes = vec![
        node_folder("dev", "/dev"),
        Volume {
            name: "config".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: LIBVIRT.to_owned(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
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
        volumes.push(secret("tls", CERTIFICATE));
    }
    let mut needed = vec!["tun"];
    needed.extend(Some("kvm").filter(|_| settings.virtualization == Virtualization::Kvm));
    Agent {
        requirements: Some(requirements(&image, &needed, "")),
        containers: vec![daemon],
        volumes,
        host_pid: true,
        group: Some(QEMU_GROUP).filter(|_| encrypted),
        max_unavailable: most(),
        grace: 30,
        configuration: digest(configuration.iter().copied()),
    }
}

/// nova-compute: carries out what Nova decides.
///
/// # Errors
/// The configuration lacks something.
pub fn nova_compute(settings: &Agents, nova: &Configuration, providers: &str) -> Awaited<Agent> {
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
    let encrypted = settings.issuer_ref.is_some();
    let mut env = node_variables();
    env.extend([
        variable("VIRTUALIZATION", virtualization(settings)),
        variable("LIVE_MIGRATION", if encrypted { "true" } else { "false" }),
    ]);
    let compute = Container {
        env: Some(env),
        resources: Some(resources("100m", "256Mi", "2Gi")),
        // A socket of libvirt that is newer than the process: the process holds a connection to one that is gone.
        liveness_probe: Some(probe(&[
            "sh",
            "-c",
            "[ ! -e /run/agent/started ] || [ ! /run/libvirt/libvirt-sock -nt /run/agent/started ]",
        ])),
        readiness_probe: Some(probe(&["test", "-e", "/run/agent/started"])),
        volume_mounts: Some(vec![
            mount("config", "/etc/nova/config"),
            mount("providers", "/etc/nova/provider_config"),
            mount("agent", "/run/agent"),
            mount("run-openvswitch", "/run/openvswitch"),
            mount("run-libvirt", "/run/libvirt"),
            VolumeMount {
                mount_propagation: Some("HostToContainer".to_owned()),
                ..mount("nova", "/var/lib/nova")
            },
            mount("terminals", "/dev/pts"),
            mount("tmp", "/tmp"),
        ]),
        ..container(
            "nova-compute",
            nova.line("image")?,
            include_str!("scripts/nova-compute.sh"),
            rights,
        )
    };
    Ok(Agent {
        requirements: None,
        containers: vec![compute],
        volumes: vec![
            secret("config", nova.name),
            Volume {
                name: "providers".to_owned(),
                config_map: Some(ConfigMapVolumeSource {
                    name: PROVIDERS.to_owned(),
                    ..ConfigMapVolumeSource::default()
                }),
                ..Volume::default()
            },
            scratch("agent"),
            run_openvswitch(),
            host_folder("run-libvirt", "/run/libvirt"),
            host_folder("nova", "/var/lib/nova"),
            node_folder("terminals", "/dev/pts"),
            scratch("tmp"),
        ],
        host_pid: false,
        group: None,
        max_unavailable: most(),
        // A server that is being started, or a disk that is being copied, is finished first.
        grace: 180,
        configuration: digest([nova.digest().as_str(), providers]),
    })
}

/// The ConfigMap with what Placement is told of the nodes.
pub const PROVIDERS: &str = "providers";

/// How many of the agents that don't interrupt traffic are replaced at once.
fn most() -> IntOrString {
    IntOrString::String("10%".to_owned())
}

fn run_openvswitch() -> Volume {
    host_folder("run-openvswitch", "/run/openvswitch")
}

fn datapath(settings: &Agents) -> &'static str {
    match settings.datapath {
        Datapath::System => "system",
        Datapath::Netdev => "netdev",
    }
}

fn virtualization(settings: &Agents) -> &'static str {
    match settings.virtualization {
        Virtualization::Kvm => "kvm",
        Virtualization::Qemu => "qemu",
    }
}

fn tunnel_interface(settings: &Agents) -> &str {
    settings.tunnel_interface.as_deref().unwrap_or_default()
}

/// A container with the probe and the volumes that several have.
fn merged(container: Container, common: Container) -> Container {
    Container {
        readiness_probe: common.readiness_probe,
        volume_mounts: common.volume_mounts,
        ..container
    }
}

fn with_mount(mut container: Container, mount: VolumeMount) -> Container {
    container.volume_mounts.get_or_insert_default().push(mount);
    container
}
