//! How an image is built.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::cache::{Fingerprint, building, cache, locked, mark_used, remove_unused};
use crate::download::retried;
use crate::namespace::outside;
use crate::output::{installed, last_lines};
use crate::tools::Tool;

/// Where Debian's packages are from.
const MIRROR: &str = "http://deb.debian.org/debian";

/// Whom this machine trusts.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The same inside, while an image is built.
const AUTHORITIES_INSIDE: &str = "/run/authorities.crt";

/// Layers never leave the machine: gzip, the default, takes ten times as long for a tenth less.
const COMPRESSION: [&str; 2] = ["--compression-format=zstd", "--compression-level=1"];

/// The release of Debian that an image stands on.
#[derive(Clone, Copy)]
pub(super) enum Debian {
    Bookworm,
    /// Has the libvirt, QEMU and OVN that hypervisors need.
    Trixie,
}

impl Debian {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// What an image is built from.
pub(super) struct Recipe<'a> {
    /// What it is called in the cache folder.
    pub(super) name: String,
    pub(super) debian: Debian,
    /// The folder with its Containerfile.
    pub(super) folder: PathBuf,
    /// The files of that folder that go into it.
    pub(super) files: Vec<String>,
    pub(super) arguments: &'a [(&'static str, &'a str)],
    /// A program of the lab that goes into it.
    pub(super) program: Option<Tool>,
}

impl Recipe<'_> {
    /// One for which the Containerfile is enough.
    pub(super) fn new(name: impl Into<String>, debian: Debian, folder: PathBuf) -> Self {
        Self {
            name: name.into(),
            debian,
            folder,
            files: Vec::new(),
            arguments: &[],
            program: None,
        }
    }

    /// Builds the image on Debian, if it isn't in the cache yet.
    pub(super) fn on_debian(&self) -> Result<PathBuf> {
        let program = self.program.map(folder_and_name).transpose()?;
        let fingerprint = self.fingerprint()?;
        let images = cache()?.join("images");
        fs::create_dir_all(&images)
            .with_context(|| format!("cannot create {}", images.display()))?;
        let layout = images.join(format!("{}-{fingerprint}", self.name));
        kept(&layout, &self.name, || {
            let base = debian(self.debian)?;
            let tag = format!("localhost/{}:{fingerprint}", self.name);
            match &program {
                None => self.build(&tag, &self.folder, &[("BASE", &base)])?,
                Some((folder, name)) => self.build(&tag, folder, &[("PROGRAM", name)])?,
            }
            let mut target = OsString::from("oci:");
            target.push(unfinished(&layout));
            target.push(":latest");
            let [push, quiet] = ["push", "--quiet"].map(OsString::from);
            let [format, level] = COMPRESSION.map(OsString::from);
            buildah(&[push, quiet, format, level, tag.into(), target])
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
        // Layers are kept: an attempt goes on with the instruction that failed.
        retried(|| buildah(&arguments))
    }

    /// Twelve hexadecimal digits that change with everything that goes into it.
    fn fingerprint(&self) -> Result<String> {
        let mut hash = Fingerprint::default();
        hash.add(self.debian.name());
        hash.add(MIRROR);
        let files = self.files.iter().map(String::as_str);
        for file in ["Containerfile"].into_iter().chain(files) {
            let file = self.folder.join(file);
            hash.add(fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
        }
        for (name, value) in self.arguments {
            hash.add(name);
            hash.add(value);
        }
        if let Some(program) = self.program {
            hash.add(folder_and_name(program)?.1);
        }
        Ok(hash.digits())
    }
}

/// The folder of a program and its name there, which changes with its version.
fn folder_and_name(program: Tool) -> Result<(PathBuf, String)> {
    let path = program.path()?;
    let name = path.file_name().and_then(|name| name.to_str());
    let (folder, name) = path.parent().zip(name).context("a program has no name")?;
    Ok((folder.to_owned(), name.to_owned()))
}

/// What the image is called that all others stand on; it is built if need be.
fn debian(debian: Debian) -> Result<String> {
    let recipe = Recipe::new("debian", debian, super::own("base"));
    let tag = format!("localhost/debian:{}", recipe.fingerprint()?);
    if buildah(&["inspect".into(), "--type=image".into(), (&tag).into()]).is_ok() {
        return Ok(tag);
    }
    let context = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut made = with_own_mounts("mmdebstrap");
    // Whoever installs packages in images has this option, too.
    made.arg("--aptopt=Acquire::Retries \"5\"")
        .args(["--quiet", "--mode=root", "--variant=minbase", debian.name()])
        .arg(context.path().join("root.tar"))
        .arg(MIRROR);
    outside(|| retried(|| succeeded(made.output(), "mmdebstrap", "mmdebstrap")))??;
    recipe.build(&tag, context.path(), &[])?;
    Ok(tag)
}

/// Makes a folder of the cache, if it doesn't exist yet; other processes wait for the one that makes it.
fn kept(layout: &Path, name: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    if layout.exists() {
        mark_used(layout);
        return Ok(());
    }
    // One for all: they share layers, and each takes all of the machine that it can get.
    let _lock = locked(&layout.with_file_name("lock"))?;
    if layout.exists() {
        return Ok(());
    }
    let built = building(format!("image {name}"), layout);
    let unfinished = unfinished(layout);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)
            .with_context(|| format!("cannot remove {}", unfinished.display()))?;
    }
    make()?;
    fs::rename(&unfinished, layout).with_context(|| format!("cannot keep {}", layout.display()))?;
    built();
    Ok(())
}

/// Removes the images that weren't used for long, and their layers, unless another process builds an image.
pub(crate) fn remove_unused_images() -> Result<()> {
    let images = cache()?.join("images");
    if !images.exists() {
        return Ok(());
    }
    let lock = File::create(images.join("lock")).context("cannot create the lock of images")?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    let removed = remove_unused(&images)?;
    let images = removed.iter().filter(|name| !name.contains(".building"));
    for (name, fingerprint) in images.filter_map(|name| name.rsplit_once('-')) {
        // It is missing where the layers' folder was deleted.
        let tag = format!("localhost/{name}:{fingerprint}");
        let _ = buildah(&["rmi".into(), tag.into()]);
    }
    if !removed.is_empty() {
        // What was kept of their stages.
        buildah(&["rmi".into(), "--prune".into()])?;
    }
    Ok(())
}

fn unfinished(layout: &Path) -> PathBuf {
    layout.with_added_extension("building")
}

/// Builds with layers that are kept, and leaves nothing mounted.
fn buildah(arguments: &[OsString]) -> Result<()> {
    // What it knows of mounts is true for as long as it runs: they are gone afterwards.
    let state = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut command = with_own_mounts("buildah");
    command
        .arg("--root")
        .arg(cache()?.join("layers"))
        .arg("--runroot")
        .arg(state.path())
        .arg("--storage-driver=overlay")
        .args(arguments);
    succeeded(outside(|| command.output())?, "buildah", "buildah")
}

/// Returns the command of a program in a mount namespace of its own.
fn with_own_mounts(program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", program]);
    command
}

fn succeeded(output: io::Result<Output>, program: &str, package: &str) -> Result<()> {
    let advice = "the lab builds images as root with `unshare`: `apt-get install util-linux`";
    let output = installed(output, program, advice)?;
    ensure!(
        output.status.success(),
        "{program} failed ({}); if it is missing, `apt-get install {package}`:\n{}",
        output.status,
        last_lines(&output.stderr, 20, usize::MAX)
    );
    Ok(())
}
