//! Open vSwitch, ovn-controller and neutron-ovn-agent: the networks of servers.

use c5c3_api::hypervisor::{AgentImages, Agents, Datapath};
use c5c3_api::parts::name_of;
use k8s_openapi::api::core::v1::{Container, ExecAction, Lifecycle, LifecycleHandler};
use provider_openstack::{Prerequisite, digest, empty_dir, secret_volume, variable};

use super::{
    gateway_option, propagated, run_openvswitch, tunnel_interface, with_mount, zone_option,
};
use crate::configuration::Configuration;
use crate::images;
use crate::pod::{
    Agent, Pace, Rights, container, host_folder, mount, node_folder, node_variables, probe,
    requirements, resources,
};

/// Open vSwitch: the switch on each node, whoever programs it.
///
/// One node at a time: with the datapath in user space traffic stops while it restarts.
pub fn open_vswitch(settings: &Agents, images: &AgentImages, lease: &str) -> Agent {
    let image = &images::open_vswitch(images);
    let (interface, datapath) = (tunnel_interface(settings), name_of(settings.hosts.datapath));
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
                include_str!("../scripts/ovsdb-server.sh"),
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
                include_str!("../scripts/ovs-vswitchd.sh"),
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
    needed.extend(Some("openvswitch").filter(|_| settings.hosts.datapath == Datapath::System));
    needed.extend(Some("interface").filter(|_| !interface.is_empty()));
    Agent {
        requirements: Some(requirements(image, &needed, interface, lease)),
        containers: vec![database, switch],
        volumes: vec![
            node_folder("dev", "/dev"),
            host_folder("net", "/dev/net"),
            host_folder("nova", "/var/lib/nova"),
            run_openvswitch(),
            host_folder("openvswitch", "/var/lib/openvswitch"),
            empty_dir("tmp"),
        ],
        pace: Pace::One,
        grace: 30,
        ..Agent::default()
    }
}

/// ovn-controller: programs Open vSwitch as the southbound database says. `has_networks` says whether the pool has physical networks, whose
/// bridges and gateways the agent of uplinks sets; `zone` is the availability zone.
///
/// # Errors
/// The configuration lacks something.
pub fn ovn_controller(
    settings: &Agents,
    images: &AgentImages,
    ovn: &Configuration,
    has_networks: bool,
    zone: Option<&str>,
) -> Prerequisite<Agent> {
    let gateway = gateway_option(settings).map(str::to_owned);
    let options: Vec<String> = gateway.into_iter().chain(zone_option(zone)).collect();
    let mut env = node_variables();
    env.extend([
        variable("OVN_REMOTE", ovn.line("remote")?),
        variable("DATAPATH", name_of(settings.hosts.datapath)),
        variable("TUNNEL_INTERFACE", tunnel_interface(settings)),
        variable("UPLINKS", if has_networks { "true" } else { "false" }),
        variable("CHASSIS_OPTIONS", options.join(",")),
    ]);
    // Sockets of root's, and connections: needs no capability.
    let script = include_str!("../scripts/ovn-controller.sh");
    let image = &images::of(ovn, images)?;
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
    let mut volumes = vec![run_openvswitch(), empty_dir("run-ovn"), empty_dir("tmp")];
    if ovn.values.value("tls.key").is_some() {
        let files = [
            ("--ca-cert", "ca.crt"),
            ("--certificate", "tls.crt"),
            ("--private-key", "tls.key"),
        ];
        let arguments = files.map(|(option, file)| format!("{option}=/etc/ovn/tls/{file}"));
        controller.args = Some(arguments.into());
        controller = with_mount(controller, mount("tls", "/etc/ovn/tls"));
        volumes.push(secret_volume("tls", ovn.name));
    }
    Ok(Agent {
        containers: vec![controller],
        volumes,
        grace: 30,
        configuration: ovn.digest(),
        ..Agent::default()
    })
}

/// neutron-ovn-agent: answers servers' requests for metadata, from a namespace for each network.
///
/// # Errors
/// The configuration lacks something.
pub fn neutron_agent(
    images: &AgentImages,
    ovn: &Configuration,
    neutron: &Configuration,
) -> Prerequisite<Agent> {
    let script = include_str!("../scripts/neutron-ovn-agent.sh");
    // Network namespaces are mounts that the node must see, and only a privileged container may pass mounts on.
    let agent = container(
        "neutron-ovn-agent",
        &images::of(neutron, images)?,
        script,
        Rights::Privileged,
    );
    let mut mounts = vec![
        mount("config", "/etc/neutron/config"),
        mount("agent", "/run/agent"),
        mount("run-openvswitch", "/run/openvswitch"),
        propagated("netns", "/run/netns", "Bidirectional"),
        mount("state", "/var/lib/neutron"),
        mount("tmp", "/tmp"),
    ];
    let mut volumes = vec![
        secret_volume("config", neutron.name),
        empty_dir("agent"),
        run_openvswitch(),
        host_folder("netns", "/run/netns"),
        empty_dir("state"),
        empty_dir("tmp"),
    ];
    if ovn.values.value("tls.key").is_some() {
        mounts.push(mount("tls", "/etc/ovn/tls"));
        volumes.push(secret_volume("tls", ovn.name));
    }
    let agent = Container {
        env: Some(node_variables()),
        resources: Some(resources("50m", "256Mi", "2Gi")),
        volume_mounts: Some(mounts),
        ..agent
    };
    Ok(Agent {
        containers: vec![agent],
        volumes,
        grace: 30,
        configuration: digest([neutron.digest().as_str(), ovn.digest().as_str()]),
        ..Agent::default()
    })
}

/// A container with the probe and the volumes that several have.
fn merged(container: Container, common: Container) -> Container {
    Container {
        readiness_probe: common.readiness_probe,
        volume_mounts: common.volume_mounts,
        ..container
    }
}
