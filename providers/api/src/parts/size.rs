//! Sizes of volumes and of memory.

use std::fmt;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pattern::NAME, text::textual};

/// What a size is written as.
const FORM: &str = "a whole number and Mi, Gi, Ti, M, G or T, for instance 100Gi";

/// A size in bytes: a whole number and its unit, for instance 512Mi, 100Gi or 2T.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size {
    number: u32,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Unit {
    suffix: &'static str,
    bytes: u64,
}

const GIBIBYTE: Unit = Unit::of("Gi", 1 << 30);
const UNITS: [Unit; 6] = [
    Unit::of("Mi", 1 << 20),
    GIBIBYTE,
    Unit::of("Ti", 1 << 40),
    Unit::of("M", 1_000_000),
    Unit::of("G", 1_000_000_000),
    Unit::of("T", 1_000_000_000_000),
];

impl Unit {
    const fn of(suffix: &'static str, bytes: u64) -> Self {
        Self { suffix, bytes }
    }
}

impl Size {
    fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, suffix) = text.split_at(end);
        let number = digits.parse().ok()?;
        let unit = UNITS.into_iter().find(|unit| unit.suffix == suffix)?;
        (digits.len() <= 6 && !digits.starts_with('0')).then_some(Self { number, unit })
    }

    /// A size of so many gibibytes.
    pub(crate) const fn gibibytes(number: u32) -> Self {
        Self {
            number,
            unit: GIBIBYTE,
        }
    }

    /// The size in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.number) * self.unit.bytes
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.number, self.unit.suffix)
    }
}

textual!(Size, SizeError("a valid size", FORM), {
    "title": FORM,
    "type": "string",
    "pattern": "^[1-9][0-9]{0,5}(Mi|Gi|Ti|M|G|T)$",
    "maxLength": 8,
});

/// A volume of each member, `GIB` gibibytes large where no size is given.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default = "Volume::default")]
#[schemars(default)]
pub struct Volume<const GIB: u32> {
    /// Size of the volume.
    #[educe(Default = Size::gibibytes(GIB))]
    pub size: Size,
    /// StorageClass of the volume. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub storage_class: Option<String>,
}
