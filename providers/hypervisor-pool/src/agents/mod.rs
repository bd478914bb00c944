//! The agents of a share, each with what it may do on a node and why.

mod compute;
mod ending;
pub mod migration;
mod network;
pub mod uplinks;

use c5c3_api::hypervisor::Agents;
use k8s_openapi::api::core::v1::{Container, Volume, VolumeMount};

pub use self::compute::{libvirt, nova_compute};
pub use self::ending::{drain, wipe};
pub use self::network::{neutron_agent, open_vswitch, ovn_controller};
use crate::pod::{host_folder, mount};

/// The ConfigMap with libvirt's configuration, and the volume that it is.
pub const LIBVIRT: &str = "libvirt";
/// The Secret with the nodes' certificate.
pub const CERTIFICATE: &str = "hypervisor-tls";
/// The ConfigMap with what Placement is told of the nodes.
pub const PROVIDERS: &str = "providers";

fn run_openvswitch() -> Volume {
    host_folder("run-openvswitch", "/run/openvswitch")
}

/// The part of ovn-cms-options by which Neutron may choose the node as a gateway (ovn-controller(8)).
fn gateway_option(settings: &Agents) -> Option<&'static str> {
    settings.gateway.then_some("enable-chassis-as-gw")
}

/// The part of ovn-cms-options with the availability zone, as Neutron reads it from each node
/// (<https://docs.openstack.org/neutron/latest/admin/ovn/availability_zones.html>).
fn zone_option(zone: Option<&str>) -> Option<String> {
    zone.map(|zone| format!("availability-zones={zone}"))
}

fn tunnel_interface(settings: &Agents) -> &str {
    settings
        .hosts
        .tunnel_interface
        .as_deref()
        .unwrap_or_default()
}

/// Mounts a volume at a path, with Kubernetes' `mountPropagation`.
fn propagated(volume: &str, path: &str, propagation: &str) -> VolumeMount {
    VolumeMount {
        mount_propagation: Some(propagation.to_owned()),
        ..mount(volume, path)
    }
}

fn with_mount(mut container: Container, mount: VolumeMount) -> Container {
    container.volume_mounts.get_or_insert_default().push(mount);
    container
}
