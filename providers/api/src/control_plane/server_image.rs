//! Images that servers start from: what they are called, where they come from, and how it is known that they are the right ones.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pattern::NAME, rule::Rule, text::textual};

/// What a URL is written as. Messages don't repeat what was given: it may have a password.
const URL_FORM: &str = "https://, a host in lower case and a path, without user, password, query and percent sign, for instance \
     https://images.example.com/debian-12.qcow2";

/// What a checksum is written as.
const CHECKSUM_FORM: &str = "the algorithm, a colon and the checksum in lower case, for instance \
     sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const IMAGE_URL: Rule = Rule::new(
    "self.matches('^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[A-Za-z0-9_~+=,-][A-Za-z0-9._~+=,-]*)+$')",
    "an image's URL begins with https:// and has a path, but no user, password, query or percent sign: write it like \
     https://images.example.com/debian-12.qcow2",
);

/// An image that servers start from. Every project may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerImage {
    /// Its name, for instance debian-12.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// The file, which K-ORC downloads. It has no effect once the image is in Glance.
    pub url: ImageUrl,
    /// Checksum of the file as it is downloaded. A file with another one isn't used.
    pub checksum: Checksum,
    /// Format of the disk.
    pub disk_format: DiskFormat,
    /// How the file is compressed as a whole.
    #[serde(default)]
    pub compression: FileCompression,
    /// The smallest root disk of servers with the image, in GB (2^30 bytes).
    #[serde(rename = "minDiskGB", default)]
    #[schemars(range(min = 0, max = 1_048_576))]
    pub min_disk: u32,
    /// The smallest memory of servers with the image, in MB (2^20 bytes).
    #[serde(rename = "minRamMB", default)]
    #[schemars(range(min = 0, max = 67_108_864))]
    pub min_ram: u32,
}

impl ServerImage {
    /// Whether the API server takes its name.
    pub fn has_valid_name(&self) -> bool {
        self.name.len() <= 253 && is_name(&self.name)
    }
}

/// The format of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiskFormat {
    /// The disk's bytes. With Ceph, only servers with such an image start without a copy.
    Raw,
    /// QEMU's own.
    Qcow2,
    /// A CD-ROM.
    Iso,
}

impl DiskFormat {
    /// What Glance calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Iso => "iso",
        }
    }
}

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileCompression {
    /// Not at all.
    #[default]
    None,
    /// By xz.
    Xz,
    /// By gzip.
    Gz,
    /// By bzip2.
    Bz2,
}

impl FileCompression {
    /// What K-ORC calls it. None where there is nothing to decompress.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Xz => Some("xz"),
            Self::Gz => Some("gz"),
            Self::Bz2 => Some("bz2"),
        }
    }
}

/// Where an image is downloaded: an https URL without anything secret, and without what a server may read as another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageUrl(String);

/// A text is not the URL of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an image's URL is not valid: write {form}", form = URL_FORM)]
pub struct ImageUrlError;

impl ImageUrl {
    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ImageUrl {
    type Err = ImageUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match is_url(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(ImageUrlError),
        }
    }
}

impl fmt::Display for ImageUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

textual!(ImageUrl, ImageUrlError, {
    "type": "string",
    // The API server shows what doesn't match a pattern, but not what a rule refuses.
    "pattern": "^[!-~]+$",
    "maxLength": 1024,
    "x-kubernetes-validations": [IMAGE_URL],
});

/// Whether a text is an https URL of something on a host. No segment of its path is empty or begins with a dot.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").unwrap_or_default();
    let Some((authority, path)) = rest.split_once('/') else {
        return false;
    };
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    is_name(host) && port.is_none_or(is_port) && path.split('/').all(is_segment)
}

/// Whether a text matches [`NAME`], as hosts do, too.
fn is_name(text: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let is_inner = |byte: u8| is_end(byte) || byte == b'-' || byte == b'.';
    bytes.iter().copied().all(is_inner) && ends.iter().all(|end| end.copied().is_some_and(is_end))
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_segment(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+=,-".contains(&byte);
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(is_plain)
}

/// The checksum of a file, for instance `sha256:9f86...`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Checksum {
    algorithm: Algorithm,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Algorithm {
    name: &'static str,
    /// How many hexadecimal digits its checksums have.
    digits: usize,
}

const ALGORITHMS: [Algorithm; 2] = [Algorithm::of("sha256", 64), Algorithm::of("sha512", 128)];

impl Algorithm {
    const fn of(name: &'static str, digits: usize) -> Self {
        Self { name, digits }
    }
}

impl Checksum {
    fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let (name, value) = text.split_once(':')?;
        let mut known = ALGORITHMS.into_iter();
        let algorithm = known.find(|algorithm| algorithm.name == name)?;
        let value = value.to_owned();
        (value.len() == algorithm.digits && value.bytes().all(is_digit))
            .then_some(Self { algorithm, value })
    }

    /// The algorithm: `sha256` or `sha512`.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name
    }

    /// The value, in hexadecimal digits.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.algorithm(), self.value)
    }
}

textual!(Checksum, ChecksumError("a valid checksum", CHECKSUM_FORM), {
    "title": CHECKSUM_FORM,
    "type": "string",
    "pattern": "^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$",
    "maxLength": 135,
});
