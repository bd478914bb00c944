//! OpenStack's releases, upgrade paths, and the releases of images.

mod published;
pub mod table;

use std::fmt;
use std::str::FromStr;

use provider_composer::{Failure, Reason};

pub use published::PublishedImage;
use table::{RELEASES, Tags};

/// An OpenStack release by its date, for instance 2025.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    year: u16,
    half: u8,
}

impl Release {
    /// The first or the second release of a year.
    pub const fn new(year: u16, half: u8) -> Self {
        Self { year, half }
    }

    /// The tags of a release's images.
    ///
    /// # Errors
    /// The release is unknown. The failure lists those that are known.
    pub fn tags(text: &str) -> Result<&'static Tags, Failure> {
        let release: Option<Self> = text.parse().ok();
        let known = RELEASES.iter().find(|tags| Some(tags.release) == release);
        known.ok_or_else(|| {
            let names: Vec<String> = RELEASES
                .iter()
                .map(|tags| tags.release.to_string())
                .collect();
            let message = format!(
                "OpenStack {text} isn't known to this operator: choose one of {}, or a newer operator",
                names.join(", ")
            );
            Failure::new(Reason::ReleaseUnknown, message)
        })
    }

    /// Returns the release of an image's tag: a version (28.0.0, 28.0.0-p1) of a service whose releases have the `known` tags, a branch
    /// (stable-2025.2) or a release (2025.2). Returns `None` for a commit.
    pub fn of_tag(known: &[&str], tag: &str) -> Option<Self> {
        let named = tag.strip_prefix("stable-").unwrap_or(tag);
        let version = named.split_once('-').map_or(named, |(version, _)| version);
        if let Ok(release) = version.parse() {
            return Some(release);
        }
        let major = major(version)?;
        let mut releases = RELEASES.iter().zip(known);
        let found = releases.find(|(_, known)| self::major(known) == Some(major));
        found.map(|(tags, _)| tags.release)
    }

    /// Whether upgrades may skip the release that comes after this one
    /// (<https://governance.openstack.org/tc/resolutions/20220210-release-cadence-adjustment.html>).
    pub fn is_slurp(self) -> bool {
        self.half == 1 && self >= Self::new(2024, 1)
    }

    /// Checks whether a service of this release may change to another one.
    ///
    /// # Errors
    /// It is a downgrade, or skips a release that can't be skipped.
    pub fn may_become(self, wanted: Self) -> Result<(), String> {
        if wanted < self {
            return Err(format!(
                "{wanted} is older than {self}, which runs, and databases can't be downgraded: request {self} or newer"
            ));
        }
        let (next, next_slurp) = (self.next(), Self::new(self.year + 1, 1));
        let skips = self.is_slurp() && wanted == next_slurp;
        match wanted == self || wanted == next || skips {
            true => Ok(()),
            false if self.is_slurp() => Err(format!(
                "{wanted} doesn't follow {self}, which runs: go to {next} or {next_slurp} first"
            )),
            false => Err(format!(
                "{wanted} doesn't follow {self}, which is installed and is not a SLURP release: upgrade to {next} first"
            )),
        }
    }

    fn next(self) -> Self {
        match self.half {
            1 => Self::new(self.year, 2),
            _ => Self::new(self.year + 1, 1),
        }
    }
}

/// The major number of a version.
fn major(version: &str) -> Option<u32> {
    let numbers: Vec<u32> = version
        .split('.')
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    match numbers[..] {
        [major, _, _] => Some(major),
        _ => None,
    }
}

impl fmt::Display for Release {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.year, self.half)
    }
}

/// The text is not a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRelease;

impl FromStr for Release {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Self, NoRelease> {
        let (year, half) = text.split_once('.').ok_or(NoRelease)?;
        match (year.parse(), half.parse()) {
            (Ok(year), Ok(half)) if (1..=2).contains(&half) && year >= 2010 => {
                Ok(Self { year, half })
            }
            _ => Err(NoRelease),
        }
    }
}
