//! The program that a function package carries.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// A Linux program that needs nothing but a kernel: no loader, no libraries.
pub struct StaticProgram {
    contents: Vec<u8>,
    architecture: &'static str,
}

impl StaticProgram {
    /// What cargo is told to build it: what a plain release build compiles, ...
    pub const BUILD: [&str; 7] = [
        "rustc",
        "--release",
        "--locked",
        "--package",
        "c5c3",
        "--bin",
        "c5c3",
    ];

    /// ... and only the last step, the link, is told to be static.
    pub const LINK: [&str; 3] = ["--", "-C", "target-feature=+crt-static"];

    /// Builds the program `c5c3` for this machine's processor, in the release profile.
    ///
    /// # Errors
    /// When cargo fails (it says why), or what comes out isn't static.
    pub fn build(root: &Path) -> Result<Self> {
        let build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(Self::BUILD)
            .args(["--message-format", "json-render-diagnostics"])
            .args(Self::LINK)
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .context("cargo can't be started")?;
        ensure!(
            build.status.success(),
            "the program c5c3 doesn't build; a static link also needs the package libc6-dev"
        );
        let path = executable(&build.stdout).context("cargo named no executable for c5c3")?;
        let contents =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(contents).with_context(|| format!("{} can't go into an image", path.display()))
    }

    /// Reads the head of a 64-bit little-endian ELF file (the generic ABI's chapters 4 and 5).
    ///
    /// # Errors
    /// When it isn't one, asks for a loader, or is for a processor without a name here.
    pub fn parse(contents: Vec<u8>) -> Result<Self> {
        ensure!(
            contents.starts_with(b"\x7fELF\x02\x01"),
            "it is no 64-bit Linux program: build it on Linux"
        );
        let architecture = match number(&contents, 0x12, 2)? {
            0x3e => "amd64",
            0xb7 => "arm64",
            machine => bail!(
                "its processor (ELF machine {machine}) has no name here: build it on x86-64 or arm64"
            ),
        };
        const LOADER: usize = 3;
        let (table, size, count) = (
            number(&contents, 0x20, 8)?,
            number(&contents, 0x36, 2)?,
            number(&contents, 0x38, 2)?,
        );
        for header in 0..count {
            let kind = number(&contents, table.saturating_add(header * size), 4)?;
            ensure!(
                kind != LOADER,
                "it asks for a dynamic loader: build it with crt-static"
            );
        }
        Ok(Self {
            contents,
            architecture,
        })
    }

    /// The whole file.
    pub fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// The processor in OCI's words.
    pub fn architecture(&self) -> &'static str {
        self.architecture
    }
}

fn number(contents: &[u8], offset: usize, size: usize) -> Result<usize> {
    let bytes = contents
        .get(offset..offset.saturating_add(size))
        .context("its ELF header is cut short")?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// The executable in cargo's JSON messages, one to a line.
fn executable(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}
