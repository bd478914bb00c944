//! The images of each release. Operators compose these, and `c5c3 images` lists them.

use super::{PublishedImage, Release};
use crate::definition::ServiceDefinition;
use crate::registry::{NEUTRON, NOVA, SERVICES, TEMPEST};
pub use c5c3_api::REGISTRY;

/// A known release, and the tags of its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// The release.
    pub release: Release,
    /// The position of its tag among those of each service.
    position: usize,
}

impl Tags {
    const fn new(position: usize, year: u16, half: u8) -> Self {
        Self {
            release: Release::new(year, half),
            position,
        }
    }

    /// The tag of a service's image, by the service's name.
    pub fn of(&self, service: &str) -> Option<&'static str> {
        Some(self.image(service)?.tag)
    }

    /// The image of a service, by the service's name.
    pub fn image(&self, service: &str) -> Option<PublishedImage> {
        let known = services().find(|known| known.name == service)?;
        Some(self.of_service(known))
    }

    /// The image of a service.
    pub fn of_service(&self, service: &ServiceDefinition) -> PublishedImage {
        PublishedImage::own(service.name, service.tags[self.position])
    }

    /// The images that a control plane runs, but for those that operators of others choose, and [Cortex's](CORTEX).
    pub fn of_control_plane(&self) -> impl Iterator<Item = PublishedImage> {
        let services = services().map(move |service| self.of_service(service));
        services.chain([OVN, MEMCACHED])
    }

    /// The images that its hypervisors run: agents of Neutron and Nova are in the services' images.
    pub fn of_hypervisors(&self) -> impl Iterator<Item = PublishedImage> {
        let agents = [&NEUTRON, &NOVA].into_iter();
        let agents = agents.map(move |service| self.of_service(service));
        agents.chain([OVN, LIBVIRT])
    }
}

/// The services with images.
fn services() -> impl Iterator<Item = &'static ServiceDefinition> {
    SERVICES.into_iter().chain([&TEMPEST])
}

/// The known releases, oldest first. Each service has a tag for each of them.
pub const RELEASES: [Tags; 4] = [
    Tags::new(0, 2025, 1),
    Tags::new(1, 2025, 2),
    Tags::new(2, 2026, 1),
    Tags::new(3, 2026, 2),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_the_tags_of_their_positions() {
        let tags = RELEASES.map(|release| release.of_service(&NOVA).tag);
        assert_eq!(tags, NOVA.tags);
    }
}
