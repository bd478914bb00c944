//! Chromium without a screen.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::machine::{Machine, Program};
use crate::namespace::outside;

/// The program, and the Debian package that has it.
const CHROMIUM: &str = "chromium-headless-shell";

/// How often apt-get downloads what failed.
const RETRIES: &str = "-o Acquire::Retries=5";

/// Installs Chromium if it isn't there, with apt-get.
///
/// # Errors
/// When it can't be installed here; the message has the command that installs it.
pub(crate) fn install() -> Result<()> {
    let install = format!(
        "apt-get {RETRIES} update && apt-get {RETRIES} install --yes --no-remove --no-install-recommends {CHROMIUM}"
    );
    let script = format!("command -v {CHROMIUM} || {{ {install}; }}");
    let installed = outside(|| {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script]);
        shell.env("DEBIAN_FRONTEND", "noninteractive").output()
    })?;
    let installed = installed.context("sh can't be started")?;
    ensure!(
        installed.status.success(),
        "there is no {CHROMIUM}; as root, run: {install}\n{}",
        String::from_utf8_lossy(&installed.stderr)
    );
    Ok(())
}

/// A browser on a machine.
pub struct Browser<'a>(&'a Machine);

impl<'a> Browser<'a> {
    /// A browser that opens pages on this machine.
    pub fn of(machine: &'a Machine) -> Self {
        Self(machine)
    }

    /// Opens a page, and returns its document as the browser understands it.
    pub async fn document(&self, url: &str) -> Result<String> {
        let name = "browser-document";
        let log = self.0.log(name);
        let before = std::fs::read_to_string(&log).unwrap_or_default().len();
        let program = self.program().arg("--dump-dom").arg(url);
        self.0.run(name, &program).await?;
        let written = std::fs::read_to_string(&log)?;
        Ok(written.get(before..).unwrap_or_default().to_owned())
    }

    /// Takes a picture of a page in a window of this size, in pixels.
    pub async fn picture(
        &self,
        url: &str,
        (width, height): (u32, u32),
        dark: bool,
        file: &Path,
    ) -> Result<PathBuf> {
        let mut program = self
            .program()
            .flag("window-size", format!("{width},{height}"))
            .flag("screenshot", file);
        if dark {
            program = program.flag("blink-settings", "preferredColorScheme=0");
        }
        let name = "browser-picture";
        self.0.run(name, &program.arg(url)).await?;
        ensure!(file.exists(), "the browser wrote no {}", file.display());
        Ok(file.to_owned())
    }

    /// Chromium refuses to run as root with its sandbox.
    fn program(&self) -> Program {
        let home = self.0.folder().join("browser");
        Program::new(CHROMIUM)
            .env("HOME", &home)
            .arg("--no-sandbox")
            .arg("--disable-gpu")
            .arg("--hide-scrollbars")
            .flag("user-data-dir", home.join("profile"))
    }
}
