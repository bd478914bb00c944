//! Programs of the machine that tests and measurements call.

use std::collections::BTreeSet;
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
/// How often apt-get downloads what failed.
const RETRIES: &str = "-o Acquire::Retries=5";

const BENCH: [Packaged; 1] = [("valgrind", "valgrind")];

/// Sees to it that the programs which the lab calls are there: installs them as root, with apt-get.
///
/// # Errors
/// When something is missing and can't be installed here; the message has the command that installs it.
pub fn prepare_lab() -> Result<()> {
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
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

fn root() -> bool {
    let user = Command::new("id").arg("-u").stdin(Stdio::null()).output();
    user.is_ok_and(|user| user.stdout.trim_ascii() == b"0")
}
