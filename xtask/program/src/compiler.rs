//! The compiler that builds the program.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{as_typed, output_of};

/// A Rust compiler, as `rustc --version --verbose` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Such as `1.95.0`.
    pub release: String,
    /// The commit of Rust's sources, unless a distribution doesn't say.
    pub commit: Option<String>,
    /// The target triple of the machine.
    pub host: String,
}

impl Compiler {
    /// The compiler that builds the sources in a folder.
    ///
    /// # Errors
    /// When it can't be started or doesn't describe itself.
    pub fn of(folder: &Path) -> Result<Self> {
        let mut rustc = rustc();
        rustc.args(["--version", "--verbose"]);
        Self::parse(&output_of(rustc, folder)?)
    }

    fn parse(description: &str) -> Result<Self> {
        let field = |name: &str| {
            let value = description
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.filter(|value| *value != "unknown").map(str::to_owned)
        };
        Ok(Self {
            release: field("release").context("rustc doesn't say which release it is of")?,
            commit: field("commit-hash"),
            host: field("host").context("rustc doesn't say which machine it is for")?,
        })
    }
}

/// The folder with the compiler and the standard library.
pub fn sysroot(folder: &Path) -> Result<PathBuf> {
    let mut rustc = rustc();
    rustc.args(["--print", "sysroot"]);
    Ok(output_of(rustc, folder)?.trim_end().into())
}

fn rustc() -> Command {
    as_typed(&env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_describes_itself() -> Result<()> {
        let description = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\ncommit-hash: 59807616e1fa\n\
                           host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
        let compiler = Compiler {
            release: "1.95.0".to_owned(),
            commit: Some("59807616e1fa".to_owned()),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        };
        assert_eq!(Compiler::parse(description)?, compiler);
        let of_a_distribution = description.replace("59807616e1fa", "unknown");
        let expected = Compiler {
            commit: None,
            ..compiler
        };
        assert_eq!(Compiler::parse(&of_a_distribution)?, expected);
        assert!(Compiler::parse("rustc 1.95.0").is_err());
        Ok(())
    }
}
