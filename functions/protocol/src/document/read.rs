//! From the wire to serde's types.

mod collections;
mod enums;
mod keys;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::number::{Number, finite};
use super::wire::{Kind, text};
use super::{DocumentError, Result};
use collections::{Fields, Items};

/// How deep a document may nest: far deeper than any manifest, and safe for any stack.
const DEEPEST: u8 = 100;

/// What to do about a key that comes twice in one object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Trust that none does.
    Unique,
    /// Show only the last one.
    LastCounts,
}

/// What to do about a field that nobody asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Skip it.
    Skipped,
    /// Refuse the document.
    Refused,
}

/// Reads a value into a type.
pub(super) fn value<'de, T: Deserialize<'de>>(kind: Kind<'de>, unknown: Unknown) -> Result<T> {
    let reader = |keys| Reader {
        kind,
        within: Within {
            levels_left: DEEPEST,
            keys,
            unknown,
        },
    };
    // Protobuf's rule for a key that comes twice is that the last one counts, but serde's structs refuse it. No encoder
    // of maps writes one, so only a value that failed is read with that rule.
    T::deserialize(reader(Keys::Unique)).or_else(|_| T::deserialize(reader(Keys::LastCounts)))
}

/// The error of a value that is something else than expected.
pub(super) fn unexpected(kind: Kind<'_>, expected: &dyn Expected) -> DocumentError {
    let unexpected = match kind {
        Kind::Null => Unexpected::Unit,
        Kind::Number(value) => Unexpected::Float(value),
        Kind::String(bytes) => match text(bytes) {
            Ok(text) => Unexpected::Str(text),
            Err(malformed) => return malformed,
        },
        Kind::Bool(value) => Unexpected::Bool(value),
        Kind::Struct(_) => Unexpected::Map,
        Kind::List(_) => Unexpected::Seq,
    };
    DocumentError::invalid_type(unexpected, expected)
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Reader<'de> {
    kind: Kind<'de>,
    within: Within,
}

/// What holds for everything inside an object or a list.
#[derive(Clone, Copy)]
struct Within {
    levels_left: u8,
    keys: Keys,
    unknown: Unknown,
}

impl Within {
    fn one_deeper(self) -> Result<Self> {
        let levels_left = self.levels_left.checked_sub(1);
        levels_left
            .map(|levels_left| Self {
                levels_left,
                ..self
            })
            .ok_or_else(|| DocumentError::new(format!("nested more than {DEEPEST} levels deep")))
    }

    fn read<'de, S: DeserializeSeed<'de>>(self, value: &'de [u8], seed: S) -> Result<S::Value> {
        seed.deserialize(Reader {
            kind: Kind::of(value)?,
            within: self,
        })
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Number(value) => match Number::of(value)? {
                Number::Unsigned(value) => visitor.visit_u64(value),
                Number::Negative(value) => visitor.visit_i64(value),
                Number::Float(value) => visitor.visit_f64(value),
            },
            Kind::String(bytes) => visitor.visit_borrowed_str(text(bytes)?),
            Kind::Bool(value) => visitor.visit_bool(value),
            Kind::Struct(entries) => visitor.visit_map(Fields::of(entries, self.within)?),
            Kind::List(items) => visitor.visit_seq(Items::of(items, self.within)?),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            Kind::Number(value) => visitor.visit_f64(finite(value)?),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.read_enum(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.within.unknown {
            Unknown::Skipped => visitor.visit_unit(),
            Unknown::Refused => Err(DocumentError::new("unknown field")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier
    }
}
