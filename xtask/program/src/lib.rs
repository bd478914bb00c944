//! How the program `c5c3` is built, by those that ship it and those that test it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Soon.
    Debug,
    /// As it is shipped: a Linux program that needs nothing but a kernel, no loader, no libraries.
    Release,
}

impl Build {
    /// What cargo is told. Only the last step of a plain release build, the link, is told to be static.
    pub fn arguments(self) -> Vec<&'static str> {
        let (command, link): (&[_], &[_]) = match self {
            Self::Debug => (&["build"], &[]),
            Self::Release => (
                &["rustc", "--release"],
                &["--", "-C", "target-feature=+crt-static"],
            ),
        };
        let program = ["--locked", "--package", "c5c3", "--bin", "c5c3"];
        let messages = ["--message-format", "json-render-diagnostics"];
        [command, &program, &messages, link].concat()
    }

    /// Builds the program from the working tree around `folder`, for this machine's processor.
    ///
    /// # Errors
    /// When cargo fails; it says why on the standard error.
    pub fn program(self, folder: &Path) -> Result<PathBuf> {
        let built = cargo()
            .args(self.arguments())
            .current_dir(folder)
            .stderr(Stdio::inherit())
            .output()
            .context("cargo can't be started")?;
        ensure!(
            built.status.success(),
            "the program c5c3 doesn't build; a static link also needs the package libc6-dev"
        );
        executable(&built.stdout).context("cargo named no executable for c5c3")
    }
}

/// Cargo, as typed into a shell.
pub fn cargo() -> Command {
    as_typed(&env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program without what cargo has told the one that calls it. Build scripts look at that, ring's for one, and would have all
/// that depends on them built anew for every caller.
pub fn as_typed(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    let names = env::vars_os().map(|(name, _)| name);
    for name in names.filter(is_about_the_caller) {
        command.env_remove(name);
    }
    command
}

/// Whether cargo sets a variable for the one package that it runs or builds
/// (<https://doc.rust-lang.org/cargo/reference/environment-variables.html>).
fn is_about_the_caller(name: &OsString) -> bool {
    name.to_str().is_some_and(|name| {
        name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    })
}

/// The executable in cargo's JSON messages, one to a line.
fn executable(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_does_not_know_who_calls_it() {
        let cargo = cargo();
        let removed: Vec<_> = cargo
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .filter_map(|(name, _)| name.to_str())
            .collect();
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"] {
            assert!(env::var_os(name).is_some(), "this test isn't run by cargo");
            assert!(removed.contains(&name), "{removed:?}");
        }
        assert!(!removed.contains(&"CARGO_HOME") && !removed.contains(&"CARGO"));
    }

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let messages = b"{\"reason\":\"compiler-artifact\",\"executable\":null}\nnoise\n{\"executable\":\"/a/c5c3\"}\n{\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/c5c3")));
        assert_eq!(executable(b"{}"), None);
    }
}
