//! The container images that OpenStack releases run, and where a mirror has them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use c5c3_admission::Validator;
use c5c3_api::control_plane::Images;
use c5c3_api::schema;
use provider_control_plane::images::{MARIADB, RABBITMQ};
use provider_openstack::table::{CORTEX, RELEASES, Tags};
use provider_openstack::{PublishedImage, Release};
use serde::Serialize;
use serde_json::json;

use crate::Error;
use crate::compositions::Compositions;
use crate::stream::{Format, aligned, yaml};

/// The image of this program, which the function and the operators run.
const C5C3: PublishedImage =
    PublishedImage::own("function-c5c3", concat!("v", env!("CARGO_PKG_VERSION")));

/// What names another registry for the images of a control plane.
const CONTROL_PLANE: &str = "ControlPlane: global.images.registry";

/// An image, and how a site names another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedImage {
    /// Where it is published: registry, repository, and tag or digest.
    pub image: String,
    /// Its digest; none where only a tag is known, which another image may get.
    pub digest: Option<String>,
    /// Where the mirror has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Each setting that names another registry or image: what has the setting, and its path.
    pub set_by: Vec<String>,
}

/// A registry that images are copied to, with a path in it or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror(String);

/// A text isn't the name of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a registry, and a path in it in lower case, without https:// and without a slash at the end, for instance \
     registry.example.com:5000/mirror"
)]
pub struct NotARegistry;

/// Takes what `global.images.registry` of a ControlPlane takes.
impl FromStr for Mirror {
    type Err = NotARegistry;

    fn from_str(text: &str) -> Result<Self, NotARegistry> {
        let schema = schema::structural::<Images>();
        let images = json!({ "registry": text });
        let problems = Validator::default().problems(&schema, &images, None);
        match problems.is_empty() {
            true => Ok(Self(text.to_owned())),
            false => Err(NotARegistry),
        }
    }
}

impl fmt::Display for Mirror {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Lists the images of releases, or of every known release if none is named: those of control planes with all their parts, of
/// hypervisors, of storage pools, and of this program. Of images that operators of others choose, only MariaDB's and RabbitMQ's are
/// listed, as the versions choose them that this project is tested with. Cortex's image is listed if it is asked for: it isn't published,
/// so that copying it fails for whoever hasn't made it.
///
/// # Errors
/// A release isn't known, or an input of the Compositions can't be read.
pub fn images(
    releases: &[String],
    compositions: &Compositions,
    mirror: Option<&Mirror>,
    cortex: bool,
) -> Result<Vec<ListedImage>, Error> {
    let releases: Vec<&Tags> = match releases {
        [] => RELEASES.iter().collect(),
        named => {
            let named = named.iter().map(|release| Release::tags(release));
            named.collect::<Result<_, _>>()?
        }
    };
    let mut list = List {
        mirror,
        images: Vec::new(),
    };
    list.add(
        C5C3.reference(None),
        "charts of operators: image.repository",
    );
    for tags in releases {
        for image in tags.of_control_plane() {
            list.add(image.reference(None), CONTROL_PLANE);
        }
        for image in tags.of_hypervisors() {
            list.add(image.reference(None), "HypervisorPool: images.registry");
        }
    }
    if cortex {
        list.add(CORTEX.reference(None), CONTROL_PLANE);
    }
    for (image, setting) in MARIADB.into_iter().chain([RABBITMQ]) {
        list.add(image.reference(None), setting);
    }
    for image in compositions.ceph_images()? {
        list.add(image, "ClusterPresets: ceph.image");
    }
    Ok(list.images)
}

/// The images so far, each once.
struct List<'a> {
    mirror: Option<&'a Mirror>,
    images: Vec<ListedImage>,
}

impl List<'_> {
    fn add(&mut self, image: String, setting: &str) {
        let mut known = self.images.iter_mut();
        match known.find(|known| known.image == image) {
            Some(known) if known.set_by.iter().any(|known| known == setting) => {}
            Some(known) => known.set_by.push(setting.to_owned()),
            None => {
                let parts = Reference::of(&image);
                self.images.push(ListedImage {
                    digest: parts.digest.map(str::to_owned),
                    target: self.mirror.map(|mirror| parts.target(mirror)),
                    set_by: vec![setting.to_owned()],
                    image,
                });
            }
        }
    }
}

/// The parts of an image's reference.
struct Reference<'a> {
    repository: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    fn of(image: &'a str) -> Self {
        let (tagged, digest) = match image.split_once('@') {
            Some((tagged, digest)) => (tagged, Some(digest)),
            None => (image, None),
        };
        // A colon before a slash is of a port.
        let (repository, tag) = match tagged.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (tagged, None),
        };
        Self {
            repository,
            tag,
            digest,
        }
    }

    /// The image in a mirror, under the last part of its name. Programs that copy want a tag, so that one is made of a digest alone.
    fn target(&self, mirror: &Mirror) -> String {
        let name = self.repository.rsplit('/').next().unwrap_or_default();
        let tag = match (self.tag, self.digest) {
            (Some(tag), _) => tag.to_owned(),
            (None, Some(digest)) => digest.replace(':', "-"),
            (None, None) => "latest".to_owned(),
        };
        format!("{mirror}/{name}:{tag}")
    }

    /// The registry, and the repository in it. Docker Hub's needn't be named.
    fn registry(&self) -> (&'a str, String) {
        match self.repository.split_once('/') {
            Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => {
                (host, path.to_owned())
            }
            Some(_) => ("docker.io", self.repository.to_owned()),
            None => ("docker.io", format!("library/{}", self.repository)),
        }
    }
}

/// Writes a table for people.
pub fn table(images: &[ListedImage]) -> String {
    let has_target = images.iter().any(|image| image.target.is_some());
    let target = |text: &str| has_target.then(|| text.to_owned());
    let row = |image: &str, there: &str, digest: &str, set_by: &str| -> Vec<String> {
        let cells = [Some(image.to_owned()), target(there)].into_iter();
        let cells = cells.chain([Some(digest.to_owned()), Some(set_by.to_owned())]);
        cells.flatten().collect()
    };
    let mut rows = vec![row("IMAGE", "TARGET", "DIGEST", "SET BY")];
    for image in images {
        rows.push(row(
            &image.image,
            image.target.as_deref().unwrap_or_default(),
            image.digest.as_deref().unwrap_or("not pinned"),
            &image.set_by.join(", "),
        ));
    }
    aligned(&rows)
}

/// Writes a line for each image that is copied: where it is, a space, and where the mirror has it.
pub fn copies(images: &[ListedImage]) -> String {
    let lines = images.iter().filter_map(|image| {
        let target = image.target.as_deref()?;
        Some(format!("{} {target}\n", image.image))
    });
    lines.collect()
}

/// Writes the list for programs.
///
/// # Errors
/// It can't be written.
pub fn listing(images: &[ListedImage], format: Format) -> Result<String, Error> {
    match format {
        Format::Yaml => yaml([images]),
        Format::Json => Ok(format!("{:#}\n", json!(images))),
    }
}

/// What skopeo copies of a registry.
#[derive(Default, Serialize)]
struct Copied {
    /// Tags or digests, by repository.
    images: BTreeMap<String, Vec<String>>,
}

/// Writes what `skopeo sync --src yaml` copies
/// (<https://github.com/containers/skopeo/blob/main/docs/skopeo-sync.1.md#yaml-file-content-used-source-for---src-yaml>).
///
/// # Errors
/// It can't be written.
pub fn skopeo(images: &[ListedImage]) -> Result<String, Error> {
    let mut registries: BTreeMap<&str, Copied> = BTreeMap::new();
    for image in images {
        let parts = Reference::of(&image.image);
        let (registry, repository) = parts.registry();
        let version = parts.digest.or(parts.tag).unwrap_or("latest");
        let copied = registries.entry(registry).or_default();
        let versions = copied.images.entry(repository).or_default();
        versions.push(version.to_owned());
    }
    yaml([registries])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(image: &str) -> String {
        let mirror = "registry.example.com:5000/mirror".parse().unwrap();
        Reference::of(image).target(&mirror)
    }

    #[test]
    fn mirror_has_an_image_under_the_last_part_of_its_name() {
        let digest = "0a".repeat(32);
        let both = format!("quay.io/ceph/ceph:v20.2.5@sha256:{digest}");
        let pinned = format!("localhost:5000/ceph@sha256:{digest}");
        let made = format!("ceph:sha256-{digest}");
        for (image, name) in [
            ("quay.io/ceph/ceph:v20.2.5", "ceph:v20.2.5"),
            ("registry.example.org:5000/a/b", "b:latest"),
            (both.as_str(), "ceph:v20.2.5"),
            (pinned.as_str(), made.as_str()),
        ] {
            let expected = format!("registry.example.com:5000/mirror/{name}");
            assert_eq!(target(image), expected);
        }
    }

    #[test]
    fn mirror_is_what_a_control_plane_takes_as_a_registry() {
        for text in [
            "registry.example.com",
            "registry.example.com:5000/mirror/c5c3",
        ] {
            let mirror: Mirror = text.parse().unwrap();
            assert_eq!(mirror.to_string(), text);
        }
        for text in [
            "",
            "https://registry.example.com",
            "registry.example.com/",
            "registry.example.com/Mirror",
            "registry.example.com/mirror:1",
            "registry.example.com mirror",
        ] {
            assert_eq!(text.parse::<Mirror>(), Err(NotARegistry), "{text}");
        }
    }

    #[test]
    fn skopeo_copies_tags_and_digests_by_registry_and_repository() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let mut list = List {
            mirror: None,
            images: Vec::new(),
        };
        for image in [
            "ghcr.io/a/nova:1.0".to_owned(),
            "ghcr.io/a/nova:2.0".to_owned(),
            format!("ghcr.io/b/ceph:v1@{digest}"),
            "memcached:1.6".to_owned(),
            "prom/exporter:v0".to_owned(),
            "localhost:5000/c".to_owned(),
        ] {
            list.add(image, "a setting");
        }
        let written: serde_json::Value =
            serde_saphyr::from_str(&skopeo(&list.images).unwrap()).unwrap();
        assert_eq!(
            written,
            json!({
                "docker.io": { "images": { "library/memcached": ["1.6"], "prom/exporter": ["v0"] } },
                "ghcr.io": { "images": { "a/nova": ["1.0", "2.0"], "b/ceph": [digest] } },
                "localhost:5000": { "images": { "c": ["latest"] } },
            })
        );
    }

    #[test]
    fn table_says_which_images_are_not_pinned() {
        let mirror: Mirror = "registry.example.com".parse().unwrap();
        let listed = |mirror: Option<&Mirror>| {
            let mut list = List {
                mirror,
                images: Vec::new(),
            };
            list.add("ghcr.io/a:1".to_owned(), "one");
            list.add("ghcr.io/a:1".to_owned(), "other");
            list.add("ghcr.io/a:1".to_owned(), "other");
            list.add("ghcr.io/b@sha256:0a".to_owned(), "one");
            list.images
        };
        assert_eq!(
            table(&listed(None)),
            "IMAGE                DIGEST      SET BY\n\
             ghcr.io/a:1          not pinned  one, other\n\
             ghcr.io/b@sha256:0a  sha256:0a   one\n"
        );
        let images = listed(Some(&mirror));
        assert_eq!(
            table(&images),
            "IMAGE                TARGET                            DIGEST      SET BY\n\
             ghcr.io/a:1          registry.example.com/a:1          not pinned  one, other\n\
             ghcr.io/b@sha256:0a  registry.example.com/b:sha256-0a  sha256:0a   one\n"
        );
        assert_eq!(
            copies(&images),
            "ghcr.io/a:1 registry.example.com/a:1\n\
             ghcr.io/b@sha256:0a registry.example.com/b:sha256-0a\n"
        );
    }
}
