//! Images by where they are published.

use c5c3_api::REGISTRY;
use c5c3_api::parts::Image;

/// A container image that is published under a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedImage {
    /// The registry, with the path in it.
    pub registry: &'static str,
    /// The last part of the repository, which a mirror keeps: for instance `nova`.
    pub name: &'static str,
    /// The tag.
    pub tag: &'static str,
}

impl PublishedImage {
    /// An image that this project publishes.
    pub const fn own(name: &'static str, tag: &'static str) -> Self {
        Self {
            registry: REGISTRY,
            name,
            tag,
        }
    }

    /// Returns the repository in a mirror. Without one it is where the image is published.
    pub fn repository(&self, mirror: Option<&str>) -> String {
        format!("{}/{}", mirror.unwrap_or(self.registry), self.name)
    }

    /// Returns the reference, with the tag, in a mirror. Without one it is where the image is published.
    pub fn reference(&self, mirror: Option<&str>) -> String {
        format!("{}:{}", self.repository(mirror), self.tag)
    }

    /// Returns the reference where a resource may name another repository, tag or digest. A digest takes precedence over a tag.
    pub fn unless_given(&self, image: &Image) -> String {
        let repository = image.repository.clone();
        let repository = repository.unwrap_or_else(|| self.repository(None));
        match (&image.digest, &image.tag) {
            (Some(digest), _) => format!("{repository}@{digest}"),
            (None, Some(tag)) => format!("{repository}:{tag}"),
            (None, None) => format!("{repository}:{}", self.tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::table::MEMCACHED;

    #[test]
    fn image_is_in_its_registry_or_under_the_same_name_in_a_mirror() {
        let nova = PublishedImage::own("nova", "32.2.1");
        let mirror = Some("registry.example.com:5000/mirror");
        assert_eq!(
            [nova.reference(None), nova.reference(mirror)],
            [
                "ghcr.io/openstack-control-planes/nova:32.2.1",
                "registry.example.com:5000/mirror/nova:32.2.1",
            ]
        );
        assert_eq!(
            [MEMCACHED.reference(None), MEMCACHED.reference(mirror)],
            [
                "docker.io/library/memcached:1.6",
                "registry.example.com:5000/mirror/memcached:1.6",
            ]
        );
    }

    #[test]
    fn image_is_what_a_resource_says_of_it() {
        let nova = PublishedImage::own("nova", "32.2.1");
        let given = |repository: Option<&str>, tag: Option<&str>, digest: Option<&str>| {
            nova.unless_given(&Image {
                repository: repository.map(str::to_owned),
                tag: tag.map(str::to_owned),
                digest: digest.map(str::to_owned),
                ..Image::default()
            })
        };
        let own = Some("registry.example.com/nova");
        assert_eq!(
            [
                given(None, None, None),
                given(own, None, None),
                given(None, Some("32.2.1-p1"), None),
                given(own, Some("32.2.1-p1"), Some("sha256:0a")),
            ],
            [
                "ghcr.io/openstack-control-planes/nova:32.2.1",
                "registry.example.com/nova:32.2.1",
                "ghcr.io/openstack-control-planes/nova:32.2.1-p1",
                "registry.example.com/nova@sha256:0a",
            ]
        );
    }
}
