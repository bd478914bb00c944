//! Images for pods, built from Containerfiles, Debian and PyPI, and from no other image.

mod recipe;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use provider_openstack::PublishedImage;
use provider_openstack::table::{LIBVIRT, MEMCACHED, OVN, REGISTRY, RELEASES};

pub(crate) use self::recipe::remove_unused_images;
use self::recipe::{Debian, Recipe};
use crate::tools::Tool;

/// The tag of the MariaDB that mariadb-operator runs.
pub(crate) const MARIADB: &str = "11.4.5";

/// The tag of the RabbitMQ that its cluster operator runs: Debian's version.
pub(crate) const RABBITMQ: &str = "4.0.5";

/// The name and tag of the image that mariadb-operator runs itself in, for backups.
pub(crate) const MARIADB_OPERATOR: &str = "mariadb-operator:0.38.1";

/// The services that there are images of.
const SERVICES: [&str; 3] = ["keystone", "glance", "placement"];

/// An image, in the cache folder.
pub struct Image {
    name: String,
    layout: PathBuf,
}

impl Image {
    /// `tiny`: a shell, and the usual programs.
    pub fn tiny() -> Result<Self> {
        Self::published("tiny", "lab", Debian::Bookworm, &[])
    }

    /// `judges:lab`: the `openstack` client and Tempest.
    pub fn judges() -> Result<Self> {
        Self::of_pypi("judges")
    }

    /// `s3:lab`: an object store that speaks S3.
    pub fn s3() -> Result<Self> {
        Self::of_pypi("s3")
    }

    /// `<name>:lab`: a list of Python's packages.
    fn of_pypi(name: &str) -> Result<Self> {
        let recipe = Recipe {
            files: vec![format!("{name}.txt")],
            arguments: &[("REQUIREMENTS", name)],
            ..Recipe::new(name, Debian::Bookworm, own("python"))
        };
        Self::tagged(&recipe, "lab")
    }

    /// The MariaDB of control planes and of [`Cloud`](crate::Cloud). With options that only MariaDB 11 knows, a Job of mariadb-operator makes
    /// the first database of a Galera cluster.
    pub fn mariadb() -> Result<Self> {
        Self::published("mariadb", MARIADB, Debian::Trixie, &["entrypoint.sh"])
    }

    /// The mariadb-operator of the lab, whose program its Jobs run beside MariaDB's own.
    pub fn mariadb_operator() -> Result<Self> {
        let recipe = Recipe {
            program: Some(Tool::MariadbOperator),
            ..Recipe::new("mariadb-operator", Debian::Bookworm, own("program"))
        };
        Self::named(format!("docker.io/library/{MARIADB_OPERATOR}"), &recipe)
    }

    /// The RabbitMQ that its cluster operator runs.
    pub fn rabbitmq() -> Result<Self> {
        Self::published("rabbitmq", RABBITMQ, Debian::Trixie, &[])
    }

    /// `ceph:lab`: a Ceph of one monitor and one OSD.
    pub fn ceph() -> Result<Self> {
        Self::published("ceph", "lab", Debian::Bookworm, &["entrypoint.sh"])
    }

    /// `guest:lab`: what virtual machines run, in its folder `/guest`: `kernel`, `ramdisk`, and a `disk` without content.
    pub fn guest() -> Result<Self> {
        Self::published("guest", "lab", Debian::Bookworm, &["init", "dhcp"])
    }

    /// The Memcached of control planes and of [`Cloud`](crate::Cloud).
    pub fn memcached() -> Result<Self> {
        Self::published(MEMCACHED.name, MEMCACHED.tag, Debian::Bookworm, &[])
    }

    /// One of the lab's own recipes, by the name and tag that pods call it.
    fn published(name: &str, tag: &str, debian: Debian, files: &[&str]) -> Result<Self> {
        let recipe = Recipe {
            files: files.iter().map(|&file| file.to_owned()).collect(),
            ..Recipe::new(name, debian, own(name))
        };
        Self::tagged(&recipe, tag)
    }

    /// Everything that a cloud of a release runs: MariaDB, Memcached, and the services that there are images of.
    ///
    /// # Errors
    /// When the release isn't known, or one of them can't be built.
    pub fn of_cloud(release: &str) -> Result<Vec<Self>> {
        let services = SERVICES.map(|service| Self::of_service(service, release));
        [Self::mariadb(), Self::memcached()]
            .into_iter()
            .chain(services)
            .collect()
    }

    /// What every cloud with servers runs, and these services of 2025.2.
    ///
    /// # Errors
    /// When a service isn't known, or one of them can't be built.
    pub fn of_servers(services: impl IntoIterator<Item = &'static str>) -> Result<Vec<Self>> {
        let others = [
            Self::mariadb,
            Self::memcached,
            Self::rabbitmq,
            Self::ovn,
            Self::libvirt,
            Self::guest,
        ];
        let others = others.into_iter().map(|image| image());
        let services = services.into_iter();
        others
            .chain(services.map(|service| Self::of_service(service, "2025.2")))
            .collect()
    }

    /// The project's own image of an OpenStack service, by the name that operators give it.
    ///
    /// # Errors
    /// When the release isn't known, or it can't be built.
    pub fn of_service(service: &str, release: &str) -> Result<Self> {
        let tag = RELEASES
            .iter()
            .find(|tags| tags.release.to_string() == release)
            .and_then(|tags| tags.of(service))
            .with_context(|| format!("there is no {service} of {release}"))?;
        let name = format!("{service}-{release}");
        let recipe = Recipe {
            files: vec![
                format!("{service}/{release}.txt"),
                format!("{service}/packages.txt"),
            ],
            arguments: &[("SERVICE", service), ("RELEASE", release)],
            ..Recipe::new(name, Debian::Bookworm, project().join("package/images"))
        };
        Self::named(format!("{REGISTRY}/{service}:{tag}"), &recipe)
    }

    /// The project's own image of OVN and Open vSwitch, by the name that operators give it.
    pub fn ovn() -> Result<Self> {
        Self::of_debian(&OVN)
    }

    /// The project's own image of libvirt and QEMU, by the name that operators give it.
    pub fn libvirt() -> Result<Self> {
        Self::of_debian(&LIBVIRT)
    }

    /// One of the project's own images of Debian's packages.
    fn of_debian(image: &PublishedImage) -> Result<Self> {
        let folder = project().join("package/images").join(image.name);
        let recipe = Recipe::new(image.name, Debian::Trixie, folder);
        Self::named(image.reference(None), &recipe)
    }

    /// The image of a recipe, by its name and this tag.
    fn tagged(recipe: &Recipe<'_>, tag: &str) -> Result<Self> {
        let name = format!("docker.io/library/{}:{tag}", recipe.name);
        Self::named(name, recipe)
    }

    fn named(name: String, recipe: &Recipe<'_>) -> Result<Self> {
        Ok(Self {
            name,
            layout: recipe.on_debian()?,
        })
    }

    /// What a container calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in its registry.
    pub(crate) fn path(&self) -> &str {
        self.name
            .split_once('/')
            .map_or(self.name.as_str(), |(_, path)| path)
    }

    /// A folder with all of it, in the layout of OCI.
    pub(crate) fn layout(&self) -> &Path {
        &self.layout
    }
}

fn own(name: &str) -> PathBuf {
    project().join("tests/images").join(name)
}

fn project() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}
