//! What `.ci/run` does with the directory of builds, before the gate begins.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use tempfile::TempDir;

/// A clone with `.ci/run`, whose cargo prints its arguments.
struct Clone {
    home: TempDir,
}

impl Clone {
    fn new() -> Result<Self> {
        let home = tempfile::tempdir()?;
        let clone = Self { home };
        for dir in ["bin", "clone/.ci"] {
            fs::create_dir_all(clone.home.path().join(dir))?;
        }
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/run");
        fs::copy(run, clone.home.path().join("clone/.ci/run"))?;
        for arguments in [["init", "--quiet"], ["add", ".ci/run"]] {
            let git = Command::new("git")
                .arg("-C")
                .arg(clone.home.path().join("clone"))
                .args(arguments)
                .status()?;
            ensure!(git.success(), "git {arguments:?}: {git}");
        }
        clone.program("cargo", "echo cargo \"$@\"")?;
        Ok(clone)
    }

    /// Lets `.ci/run` find a program that does this.
    fn program(&self, name: &str, does: &str) -> Result<()> {
        let path = self.home.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{does}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Runs `.ci/run` to its end, and returns what it printed.
    fn run(&self) -> Result<String> {
        let home = self.home.path();
        let path = env::var("PATH")?;
        let output = Command::new("bash")
            .arg(home.join("clone/.ci/run"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    fn built(&self, file: &str) -> PathBuf {
        self.home.path().join("cache/c5c3-lab/target").join(file)
    }
}

#[test]
fn the_gate_begins_on_a_bare_machine_and_keeps_what_was_built() -> Result<()> {
    let clone = Clone::new()?;
    assert_eq!(clone.run()?, "cargo xtask test\n");
    fs::write(clone.built("crate"), "")?;
    assert_eq!(clone.run()?, "cargo xtask test\n");
    assert!(clone.built("crate").exists());
    Ok(())
}

#[test]
fn the_gate_begins_without_builds_that_became_too_large() -> Result<()> {
    let clone = Clone::new()?;
    clone.run()?;
    fs::write(clone.built("crate"), "")?;
    clone.program("du", "printf '16\\t%s\\n' target")?;
    assert_eq!(clone.run()?, "cargo xtask test\n");
    assert!(!clone.built("crate").exists());
    assert!(
        clone.built("clone").exists(),
        "what this clone builds is taken for another one's"
    );
    Ok(())
}
