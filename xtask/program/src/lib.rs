//! What development commands and scenarios share: how the program `c5c3` is built, and where they keep files.

mod cache;
mod compiler;
mod paths;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub use cache::cache;
pub use compiler::Compiler;
pub use paths::cargo_home;

/// The variable with the path of a [`Build::Debug`] that is built already.
pub const PROGRAM: &str = "C5C3_PROGRAM";

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// As the workspace's tests are: with them, so that nothing is compiled twice.
    Debug,
    /// As it is shipped: a Linux program that needs nothing but a kernel, no loader, no libraries. The same sources and the same compiler
    /// give the same bytes, whatever the folders.
    Release,
}

impl Build {
    /// What cargo is told. Only the last step of a release build, the link, is told to be static.
    fn arguments(self) -> Vec<&'static str> {
        let messages = ["--locked", "--message-format", "json-render-diagnostics"];
        match self {
            Self::Debug => [&["test", "--workspace", "--no-run"], &messages[..]].concat(),
            Self::Release => [
                &["rustc", "--release", "--package", "c5c3", "--bin", "c5c3"],
                &messages[..],
                &["--", "-C", "target-feature=+crt-static"],
            ]
            .concat(),
        }
    }

    /// Builds the program from the working tree around `folder`, for this machine's processor. [`PROGRAM`] spares a debug build.
    ///
    /// # Errors
    /// When cargo fails; it says why on the standard error.
    pub fn program(self, folder: &Path) -> Result<PathBuf> {
        if let (Self::Debug, Some(program)) = (self, env::var_os(PROGRAM)) {
            return Ok(program.into());
        }
        let built = self
            .command(folder)?
            .stderr(Stdio::inherit())
            .output()
            .context("cargo can't be started")?;
        ensure!(
            built.status.success(),
            "the program c5c3 doesn't build; it needs make and a C compiler, and its static link the package libc6-dev"
        );
        executable(&built.stdout).context("cargo named no executable for c5c3")
    }

    /// Cargo's command. Flags in the caller's environment don't change what is shipped.
    fn command(self, folder: &Path) -> Result<Command> {
        let mut command = cargo();
        command.args(self.arguments()).current_dir(folder);
        if self == Self::Release {
            command.env("CARGO_ENCODED_RUSTFLAGS", paths::flags(folder)?);
            let names = env::vars_os().map(|(name, _)| name);
            for name in names.filter(changes_c_code) {
                command.env_remove(name);
            }
        }
        Ok(command)
    }
}

/// What a command prints, run in a folder.
///
/// # Errors
/// When it can't be started or fails, with what it prints on the standard error.
pub fn output_of(mut command: Command, folder: &Path) -> Result<String> {
    let output = command
        .current_dir(folder)
        .output()
        .with_context(|| format!("{command:?} can't be started"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} prints no UTF-8"))
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

/// Whether crates with C code, ring and jemalloc, take a variable as flags of their compiler or of their build.
fn changes_c_code(name: &OsString) -> bool {
    let parts = ["CFLAGS", "CPPFLAGS", "LDFLAGS", "JEMALLOC"];
    name.to_str()
        .is_some_and(|name| parts.iter().any(|part| name.contains(part)))
}

/// The program's path in cargo's JSON messages, one to a line.
fn executable(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| {
            message["target"]["name"] == "c5c3" && message["profile"]["test"] == false
        })
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
    fn only_what_is_shipped_is_built_without_the_builders_paths() -> Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let is_told = |build: Build| -> Result<bool> {
            let command = build.command(folder)?;
            let mut told = command.get_envs();
            Ok(told.any(|(name, value)| name == "CARGO_ENCODED_RUSTFLAGS" && value.is_some()))
        };
        assert!(is_told(Build::Release)? && !is_told(Build::Debug)?);
        Ok(())
    }

    #[test]
    fn flags_of_c_code_are_known_by_their_names() {
        for name in [
            "CFLAGS",
            "CFLAGS_x86_64-unknown-linux-gnu",
            "LDFLAGS",
            "X86_64_UNKNOWN_LINUX_GNU_JEMALLOC_SYS_WITH_LG_PAGE",
        ] {
            assert!(changes_c_code(&name.into()), "{name}");
        }
        for name in ["CC", "HOME", "RUSTFLAGS"] {
            assert!(!changes_c_code(&name.into()), "{name}");
        }
    }

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let artifact = |name: &str, test: bool, executable: &str| {
            format!(
                "{{\"target\":{{\"name\":\"{name}\"}},\"profile\":{{\"test\":{test}}},\"executable\":{executable}}}\n"
            )
        };
        let messages = [
            artifact("c5c3", false, "null"),
            "noise\n".to_owned(),
            artifact("scenarios", true, "\"/a/scenarios-1\""),
            artifact("c5c3", true, "\"/a/c5c3-2\""),
            artifact("c5c3", false, "\"/a/c5c3\""),
            "{\"success\":true}\n".to_owned(),
        ];
        assert_eq!(
            executable(messages.concat().as_bytes()),
            Some(PathBuf::from("/a/c5c3"))
        );
        assert_eq!(executable(messages[..4].concat().as_bytes()), None);
    }
}
