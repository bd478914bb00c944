//! Names of things in a registry.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A place in a registry, without tag or digest: `ghcr.io/openstack-control-planes`, or `ghcr.io/openstack-control-planes/function-c5c3`.
///
/// The registry is always named, since Crossplane 2.x has no default for packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    registry: String,
    path: String,
}

impl Location {
    /// This place's last name, moved into another one.
    pub fn moved_to(&self, other: &Self) -> Self {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let path = if other.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", other.path)
        };
        Self {
            registry: other.registry.clone(),
            path,
        }
    }

    /// The name that Crossplane gives to a package which it installs from here as a dependency: the path as a DNS label,
    /// without the registry (`ToDNSLabel` of its internal/xpkg).
    pub fn package_name(&self) -> String {
        let label: String = self
            .path
            .chars()
            .take(63)
            .filter_map(|character| match character {
                'a'..='z' | '0'..='9' => Some(character),
                '.' | '/' | '-' => Some('-'),
                _ => None,
            })
            .collect();
        label.trim_matches('-').to_owned()
    }
}

impl FromStr for Location {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (registry, path) = text.split_once('/').unwrap_or((text, ""));
        if !(registry.contains(['.', ':']) || registry == "localhost") {
            bail!(
                "{text:?} names no registry: write its host first, such as ghcr.io/openstack-control-planes or 127.0.0.1:5000"
            );
        }
        if path.contains([':', '@']) {
            bail!("{text:?} carries a tag or a digest: leave it away, versions are set apart");
        }
        let well_formed = |part: &str| {
            let allowed = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)
            };
            !part.is_empty() && part.bytes().all(allowed)
        };
        if !path.is_empty() && !path.split('/').all(well_formed) {
            bail!(
                "{text:?} is not a repository in a registry: its path may have lower-case letters, digits and . _ - between slashes"
            );
        }
        Ok(Self {
            registry: registry.to_owned(),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.registry)?;
        if !self.path.is_empty() {
            write!(formatter, "/{}", self.path)?;
        }
        Ok(())
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// A semantic version; on the command line with or without the `v` that package tags carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(semver::Version);

impl FromStr for Version {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.strip_prefix('v').unwrap_or(text).parse() {
            Ok(version) => Ok(Self(version)),
            Err(error) => bail!("{text:?} is not a semantic version such as v1.2.3: {error}"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "v{}", self.0)
    }
}
