//! Programs of the machine that tests and measurements call.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A program, or where it is if not in `PATH`, and the Debian package that has it.
type Packaged = (&'static str, &'static str);

const PYTHON: &str = "python3";

const LAB: [Packaged; 3] = [
    ("ip", "iproute2"),
    (PYTHON, "python3-venv"),
    ("setpriv", "util-linux"),
];
const PODS: [Packaged; 9] = [
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("buildah", "buildah"),
    ("containerd", "containerd"),
    ("curl", "curl"),
    ("ipset", "ipset"),
    ("iptables", "iptables"),
    ("mmdebstrap", "mmdebstrap"),
    ("ping", "iputils-ping"),
    ("runc", "runc"),
];
const BENCH: [Packaged; 1] = [("valgrind", "valgrind")];

/// How often apt-get downloads what failed.
const RETRIES: &str = "-o Acquire::Retries=5";

/// What a lab is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lab {
    /// API servers and Crossplane.
    Clusters,
    /// Pods, too.
    Pods,
}

impl Lab {
    /// The space that it needs on its disk, in GiB: with its tools and images in the cache folder, and without.
    fn space(self, cache: &Path) -> u64 {
        let has = |name: &str| {
            let mut entries = cache.read_dir().into_iter().flatten().flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().starts_with(name))
        };
        match self {
            Self::Clusters if has("kube-apiserver-") => 10,
            Self::Clusters => 30,
            Self::Pods if has("images") => 25,
            Self::Pods => 50,
        }
    }
}

/// Sees to it that the programs which a lab calls are there: installs them as root, with apt-get.
///
/// # Errors
/// When something is missing and can't be installed here; the message has the command that installs it. When the disk is too full.
pub fn prepare_lab(lab: Lab) -> Result<()> {
    has_space(lab)?;
    ensure!(
        found("go"),
        "the lab builds its tools with Go 1.26 or newer: install it from https://go.dev/dl/"
    );
    install("the lab", &LAB)?;
    match lab {
        Lab::Clusters => Ok(()),
        Lab::Pods => install("a lab with pods", &PODS),
    }
}

/// What a lab needs of this machine, and which Debian packages are installed for it.
///
/// # Errors
/// When the cache folder isn't known or can't be created.
pub fn requirements(lab: Lab) -> Result<String> {
    let cache = c5c3_program::cache()?;
    let programs: &[&[Packaged]] = match lab {
        Lab::Clusters => &[&LAB],
        Lab::Pods => &[&LAB, &PODS],
    };
    let missing: BTreeSet<&str> = programs.iter().copied().flat_map(missing).collect();
    let installed = match missing.is_empty() {
        true => "It installs no Debian packages: all are there.".to_owned(),
        false => format!(
            "With apt-get, it installs {}.",
            Vec::from_iter(missing).join(", ")
        ),
    };
    Ok(format!(
        "{installed}\nIt needs {} GiB on the disk of {}, where tools and images stay that it builds.",
        lab.space(&cache),
        cache.display()
    ))
}

/// Sees to it that instructions can be counted: installs valgrind as root, with apt-get.
///
/// # Errors
/// When it is missing and can't be installed here; the message has the command that installs it.
pub fn prepare_bench() -> Result<()> {
    install("the benchmark", &BENCH)
}

/// Fine when tools and images of the lab, and what its scenarios write, fit on the disk.
fn has_space(lab: Lab) -> Result<()> {
    let cache = c5c3_program::cache()?;
    let needed = lab.space(&cache);
    let output = Command::new("df").arg("-Pk").arg(&cache).output();
    let output = output.context("df can't be started")?;
    let answer = String::from_utf8_lossy(&output.stdout);
    let free = answer.lines().nth(1).and_then(|line| {
        let free: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
        Some(free >> 20)
    });
    let free = free.with_context(|| format!("df answers {answer:?}"))?;
    ensure!(
        free >= needed,
        "the lab needs {needed} GiB on the disk of {cache}, and {free} are free: delete what Go compiled, by `go clean -cache`, or \
         {cache}, whose tools and images are then built again",
        cache = cache.display()
    );
    Ok(())
}

/// What installs packages, and fails rather than remove others: Debian's containerd conflicts with Docker's.
fn installation(packages: &[&str]) -> String {
    format!(
        "apt-get {RETRIES} update && apt-get {RETRIES} install --yes --no-remove --no-install-recommends {}",
        packages.join(" ")
    )
}

/// The packages whose programs aren't there.
fn missing(programs: &[Packaged]) -> BTreeSet<&'static str> {
    let missing = programs.iter().filter(|(program, _)| !works(program));
    missing.map(|(_, package)| *package).collect()
}

/// Whether a program is there, and Python with what makes virtual environments: Debian has that in a package of its own.
fn works(program: &str) -> bool {
    found(program) && (program != PYTHON || has_ensurepip(program))
}

fn has_ensurepip(python: &str) -> bool {
    let mut import = Command::new(python);
    import.args(["-c", "import ensurepip"]);
    let output = import.stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn install(whom: &str, programs: &[Packaged]) -> Result<()> {
    let packages: Vec<_> = missing(programs).into_iter().collect();
    if packages.is_empty() {
        return Ok(());
    }
    let install = installation(&packages);
    println!("\n==> {whom} lacks {}: {install}", packages.join(", "));
    if !found("apt-get") || !is_root() {
        bail!(
            "{whom} lacks {}; as root, run: {install}",
            packages.join(", ")
        );
    }
    let status = Command::new("sh")
        .args(["-c", &install])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .context("sh can't be started")?;
    ensure!(
        status.success(),
        "apt-get could not install {}; as root, run: {install}",
        packages.join(", ")
    );
    Ok(())
}

fn found(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Whether this user is root.
pub fn is_root() -> bool {
    let user = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    user.is_ok_and(|user| user.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installation_of_packages_removes_no_others() {
        let installation = installation(&["containerd", "runc"]);
        let (_, install) = installation.split_once(" && ").unwrap_or_default();
        assert!(install.contains(" --no-remove "), "{install}");
        assert!(install.ends_with(" containerd runc"), "{install}");
    }

    #[test]
    fn python_that_makes_no_virtual_environments_is_missing() {
        // In the place of one that has the module, and of one that hasn't.
        assert!(has_ensurepip("true"));
        assert!(!has_ensurepip("false"));
    }
}
