//! The uplinks of nodes to physical networks, by which a node may be a gateway.

use c5c3_api::hypervisor::{Agents, HypervisorPoolSpec};
use k8s_openapi::api::core::v1::Container;
use provider_openstack::{empty_dir, variable};

use super::{datapath, gateway_option, run_openvswitch, zone_option};
use crate::images;
use crate::pod::{Agent, Pace, Processes, Rights, container, mount, probe, resources};

/// The DaemonSet whose pods are Ready on nodes with an uplink to every physical network of the pool.
pub const UPLINKS: &str = "uplinks";

/// Connects the bridges to physical networks, and lets OVN use those with an uplink alone. An agent of its own, so that another interface
/// restarts neither Open vSwitch nor ovn-controller. `zone` is the availability zone.
pub fn uplinks(settings: &Agents, pool: &HypervisorPoolSpec, zone: Option<&str>) -> Agent {
    let networks = pool.physical_networks.iter().map(|pooled| {
        let interface = pooled.interface.as_deref().unwrap_or_default();
        let network = &pooled.network;
        format!("{}:{}:{interface}", network.name, network.bridge)
    });
    let networks: Vec<String> = networks.collect();
    let sets_interfaces_up = pool
        .physical_networks
        .iter()
        .any(|network| network.interface.is_some());
    let capabilities: &'static [&'static str] = match sets_interfaces_up {
        true => &["NET_ADMIN"],
        false => &[],
    };
    let image = images::open_vswitch(&pool.images);
    let container = Container {
        env: Some(vec![
            variable("DATAPATH", datapath(settings)),
            variable("NETWORKS", networks.join(" ")),
            variable("GATEWAY", gateway_option(settings).unwrap_or_default()),
            variable("CHASSIS_OPTIONS", zone_option(zone).unwrap_or_default()),
        ]),
        resources: Some(resources("10m", "16Mi", "128Mi")),
        readiness_probe: Some(probe(&["test", "-e", "/tmp/connected"])),
        volume_mounts: Some(vec![
            mount("run-openvswitch", "/run/openvswitch"),
            mount("tmp", "/tmp"),
        ]),
        ..container(
            UPLINKS,
            &image,
            include_str!("../scripts/uplinks.sh"),
            Rights::Capabilities(capabilities),
        )
    };
    Agent {
        requirements: None,
        containers: vec![container],
        volumes: vec![run_openvswitch(), empty_dir("tmp")],
        processes: Processes::Container,
        group: None,
        // Pods on nodes without an uplink are never Ready, and no traffic depends on any.
        pace: Pace::All,
        grace: 1,
        configuration: String::new(),
    }
}
