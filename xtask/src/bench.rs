//! `cargo xtask bench`: what answers cost (docs/performance.md).

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::machine;

/// What is measured.
#[derive(Args)]
pub struct Options {
    /// Serve over gRPC beside function-sdk-rust and crossplane-function-pythonic, and measure all three
    #[arg(long)]
    peers: bool,
    /// Python 3.12 or newer, for crossplane-function-pythonic
    #[arg(long, default_value = "python3", requires = "peers")]
    python: OsString,
}

/// Measures, prints tables, and compares with what is allowed.
///
/// # Errors
/// When something can't be built or a budget is broken.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.peers {
        return peers(root, &options.python);
    }
    machine::prepare_bench()?;
    let arguments = [
        "run",
        "--locked",
        "--quiet",
        "--profile",
        "budget",
        "--package",
        "bench",
    ];
    succeed(c5c3_program::cargo().args(arguments).current_dir(root))
}

fn peers(root: &Path, python: &OsString) -> Result<()> {
    let sources = root.join("bench/peers");
    let target = root.join("target");
    let (ours, peers) = (target.join("release"), target.join("peers"));
    succeed(
        c5c3_program::cargo()
            .args(["build", "--locked", "--release", "--package", "c5c3"])
            .arg("--target-dir")
            .arg(&target)
            .current_dir(root),
    )?;
    succeed(
        c5c3_program::cargo()
            .args(["build", "--release", "--target-dir"])
            .arg(&peers)
            .current_dir(&sources),
    )?;

    let pythonic = sources.join("pythonic");
    let environment = target.join("pythonic");
    if !environment.is_dir() {
        let supported = "import sys; sys.exit(sys.version_info < (3, 12))";
        succeed(Command::new(python).args(["-c", supported])).context(
            "crossplane-function-pythonic needs Python 3.12 or newer; name one with --python",
        )?;
        succeed(Command::new(python).args(["-m", "venv"]).arg(&environment))?;
    }
    let programs = environment.join("bin");
    succeed(
        Command::new(programs.join("pip"))
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
            ])
            .arg(pythonic.join("requirements.txt")),
    )?;

    succeed(
        Command::new(peers.join("release/load"))
            .arg("--ours")
            .arg(ours.join("c5c3"))
            .arg("--sdk")
            .arg(peers.join("release/function-over-sdk"))
            .arg("--pythonic")
            .arg(programs.join("function-pythonic"))
            .arg("--composition")
            .arg(pythonic),
    )
}

/// Runs a command to its end.
fn succeed(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("cannot start: {shown}"))?;
    ensure!(status.success(), "failed ({status}): {shown}");
    Ok(())
}
