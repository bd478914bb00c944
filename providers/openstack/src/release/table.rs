//! The known releases, and images for all of them. Those of services are in the services' definitions.

use super::{PublishedImage, Release};
pub use c5c3_api::REGISTRY;

/// A known release, and the tags of its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// The release.
    pub release: Release,
    /// The position of its tag among those of each service.
    pub(crate) position: usize,
}

impl Tags {
    const fn new(position: usize, year: u16, half: u8) -> Self {
        Self {
            release: Release::new(year, half),
            position,
        }
    }
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
