//! The program in a function package.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// A Linux program that needs nothing but a kernel: no loader, no libraries.
pub struct StaticProgram {
    /// The whole file.
    pub contents: Vec<u8>,
    /// The processor in OCI's words.
    pub architecture: &'static str,
}

impl StaticProgram {
    /// Reads a program from its file.
    ///
    /// # Errors
    /// When it can't be read or isn't static.
    pub fn read(file: &Path) -> Result<Self> {
        let contents =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(contents).with_context(|| format!("{} can't go into an image", file.display()))
    }

    /// Reads the head of a 64-bit little-endian ELF file (the generic ABI's chapters 4 and 5).
    ///
    /// # Errors
    /// When it isn't one, asks for a loader, or is for a processor without a name here.
    pub fn parse(contents: Vec<u8>) -> Result<Self> {
        ensure!(
            contents.starts_with(b"\x7fELF\x02\x01"),
            "it is not a 64-bit Linux program: build it on Linux"
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
