//! Ranges of IPv4 addresses.

use std::{fmt, net::Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::textual;

/// What a range is written as.
const FORM: &str = "its first address and the length of its prefix, for instance 10.180.0.0/16";

/// A range of IPv4 addresses, for instance 10.180.0.0/16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    first: u32,
    length: u8,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let cidr = Self {
            first: address.parse::<Ipv4Addr>().ok()?.into(),
            length: length.parse().ok()?,
        };
        (cidr.length <= 32 && cidr.first & !mask(cidr.length) == 0).then_some(cidr)
    }

    /// Whether an address is in both ranges.
    pub fn overlaps(self, other: Self) -> bool {
        let length = self.length.min(other.length);
        (self.first ^ other.first) & mask(length) == 0
    }

    /// Whether an address is in the range.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        (self.first ^ u32::from(address)) & mask(self.length) == 0
    }

    /// The number of its addresses.
    pub fn size(self) -> u64 {
        1 << (32 - self.length)
    }

    /// Into how many blocks with this prefix length it can be divided.
    pub fn blocks(self, length: u8) -> u64 {
        length
            .checked_sub(self.length)
            .filter(|_| length <= 32)
            .map_or(0, |bits| 1 << bits)
    }

    /// Whether it includes multicast or reserved addresses, those from 224.0.0.0 on.
    pub fn is_reserved(self) -> bool {
        u64::from(self.first) + self.size() > u64::from(u32::from(Ipv4Addr::new(224, 0, 0, 0)))
    }

    /// One of the blocks with this prefix length that the range is divided into, counted round and round. The range itself
    /// where it is smaller.
    pub fn block(self, length: u8, index: u64) -> Self {
        if !(self.length..=32).contains(&length) {
            return self;
        }
        let blocks = 1_u64 << (length - self.length);
        let offset = (index % blocks) << (32 - length);
        Self {
            first: self.first | u32::try_from(offset).unwrap_or_default(),
            length,
        }
    }
}

/// The bits of an address that a prefix of this length fixes.
fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

impl fmt::Display for Cidr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", Ipv4Addr::from(self.first), self.length)
    }
}

textual!(Cidr, CidrError("a range of IPv4 addresses", FORM), {
    "title": FORM,
    "type": "string",
    "pattern": r"^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])/([0-9]|[12][0-9]|3[0-2])$",
    "maxLength": 18,
});

/// Ranges of a cluster's addresses. They can't be changed later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ranges {
    /// Range of the nodes' addresses, for instance 10.180.0.0/20. No other cluster that a control plane uses may have them. Without it the Composition's
    /// default for this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Cidr>,
    /// Range of the pods' addresses, for instance 100.64.0.0/12. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Cidr>,
    /// Range of the services' addresses, for instance 100.104.0.0/13. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Cidr>,
}
