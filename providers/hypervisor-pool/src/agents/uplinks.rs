//! The uplinks of nodes to physical networks, by which a node may be a gateway.

use c5c3_api::hypervisor::{Agents, HypervisorPoolSpec};
use c5c3_api::parts::name_of;
use k8s_openapi::api::core::v1::Container;
use provider_composer::{Live, Progress, Reason, named};
use provider_openstack::{Prerequisite, empty_dir, variable};

use super::{gateway_option, run_openvswitch, zone_option};
use crate::images;
use crate::nodes::Node;
use crate::pod::{Agent, COMPONENT, Pace, Rights, container, mount, probe, resources};
use crate::pods::{self, Pods};

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
            variable("DATAPATH", name_of(settings.hosts.datapath)),
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
        containers: vec![container],
        volumes: vec![run_openvswitch(), empty_dir("tmp")],
        // Pods on nodes without an uplink are never Ready, and no traffic depends on any.
        pace: Pace::All,
        grace: 1,
        ..Agent::default()
    }
}

/// Whether the nodes that are Ready have uplinks to all physical networks, and why interfaces are refused: the termination message of the
/// agent's container, which exits whenever that changes. The first pod of a node counts.
pub fn progress<'a>(
    namespace: &str,
    nodes: impl Iterator<Item = &'a Live<Node>>,
    pods: &Prerequisite<Pods>,
) -> Progress {
    let pods = match pods {
        Ok(pods) => pods,
        Err(unknown) => return unknown.clone(),
    };
    let nodes = nodes.filter(|node| node.body.is_ready());
    let names: Vec<&str> = nodes.map(|node| node.metadata.name.as_str()).collect();
    let (mut refusals, mut lacking, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for &name in &names {
        let Some(pod) = pods.of(UPLINKS, name).find(|pod| pods::runs(pod)) else {
            absent.push(name);
            continue;
        };
        match pods::last_message(pod) {
            Some(refusal) => refusals.push(format!("node {name}: {refusal}")),
            None if !pods::is_ready(pod) => lacking.push(name),
            None => {}
        }
    }
    let mut messages = Vec::new();
    if !refusals.is_empty() {
        messages.push(named(&refusals, "; "));
    }
    if !lacking.is_empty() {
        messages.push(format!(
            "{} of {} nodes lack an uplink to a physical network, and have no gateways to it: {}. If they are to have some, see \
             `kubectl logs -n {namespace} -l {COMPONENT}={UPLINKS} --prefix`, and set interface of the network in the pool",
            lacking.len(),
            names.len(),
            named(&lacking, ", ")
        ));
    }
    let reason = match messages.as_slice() {
        [] => Reason::Starting,
        _ => Reason::UplinkMissing,
    };
    if !absent.is_empty() {
        messages.push(format!(
            "waits for the pods of {UPLINKS} on {}: see `kubectl get pods -n {namespace} -l {COMPONENT}={UPLINKS} -o wide`",
            named(&absent, ", ")
        ));
    }
    match messages.as_slice() {
        [] => Progress::Ready,
        messages => Progress::waiting(reason, messages.join("; ")),
    }
}
