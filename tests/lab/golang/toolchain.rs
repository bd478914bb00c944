//! Which Go builds tools: the same release on every machine, so that what was built is found again where another Go is installed.

use std::env::consts::ARCH;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;

use super::{go, succeeded};
use crate::download::retried;
use crate::namespace::outside;
use crate::say::say;

/// The release of Go that builds tools. Another one downloads it, as it does modules. A change builds every tool anew.
pub(super) const PINNED: &str = "go1.26.8";

/// A release of Go, and how `go` is told to be it.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// What `go version` prints.
    pub(super) version: String,
    /// The value of `GOTOOLCHAIN`, if not the user's.
    pub(super) selection: Option<&'static str>,
}

impl Toolchain {
    /// The one that builds tools.
    pub(super) fn pinned() -> Self {
        let architecture = match ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            version: format!("go version {PINNED} linux/{architecture}\n"),
            selection: Some(PINNED),
        }
    }

    /// The machine's own.
    ///
    /// # Errors
    /// When `go` is missing.
    pub(super) fn own(folder: &Path) -> Result<Self> {
        Self::selected(None, folder)
    }

    /// The pinned one, downloaded if need be, or the machine's own where it can't be downloaded.
    pub(super) fn pinned_or(own: Self, folder: &Path) -> Self {
        static DOWNLOADED: OnceLock<Option<Toolchain>> = OnceLock::new();
        own.unless_downloaded(&DOWNLOADED, || {
            outside(|| retried(|| Self::selected(Some(PINNED), folder))).flatten()
        })
    }

    /// What is downloaded, or this one where it can't be. Only the first tool waits for the attempts: the outcome counts for all others.
    fn unless_downloaded(
        self,
        outcome: &OnceLock<Option<Self>>,
        download: impl FnOnce() -> Result<Self>,
    ) -> Self {
        let downloaded = outcome.get_or_init(|| match download() {
            Ok(downloaded) => Some(downloaded),
            Err(error) => {
                let version = self.version.trim_end();
                say(format_args!(
                    "tools are built by {version}, because {PINNED} can't be downloaded: {error:#}"
                ));
                None
            }
        });
        downloaded.clone().unwrap_or(self)
    }

    fn selected(selection: Option<&'static str>, folder: &Path) -> Result<Self> {
        let mut version = go(folder);
        version
            .arg("version")
            .envs(selection.map(|selection| ("GOTOOLCHAIN", selection)));
        let answer = succeeded(version.output(), "print its version")?;
        Ok(Self {
            version: String::from_utf8_lossy(&answer).into_owned(),
            selection,
        })
    }

    /// Whether both build the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::bail;

    use super::*;

    /// The numbers of a release such as `1.26.8`.
    fn numbers(release: &str) -> Vec<u32> {
        release
            .split('.')
            .map(|number| number.parse().unwrap())
            .collect()
    }

    #[test]
    fn pinned_go_can_build_each_tool() -> Result<()> {
        let pinned = numbers(PINNED.trim_start_matches("go"));
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
        let mut manifests = 0;
        for tool in fs::read_dir(tools)? {
            let manifest = tool?.path().join("go.mod");
            if !manifest.exists() {
                continue;
            }
            manifests += 1;
            let requirements = fs::read_to_string(&manifest)?;
            let mut lines = requirements.lines();
            let needed = lines.find_map(|line| line.strip_prefix("go ")).unwrap();
            assert!(numbers(needed) <= pinned, "{}", manifest.display());
        }
        assert!(manifests > 10, "{manifests}");
        Ok(())
    }

    #[test]
    fn download_that_fails_is_not_tried_for_the_next_tool() {
        let own = |version: &str| Toolchain {
            version: version.to_owned(),
            selection: None,
        };
        let outcome = OnceLock::new();
        let first = own("one").unless_downloaded(&outcome, || bail!("there is no network"));
        let next = own("another").unless_downloaded(&outcome, || Ok(Toolchain::pinned()));
        assert_eq!([first.version, next.version], ["one", "another"]);
    }

    #[test]
    fn download_that_succeeds_counts_for_the_next_tool() {
        let own = || Toolchain {
            version: "one".to_owned(),
            selection: None,
        };
        let outcome = OnceLock::new();
        let first = own().unless_downloaded(&outcome, || Ok(Toolchain::pinned()));
        let next = own().unless_downloaded(&outcome, || bail!("it is tried again"));
        let selections = [first.selection, next.selection];
        assert_eq!(selections, [Some(PINNED), Some(PINNED)]);
    }

    #[test]
    fn go_is_the_pinned_one_by_its_version() {
        let own = |version: &str| Toolchain {
            version: version.to_owned(),
            selection: None,
        };
        let pinned = Toolchain::pinned();
        assert!(own(&pinned.version).is(&pinned));
        assert!(!own(&pinned.version.replace("go1.", "go2.")).is(&pinned));
        let experimental = pinned
            .version
            .replace(PINNED, &format!("{PINNED} X:nogreenteagc"));
        assert!(!own(&experimental).is(&pinned));
    }
}
