//! Images for pods, built from Containerfiles, Debian and PyPI, and from no other image.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use provider_openstack::table::{LIBVIRT, MEMCACHED, OVN, REGISTRY, RELEASES};
use sha2::{Digest, Sha256};

use crate::cache::{cache, digits};
use crate::namespace::outside;
use crate::say::say;

/// Where Debian's packages are from.
const MIRROR: &str = "http://deb.debian.org/debian";

/// What the services of a cloud need besides themselves.
const PACKAGES: [&str; 2] = ["mariadb-server", "memcached"];

/// The tag of the MariaDB that mariadb-operator runs.
pub(crate) const MARIADB: &str = "11.4.5";

/// The tag of the RabbitMQ that its cluster operator runs: Debian's version.
pub(crate) const RABBITMQ: &str = "4.0.5";

/// The services that there are images of.
const SERVICES: [&str; 3] = ["keystone", "glance", "placement"];

/// Whom this machine trusts.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The same inside, while an image is built.
const AUTHORITIES_INSIDE: &str = "/run/authorities.crt";

/// An image, in the cache folder.
pub struct Image {
    name: String,
    layout: PathBuf,
}

/// The release of Debian that an image stands on.
#[derive(Clone, Copy)]
enum Debian {
    Bookworm,
    /// Has the libvirt, QEMU and OVN that hypervisors need.
    Trixie,
}

impl Debian {
    fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// What an image is built from.
struct Recipe<'a> {
    /// What it is called in the cache folder.
    name: String,
    debian: Debian,
    /// The folder with its Containerfile.
    folder: PathBuf,
    /// The files of that folder that go into it.
    files: Vec<String>,
    arguments: &'a [(&'static str, &'a str)],
}

impl Image {
    /// `tiny`: a shell, and the usual programs.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn tiny() -> Result<Self> {
        let recipe = Recipe {
            name: "tiny".to_owned(),
            debian: Debian::Bookworm,
            folder: own("tiny"),
            files: Vec::new(),
            arguments: &[],
        };
        recipe.published("lab")
    }

    /// `<package>:debian`: the programs of a package of Debian.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn packaged(package: &str) -> Result<Self> {
        let recipe = Recipe {
            name: package.to_owned(),
            debian: Debian::Bookworm,
            folder: own("packaged"),
            files: Vec::new(),
            arguments: &[("PACKAGE", package)],
        };
        recipe.published("debian")
    }

    /// `judges:lab`: the `openstack` client and Tempest.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn judges() -> Result<Self> {
        Self::of_pypi("judges")
    }

    /// `s3:lab`: an object store that speaks S3.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn s3() -> Result<Self> {
        Self::of_pypi("s3")
    }

    /// `<name>:lab`: a list of Python's packages.
    fn of_pypi(name: &str) -> Result<Self> {
        let recipe = Recipe {
            name: name.to_owned(),
            debian: Debian::Bookworm,
            folder: own("python"),
            files: vec![format!("{name}.txt")],
            arguments: &[("REQUIREMENTS", name)],
        };
        recipe.published("lab")
    }

    /// The MariaDB that mariadb-operator makes pods of.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn mariadb() -> Result<Self> {
        Self::published("mariadb", MARIADB, Debian::Bookworm, &["entrypoint.sh"])
    }

    /// The RabbitMQ that its cluster operator runs.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn rabbitmq() -> Result<Self> {
        Self::published("rabbitmq", RABBITMQ, Debian::Trixie, &[])
    }

    /// `ceph:lab`: a Ceph of one monitor and one OSD.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn ceph() -> Result<Self> {
        Self::published("ceph", "lab", Debian::Bookworm, &["entrypoint.sh"])
    }

    /// `guest:lab`: what virtual machines run, in its folder `/guest`: `kernel`, `ramdisk`, and a `disk` without content.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn guest() -> Result<Self> {
        Self::published("guest", "lab", Debian::Bookworm, &["init", "dhcp"])
    }

    /// The Memcached that control planes make pods of.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn memcached() -> Result<Self> {
        Self::published("memcached", MEMCACHED, Debian::Bookworm, &[])
    }

    /// One of the lab's own recipes, by the name and tag that pods call it.
    fn published(name: &str, tag: &str, debian: Debian, files: &[&str]) -> Result<Self> {
        let recipe = Recipe {
            name: name.to_owned(),
            debian,
            folder: own(name),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            arguments: &[],
        };
        recipe.published(tag)
    }

    /// Everything that a cloud of a release runs: MariaDB, Memcached, and the services that there are images of.
    ///
    /// # Errors
    /// When the release isn't known, or one of them can't be built.
    pub fn of_cloud(release: &str) -> Result<Vec<Self>> {
        let packages = PACKAGES.into_iter().map(Self::packaged);
        let services = SERVICES.into_iter();
        packages
            .chain(services.map(|service| Self::of_service(service, release)))
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
        let recipe = Recipe {
            name: format!("{service}-{release}"),
            debian: Debian::Bookworm,
            folder: project().join("package/images"),
            files: vec![
                format!("{service}/{release}.txt"),
                format!("{service}/packages.txt"),
            ],
            arguments: &[("SERVICE", service), ("RELEASE", release)],
        };
        Ok(Self {
            name: format!("{REGISTRY}/{service}:{tag}"),
            layout: recipe.on_debian()?,
        })
    }

    /// The project's own image of OVN and Open vSwitch, by the name that operators give it.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn ovn() -> Result<Self> {
        Self::of_debian("ovn", OVN)
    }

    /// The project's own image of libvirt and QEMU, by the name that operators give it.
    ///
    /// # Errors
    /// When it can't be built.
    pub fn libvirt() -> Result<Self> {
        Self::of_debian("libvirt", LIBVIRT)
    }

    /// One of the project's own images of Debian's packages.
    fn of_debian(name: &str, tag: &str) -> Result<Self> {
        let recipe = Recipe {
            name: name.to_owned(),
            debian: Debian::Trixie,
            folder: project().join("package/images").join(name),
            files: Vec::new(),
            arguments: &[],
        };
        Ok(Self {
            name: format!("{REGISTRY}/{name}:{tag}"),
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

impl Recipe<'_> {
    /// The image, by its name and this tag.
    fn published(&self, tag: &str) -> Result<Image> {
        Ok(Image {
            name: format!("docker.io/library/{}:{tag}", self.name),
            layout: self.on_debian()?,
        })
    }

    /// Builds the image on Debian, if it isn't in the cache yet.
    fn on_debian(&self) -> Result<PathBuf> {
        let fingerprint = self.fingerprint()?;
        let images = cache()?.join("images");
        fs::create_dir_all(&images)
            .with_context(|| format!("cannot create {}", images.display()))?;
        let layout = images.join(format!("{}-{fingerprint}", self.name));
        kept(&layout, &self.name, || {
            let base = debian(self.debian)?;
            let tag = format!("localhost/{}:{fingerprint}", self.name);
            self.build(&tag, &self.folder, &[("BASE", &base)])?;
            let mut target = OsString::from("oci:");
            target.push(unfinished(&layout));
            target.push(":latest");
            buildah(&["push".into(), "--quiet".into(), tag.into(), target])
        })?;
        Ok(layout)
    }

    /// Builds the image, with what is in a folder, and calls it so among those that others may stand on.
    fn build(&self, tag: &str, context: &Path, more: &[(&str, &str)]) -> Result<()> {
        let mut arguments: Vec<OsString> = [
            "build",
            "--isolation=chroot",
            "--format=oci",
            "--layers",
            "--quiet",
        ]
        .map(OsString::from)
        .into();
        if Path::new(AUTHORITIES).exists() {
            arguments.push(format!("--volume={AUTHORITIES}:{AUTHORITIES_INSIDE}:ro").into());
            arguments.push(format!("--build-arg=PIP_CERT={AUTHORITIES_INSIDE}").into());
        }
        for (name, value) in self.arguments.iter().chain(more) {
            arguments.push(format!("--build-arg={name}={value}").into());
        }
        arguments.push(format!("--tag={tag}").into());
        arguments.push("--file".into());
        arguments.push(self.folder.join("Containerfile").into());
        arguments.push(context.into());
        buildah(&arguments)
    }

    /// Twelve hexadecimal digits that change with everything that goes into it.
    fn fingerprint(&self) -> Result<String> {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        };
        for part in [self.debian.name(), MIRROR] {
            add(part.as_bytes());
        }
        let files = self.files.iter().map(String::as_str);
        for file in ["Containerfile"].into_iter().chain(files) {
            let file = self.folder.join(file);
            add(&fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
        }
        for (name, value) in self.arguments {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        Ok(digits(hash))
    }
}

/// What the image is called that all others stand on; it is built if need be.
fn debian(debian: Debian) -> Result<String> {
    let recipe = Recipe {
        name: "debian".to_owned(),
        debian,
        folder: own("base"),
        files: Vec::new(),
        arguments: &[],
    };
    let tag = format!("localhost/debian:{}", recipe.fingerprint()?);
    if buildah(&["inspect".into(), "--type=image".into(), (&tag).into()]).is_ok() {
        return Ok(tag);
    }
    let context = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut made = alone("mmdebstrap");
    made.args(["--quiet", "--mode=root", "--variant=minbase", debian.name()])
        .arg(context.path().join("root.tar"))
        .arg(MIRROR);
    succeeded(outside(|| made.output())?, "mmdebstrap", "mmdebstrap")?;
    recipe.build(&tag, context.path(), &[])?;
    Ok(tag)
}

/// Makes a folder of the cache, if it isn't there yet; other processes wait for the one that makes it.
fn kept(layout: &Path, name: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    if layout.exists() {
        return Ok(());
    }
    // One for all: they share layers, and each takes all of the machine that it can get.
    let lock = layout.with_file_name("lock");
    let lock = File::create(&lock).with_context(|| format!("cannot create {}", lock.display()))?;
    lock.lock()
        .context("cannot wait for another process that builds an image")?;
    if layout.exists() {
        return Ok(());
    }
    let started = Instant::now();
    say(format_args!(
        "building image {name} (kept in {}) ...",
        layout.display()
    ));
    let unfinished = unfinished(layout);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)
            .with_context(|| format!("cannot remove {}", unfinished.display()))?;
    }
    make()?;
    fs::rename(&unfinished, layout).with_context(|| format!("cannot keep {}", layout.display()))?;
    say(format_args!(
        "built image {name} in {} s",
        started.elapsed().as_secs()
    ));
    Ok(())
}

fn unfinished(layout: &Path) -> PathBuf {
    layout.with_added_extension("building")
}

/// Builds with layers that are kept, and leaves nothing mounted.
fn buildah(arguments: &[OsString]) -> Result<()> {
    // What it knows of mounts is true for as long as it runs: they are gone afterwards.
    let state = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut command = alone("buildah");
    command
        .arg("--root")
        .arg(cache()?.join("layers"))
        .arg("--runroot")
        .arg(state.path())
        .arg("--storage-driver=overlay")
        .args(arguments);
    succeeded(outside(|| command.output())?, "buildah", "buildah")
}

/// A program whose mounts are its own.
fn alone(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", program]);
    command
}

fn succeeded(output: io::Result<Output>, program: &str, package: &str) -> Result<()> {
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("the lab builds images as root with `unshare`: `apt-get install util-linux`")
        }
        other => other.with_context(|| format!("cannot run {program}"))?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    ensure!(
        output.status.success(),
        "{program} failed ({}); if it is missing, `apt-get install {package}`:\n{}",
        output.status,
        lines[lines.len().saturating_sub(20)..].join("\n")
    );
    Ok(())
}

fn own(name: &str) -> PathBuf {
    project().join("tests/images").join(name)
}

fn project() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}
