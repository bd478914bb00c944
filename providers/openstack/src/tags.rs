//! The images of each release. Operators compose these, and `c5c3 images` lists them.

use crate::registry::{NEUTRON, NOVA, SERVICES, ServiceDefinition, TEMPEST};
use crate::release::PublishedImage;
use crate::release::table::{LIBVIRT, MEMCACHED, OVN, Tags};

impl Tags {
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

    /// The images that a control plane runs, but for those that operators of others choose, and [Cortex's](crate::table::CORTEX).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::table::RELEASES;

    #[test]
    fn releases_have_the_tags_of_their_positions() {
        let tags = RELEASES.map(|release| release.of_service(&NOVA).tag);
        assert_eq!(tags, NOVA.tags);
    }
}
