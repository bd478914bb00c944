//! The images of the agents. An agent is an administrator of its node, so that only the pool, which the platform team writes, names
//! images: what the owner of a control plane can write says which release it is of, and no more.

use c5c3_api::hypervisor::AgentImages;
use provider_composer::{Progress, Reason};
use provider_openstack::table::{LIBVIRT, OVN};
use provider_openstack::{Prerequisite, Release};

use crate::configuration::{Configuration, RELEASE};

/// The image of libvirt and QEMU.
pub fn libvirt(given: &AgentImages) -> String {
    let own = || LIBVIRT.reference(given.registry.as_deref());
    given.libvirt.clone().unwrap_or_else(own)
}

/// The image of Open vSwitch.
pub fn open_vswitch(given: &AgentImages) -> String {
    let own = || OVN.reference(given.registry.as_deref());
    given.open_v_switch.clone().unwrap_or_else(own)
}

/// The image of an agent of OVN, Neutron or Nova, of the release that its control plane runs.
///
/// # Errors
/// The configuration names no release, or the pool has no image of it.
pub fn of(configuration: &Configuration, given: &AgentImages) -> Prerequisite<String> {
    let (name, release) = (configuration.name, configuration.line(RELEASE)?);
    let mirror = given.registry.as_deref();
    let given = match name {
        "ovn" => &given.ovn,
        "neutron" => &given.neutron,
        _ => &given.nova,
    };
    let own = || {
        let published = match name {
            "ovn" => Some(OVN).filter(|published| published.tag == release),
            _ => Release::tags(release).ok()?.image(name),
        };
        published.map(|published| published.reference(mirror))
    };
    given.get(release).cloned().or_else(own).ok_or_else(|| {
        Progress::waiting(
            Reason::WaitingFor("Image"),
            format!(
                "the control plane runs {name} {release:.40}, and this operator has no image of it for nodes: add it to \
                 spec.images.{name} of the HypervisorPool"
            ),
        )
    })
}
