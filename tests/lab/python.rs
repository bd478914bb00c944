//! Installing Python programs, by `uv` into virtual environments of the machine's `python3`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::cache::{cache, digits, mark_used};
use crate::download::retried;
use crate::namespace::outside;
use crate::say::say;

/// What installs everything else, many times faster than pip does.
const UV: &str = "uv==0.13.9";

/// The folder of the programs that `tests/tools/<name>/requirements.txt` pins, installed if they aren't in the cache.
///
/// Only what is published ready for use is installed, but for what the file itself excepts: nothing else is built, no other
/// version is picked.
pub(crate) fn environment(name: &str) -> Result<PathBuf> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tools")
        .join(name)
        .join("requirements.txt");
    let environment = cache()?.join(format!("{name}-{}", fingerprint(&requirements)?));
    installed(name, &environment, |programs| {
        let uv = cache()?.join(UV);
        let uv = installed(UV, &uv, |programs| {
            let mut pip = Command::new(programs.join("pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"])
                .args(["--no-deps", "--only-binary", ":all:"])
                .arg(UV);
            retried(|| succeeded(pip.output(), "install uv"))
        })?;
        let mut install = Command::new(uv.join("uv"));
        install
            .args(["pip", "install", "--quiet"])
            .args(["--no-deps", "--only-binary", ":all:", "--requirement"])
            .arg(&requirements)
            .arg("--python")
            .arg(programs.join("python3"));
        retried(|| succeeded(install.output(), &format!("install {name}")))
    })
}

/// The folder of an environment's programs, which are installed there, out in the world, if they weren't before.
fn installed(
    name: &str,
    environment: &Path,
    install: impl FnOnce(&Path) -> Result<Vec<u8>> + Send,
) -> Result<PathBuf> {
    let programs = environment.join("bin");
    let lock = environment.with_added_extension("lock");
    let lock = File::create(&lock).with_context(|| format!("cannot create {}", lock.display()))?;
    lock.lock()
        .context("cannot wait for another process that installs the same programs")?;
    // Written last: an environment can't be moved, so one that was left half-made stands in its final place.
    let complete = environment.join("complete");
    if complete.exists() {
        mark_used(environment);
        return Ok(programs);
    }

    let started = Instant::now();
    say(format_args!(
        "installing {name} (kept in {}) ...",
        environment.display()
    ));
    let made = Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .args((name != UV).then_some("--without-pip"))
        .arg(environment)
        .output();
    succeeded(made, "make a virtual environment")?;
    outside(|| install(&programs))??;
    File::create(&complete).with_context(|| format!("cannot create {}", complete.display()))?;
    say(format_args!(
        "installed {name} in {} s",
        started.elapsed().as_secs()
    ));
    Ok(programs)
}

/// Twelve hexadecimal digits that change with the requirements and with Python.
fn fingerprint(requirements: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(
        fs::read(requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?,
    );
    hash.update(succeeded(
        Command::new("python3").arg("--version").output(),
        "print its version",
    )?);
    Ok(digits(hash))
}

fn succeeded(output: io::Result<Output>, to: &str) -> Result<Vec<u8>> {
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "the lab installs OpenStack's services with Python 3.11 or newer, and `python3` is not in PATH or lacks pip: \
             `apt-get install python3-venv`"
        ),
        other => other.context("cannot run python3")?,
    };
    ensure!(
        output.status.success(),
        "python3 could not {to}; on Debian, `apt-get install python3-venv` may help:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
