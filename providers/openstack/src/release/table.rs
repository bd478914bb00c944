//! The images of each release. Operators compose these, and `c5c3 images` lists them.

use super::{PublishedImage, Release};
use crate::registry::SERVICES;
pub use c5c3_api::REGISTRY;

/// Tags of the images of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// The release.
    pub release: Release,
    /// Keystone.
    pub keystone: &'static str,
    /// Glance.
    pub glance: &'static str,
    /// Placement.
    pub placement: &'static str,
    /// Nova.
    pub nova: &'static str,
    /// Neutron.
    pub neutron: &'static str,
    /// Cinder.
    pub cinder: &'static str,
    /// Tempest: the version that was released with it or later.
    pub tempest: &'static str,
}

impl Tags {
    /// The tag of a service's image.
    pub fn of(&self, service: &str) -> Option<&'static str> {
        match service {
            "keystone" => Some(self.keystone),
            "glance" => Some(self.glance),
            "placement" => Some(self.placement),
            "nova" => Some(self.nova),
            "neutron" => Some(self.neutron),
            "cinder" => Some(self.cinder),
            TEMPEST => Some(self.tempest),
            _ => None,
        }
    }

    /// The image of a service.
    pub fn image(&self, service: &'static str) -> Option<PublishedImage> {
        let tag = self.of(service)?;
        Some(PublishedImage::own(service, tag))
    }

    /// The images that a control plane runs, but for those that operators of others choose, and [Cortex's](CORTEX).
    pub fn of_control_plane(&self) -> impl Iterator<Item = PublishedImage> {
        let services = SERVICES.iter().map(|service| service.name);
        let services = services.chain([TEMPEST]);
        let services = services.filter_map(move |service| self.image(service));
        services.chain([OVN, MEMCACHED])
    }

    /// The images that its hypervisors run.
    pub fn of_hypervisors(&self) -> impl Iterator<Item = PublishedImage> {
        let agents = WITH_AGENTS.into_iter();
        let agents = agents.filter_map(move |service| self.image(service));
        agents.chain([OVN, LIBVIRT])
    }
}

/// The services with agents on hypervisors, which run the service's image.
const WITH_AGENTS: [&str; 2] = ["neutron", "nova"];

/// The service whose releases aren't bound to those of the others: each version tests all releases that are maintained
/// (<https://docs.openstack.org/tempest/latest/stable_branch_support_policy.html>).
pub const TEMPEST: &str = "tempest";

/// The known releases, oldest first.
pub const RELEASES: [Tags; 4] = [
    Tags {
        release: Release::new(2025, 1),
        keystone: "27.1.0",
        glance: "30.2.0",
        placement: "13.0.1",
        nova: "31.3.1",
        neutron: "26.0.6",
        cinder: "26.3.0",
        tempest: "41.0.0",
    },
    Tags {
        release: Release::new(2025, 2),
        keystone: "28.1.0",
        glance: "31.1.0",
        placement: "14.0.0",
        nova: "32.2.1",
        neutron: "27.0.4",
        cinder: "27.0.0",
        tempest: "45.0.0",
    },
    Tags {
        release: Release::new(2026, 1),
        keystone: "29.1.0",
        glance: "32.0.0",
        placement: "15.0.0",
        nova: "33.0.2",
        neutron: "28.0.2",
        cinder: "28.0.0",
        tempest: "46.2.0",
    },
    Tags {
        release: Release::new(2026, 2),
        keystone: "30.0.0",
        glance: "33.0.0",
        placement: "16.0.0",
        nova: "34.0.0",
        neutron: "29.0.0",
        cinder: "29.0.0",
        tempest: "47.0.0",
    },
];

/// OVN, for all releases. Open vSwitch is in the same image.
pub const OVN: PublishedImage = PublishedImage::own("ovn", "25.03.0");
/// Cortex, for all releases. This project neither publishes nor builds it: who runs Cortex's operator brings both.
pub const CORTEX: PublishedImage = PublishedImage::own("cortex", "0.5.0");
/// Memcached, for all releases: Docker's own image.
pub const MEMCACHED: PublishedImage = PublishedImage {
    registry: "docker.io/library",
    name: "memcached",
    tag: "1.6",
};
/// libvirt and QEMU, for all releases.
pub const LIBVIRT: PublishedImage = PublishedImage::own("libvirt", "11.3.0");
