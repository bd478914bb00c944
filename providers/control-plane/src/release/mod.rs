//! OpenStack's releases: which there are, which may follow which, and how a control plane comes from one to another.

mod rollout;
pub mod table;

use std::fmt;
use std::str::FromStr;

use provider_composer::Failure;

pub use rollout::{Rollout, TIMEOUT};
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
    /// No such release is known; the failure lists those that are.
    pub fn tags(text: &str) -> Result<&'static Tags, Failure> {
        let release: Option<Self> = text.parse().ok();
        let known = RELEASES.iter().find(|tags| Some(tags.release) == release);
        known.ok_or_else(|| {
            let names: Vec<String> = RELEASES.iter().map(|tags| tags.release.to_string()).collect();
            Failure::new(
                "UnknownRelease",
                format!(
                    "OpenStack {text} isn't known to this operator: choose one of {}, or a newer operator",
                    names.join(", ")
                ),
            )
        })
    }

    /// Whether upgrades may skip the release that comes after this one
    /// (<https://governance.openstack.org/tc/resolutions/20220210-release-cadence-adjustment.html>).
    pub fn is_slurp(self) -> bool {
        self.half == 1 && self >= Self::new(2024, 1)
    }

    /// Checks whether a control plane of this release may change to another one.
    ///
    /// # Errors
    /// It would go back, or leave a release out that mustn't be left out; the text says what to do.
    pub fn may_become(self, wanted: Self) -> Result<(), String> {
        if wanted < self {
            return Err(format!(
                "{wanted} is older than {self}, which runs, and databases can't go back: set openStackRelease to {self} or \
                 newer"
            ));
        }
        let (next, next_slurp) = (self.next(), Self::new(self.year + 1, 1));
        let skips = self.is_slurp() && wanted == next_slurp;
        match wanted == self || wanted == next || skips {
            true => Ok(()),
            false if self.is_slurp() => Err(format!(
                "{wanted} doesn't follow {self}, which runs: set openStackRelease to {next} or {next_slurp} first"
            )),
            false => Err(format!(
                "{wanted} doesn't follow {self}, which runs and is no SLURP release: set openStackRelease to {next} first"
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

impl fmt::Display for Release {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.year, self.half)
    }
}

/// The text is no release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRelease;

impl FromStr for Release {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Self, NoRelease> {
        let (year, half) = text.split_once('.').ok_or(NoRelease)?;
        match (year.parse(), half.parse()) {
            (Ok(year), Ok(half)) if (1..=2).contains(&half) => Ok(Self { year, half }),
            _ => Err(NoRelease),
        }
    }
}
