//! Installing Python programs, by `uv` into virtual environments of the machine's `python3`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::cache::{Fingerprint, building, cache, locked, mark_used};
use crate::download::retried;
use crate::namespace::outside;
use crate::output;

/// What installs everything else, many times faster than pip does.
const UV: &str = "uv==0.13.9";

/// Prints what decides which files `uv` picks, and whether an environment works: the minor version of Python and the platform, the C
/// library, and where the interpreter is, to which environments link. A patch of Python changes none of it.
const ABI: &str = "import platform, sys, sysconfig
print(sysconfig.get_config_var('SOABI'), *platform.libc_ver(), getattr(sys, '_base_executable', sys.executable))";

/// The folder of the programs that `tests/tools/<name>/requirements.txt` pins, installed if they aren't in the cache.
///
/// Only what is published ready for use is installed, but for what the file itself excepts: nothing else is built, no other
/// version is picked.
pub(crate) fn environment(name: &str) -> Result<PathBuf> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tools")
        .join(name)
        .join("requirements.txt");
    let pins = fs::read(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let mut python = Command::new("python3");
    let abi = succeeded(python.args(["-c", ABI]).output(), "print its ABI")?;
    let fingerprint = fingerprint(&pins, &abi);
    let environment = cache()?.join(format!("{name}-{fingerprint}"));
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
    let _lock = locked(&environment.with_added_extension("lock"))?;
    // Written last: an environment can't be moved, so one that was left half-made stands in its final place.
    let complete = environment.join("complete");
    if complete.exists() {
        mark_used(environment);
        return Ok(programs);
    }

    let built = building(name.to_owned(), environment);
    let made = Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .args((name != UV).then_some("--without-pip"))
        .arg(environment)
        .output();
    succeeded(made, "make a virtual environment")?;
    outside(|| install(&programs))??;
    File::create(&complete).with_context(|| format!("cannot create {}", complete.display()))?;
    built();
    Ok(programs)
}

/// Twelve hexadecimal digits that change with the requirements and with what they are installed for.
fn fingerprint(requirements: &[u8], abi: &[u8]) -> String {
    let mut hash = Fingerprint::default();
    hash.add(requirements);
    hash.add(abi);
    hash.digits()
}

fn succeeded(output: io::Result<Output>, to: &str) -> Result<Vec<u8>> {
    let advice = "the lab installs OpenStack's services with Python 3.11 or newer, and `python3` is not in PATH or lacks pip: \
                  `apt-get install python3-venv`";
    let output = output::installed(output, "python3", advice)?;
    ensure!(
        output.status.success(),
        "python3 could not {to}; on Debian, `apt-get install python3-venv` may help:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_called_by_its_pins_and_by_what_they_are_installed_for() {
        let debian_12 = b"cpython-311-x86_64-linux-gnu glibc 2.36 /usr/bin/python3\n";
        let first = fingerprint(b"keystone==27.0.0\n", debian_12);
        assert_eq!(fingerprint(b"keystone==27.0.0\n", debian_12), first);
        assert_ne!(fingerprint(b"keystone==27.0.1\n", debian_12), first);
        for other in [
            "cpython-313-x86_64-linux-gnu glibc 2.36 /usr/bin/python3\n",
            "cpython-311-x86_64-linux-gnu glibc 2.41 /usr/bin/python3\n",
            "cpython-311-x86_64-linux-gnu glibc 2.36 /usr/local/bin/python3\n",
        ] {
            let environment = fingerprint(b"keystone==27.0.0\n", other.as_bytes());
            assert_ne!(environment, first, "{other}");
        }
    }
}
