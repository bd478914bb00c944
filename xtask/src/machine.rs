//! Programs of the machine that tests and measurements call.

use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A program, or where it is if not in `PATH`, and the Debian package that has it.
type Packaged = (&'static str, &'static str);

const LAB: [Packaged; 11] = [
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("buildah", "buildah"),
    ("containerd", "containerd"),
    ("ip", "iproute2"),
    ("ipset", "ipset"),
    ("iptables", "iptables"),
    ("mmdebstrap", "mmdebstrap"),
    ("ping", "iputils-ping"),
    ("python3", "python3-venv"),
    ("runc", "runc"),
    ("setpriv", "util-linux"),
];
const BENCH: [Packaged; 1] = [("valgrind", "valgrind")];

/// How often apt-get downloads what failed.
const RETRIES: &str = "-o Acquire::Retries=5";

/// The space, in GiB, that the lab needs on a disk that has its images already, and on one that hasn't.
const CACHED: u64 = 15;
const BARE: u64 = 30;

/// Sees to it that the programs which the lab calls are there: installs them as root, with apt-get.
///
/// # Errors
/// When something is missing and can't be installed here; the message has the command that installs it. When the disk is too full.
pub fn prepare_lab() -> Result<()> {
    has_space()?;
    ensure!(
        found("go"),
        "the lab builds its tools with Go 1.26 or newer: install it from https://go.dev/dl/"
    );
    install("the lab", &LAB)
}

/// Sees to it that instructions can be counted: installs valgrind as root, with apt-get.
///
/// # Errors
/// When it is missing and can't be installed here; the message has the command that installs it.
pub fn prepare_bench() -> Result<()> {
    install("the benchmark", &BENCH)
}

/// Fine when tools and images of the lab, and what its scenarios write, fit on the disk.
fn has_space() -> Result<()> {
    let home = env::home_dir().context("set HOME: the lab keeps its tools there")?;
    let caches = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    let caches = caches.map_or_else(|| home.join(".cache"), PathBuf::from);
    let needed = match caches.join("c5c3-lab/images").exists() {
        true => CACHED,
        false => BARE,
    };
    let folder = caches.ancestors().find(|folder| folder.exists());
    let output = Command::new("df").arg("-Pk").args(folder).output();
    let output = output.context("df can't be started")?;
    let answer = String::from_utf8_lossy(&output.stdout);
    let free = answer.lines().nth(1).and_then(|line| {
        let free: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
        Some(free >> 20)
    });
    let free = free.with_context(|| format!("df answers {answer:?}"))?;
    ensure!(
        free >= needed,
        "the lab needs {needed} GiB on the disk of {caches}, and {free} are free: delete {caches}/go-build, which holds what Go \
         compiled, or {caches}/c5c3-lab, whose tools and images are then built again",
        caches = caches.display()
    );
    Ok(())
}

fn install(whom: &str, programs: &[Packaged]) -> Result<()> {
    let missing: BTreeSet<_> = programs
        .iter()
        .filter(|(program, _)| !found(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<_> = missing.into_iter().collect();
    let install = format!(
        "apt-get {RETRIES} update && apt-get {RETRIES} install --yes --no-install-recommends {}",
        packages.join(" ")
    );
    println!("\n==> {whom} lacks {}: {install}", packages.join(", "));
    if !found("apt-get") || !root() {
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

fn root() -> bool {
    let user = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    user.is_ok_and(|user| user.stdout.trim_ascii() == b"0")
}
