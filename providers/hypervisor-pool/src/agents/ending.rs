//! What runs on a node whose lease ends: a pod that watches whether it is empty, then one that wipes it. Both report by being
//! Ready.

use c5c3_api::hypervisor::{AgentImages, Agents};
use k8s_openapi::api::core::v1::{Container, Probe, VolumeMount};
use provider_openstack::{empty_dir, variable};

use super::tunnel_interface;
use crate::images;
use crate::pod::{Agent, Processes, Rights, container, host_folder, idle, mount, probe, resources};

/// Where the container that wipes a node sees the node's folders.
const FOLDERS: [(&str, &str, &str); 5] = [
    ("nova", "/var/lib/nova", "/host/nova"),
    ("libvirt", "/var/lib/libvirt", "/host/libvirt"),
    ("run-libvirt", "/run/libvirt", "/host/run-libvirt"),
    ("log", "/var/log/libvirt", "/host/log"),
    ("openvswitch", "/var/lib/openvswitch", "/host/openvswitch"),
];

/// Reports whether libvirt has no domain, running or not. Its pods are Ready on empty nodes.
pub fn drain(images: &AgentImages) -> Agent {
    // A socket that everybody may connect to: needs no capability.
    let watch = Container {
        resources: Some(resources("10m", "16Mi", "128Mi")),
        readiness_probe: Some(Probe {
            // One domain is enough.
            failure_threshold: Some(1),
            ..probe(&["sh", "-euc", include_str!("../scripts/drain.sh")])
        }),
        volume_mounts: Some(vec![VolumeMount {
            read_only: Some(true),
            ..mount("run-libvirt", "/run/libvirt")
        }]),
        ..idle("domains", &images::libvirt(images))
    };
    Agent {
        containers: vec![watch],
        volumes: vec![host_folder("run-libvirt", "/run/libvirt")],
        grace: 1,
        ..Agent::default()
    }
}

/// Deletes what agents left on a node, unless a server or an agent is there. Its pods are Ready on wiped nodes. Bridges to
/// physical networks stay, with the node's interfaces.
pub fn wipe(settings: &Agents, images: &AgentImages, bridges: &[&str]) -> Agent {
    let image = &images::open_vswitch(images);
    let folders = FOLDERS.map(|(name, _, path)| mount(name, path));
    // DAC_OVERRIDE deletes files of other users, such as QEMU's, and FOWNER those in sticky folders of other users: other hosts of the
    // share may have brought some. NET_ADMIN deletes the kernel's datapath. It sees the node's processes to find servers.
    let wipe = Container {
        env: Some(vec![
            variable("BRIDGES", bridges.join(" ")),
            variable("TUNNEL_INTERFACE", tunnel_interface(settings)),
        ]),
        resources: Some(resources("50m", "64Mi", "512Mi")),
        volume_mounts: Some(folders.into_iter().chain([mount("tmp", "/tmp")]).collect()),
        ..container(
            "wipe",
            image,
            include_str!("../scripts/wipe.sh"),
            Rights::Capabilities(&["DAC_OVERRIDE", "FOWNER", "NET_ADMIN"]),
        )
    };
    let wiped = Container {
        resources: Some(resources("10m", "16Mi", "64Mi")),
        ..idle("wiped", image)
    };
    let folders = FOLDERS.map(|(name, path, _)| host_folder(name, path));
    Agent {
        requirements: Some(wipe),
        containers: vec![wiped],
        volumes: folders.into_iter().chain([empty_dir("tmp")]).collect(),
        processes: Processes::Node,
        grace: 1,
        ..Agent::default()
    }
}
