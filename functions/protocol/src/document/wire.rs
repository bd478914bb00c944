//! The wire form, as far as `google.protobuf.Struct`, `Value` and `ListValue` need it.
//!
//! `Struct { map<string, Value> fields = 1 }`, `ListValue { repeated Value values = 1 }`, `Value { oneof kind { null_value =
//! 1, number_value = 2, string_value = 3, bool_value = 4, struct_value = 5, list_value = 6 } }`; a map entry is a message
//! with the key in field 1 and the value in field 2.

use super::{DocumentError, Result};

/// A field's key on the wire: its number and wire type.
pub(super) const ENTRY: u8 = 0x0a;
pub(super) const ENTRY_KEY: u8 = 0x0a;
pub(super) const ENTRY_VALUE: u8 = 0x12;
pub(super) const ITEM: u8 = 0x0a;
pub(super) const NULL: u8 = 0x08;
pub(super) const NUMBER: u8 = 0x11;
pub(super) const STRING: u8 = 0x1a;
pub(super) const BOOL: u8 = 0x20;
pub(super) const STRUCT: u8 = 0x2a;
pub(super) const LIST: u8 = 0x32;

/// Fields of a message, one after another.
#[derive(Clone, Copy)]
pub(super) struct Fields<'de>(pub(super) &'de [u8]);

/// One field of a message.
pub(super) enum Payload<'de> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'de [u8]),
    Fixed32,
}

/// A `Value`, one level deep.
#[derive(Clone, Copy)]
pub(super) enum Kind<'de> {
    Null,
    Number(f64),
    String(&'de [u8]),
    Bool(bool),
    Struct(&'de [u8]),
    List(&'de [u8]),
}

/// One entry of a `Struct`.
#[derive(Clone, Copy)]
pub(super) struct Entry<'de> {
    pub(super) key: &'de [u8],
    pub(super) value: &'de [u8],
}

impl<'de> Fields<'de> {
    fn varint(&mut self) -> Result<u64> {
        match self.0.split_first() {
            // All keys and most lengths are one byte.
            Some((byte, rest)) if *byte < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DocumentError::malformed("a number has too many bytes"))
    }

    fn take(&mut self, length: u64) -> Result<&'de [u8]> {
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| self.0.split_at_checked(length));
        let (taken, rest) = taken.ok_or_else(|| DocumentError::malformed("it ends too soon"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| DocumentError::malformed("it ends too soon"))?;
        self.0 = rest;
        Ok(*array)
    }

    /// The next field's number and content.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Payload<'de>)>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let payload = match key & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(self.array()?),
            2 => {
                let length = self.varint()?;
                Payload::Bytes(self.take(length)?)
            }
            5 => {
                self.array::<4>()?;
                Payload::Fixed32
            }
            _ => return Err(DocumentError::malformed("unknown wire type")),
        };
        Ok(Some((key >> 3, payload)))
    }

    /// The next occurrence of field 1 that is a message; fields of other numbers are skipped.
    pub(super) fn next_message(&mut self) -> Result<Option<&'de [u8]>> {
        while let Some((number, payload)) = self.next()? {
            match (number, payload) {
                (1, Payload::Bytes(bytes)) => return Ok(Some(bytes)),
                (1, _) => return Err(wrong_type()),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The next entry of a `Struct`.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry<'de>>> {
        self.next_message()?.map(Entry::of).transpose()
    }
}

impl<'de> Entry<'de> {
    fn of(bytes: &'de [u8]) -> Result<Self> {
        let mut fields = Fields(bytes);
        let mut key = None;
        let mut value = None;
        while let Some((number, payload)) = fields.next()? {
            let place = match number {
                1 => &mut key,
                2 => &mut value,
                _ => continue,
            };
            let Payload::Bytes(bytes) = payload else {
                return Err(wrong_type());
            };
            if place.replace(bytes).is_some() {
                return Err(DocumentError::malformed(
                    "an entry has two keys or two values",
                ));
            }
        }
        Ok(Self {
            key: key.unwrap_or_default(),
            value: value.unwrap_or_default(),
        })
    }
}

impl<'de> Kind<'de> {
    /// Reads the kind of a `Value`. One without a kind is null.
    pub(super) fn of(bytes: &'de [u8]) -> Result<Self> {
        let mut fields = Fields(bytes);
        let mut found = None;
        while let Some((number, payload)) = fields.next()? {
            let kind = match (number, payload) {
                (1, Payload::Varint(_)) => Self::Null,
                (2, Payload::Fixed64(bytes)) => Self::Number(f64::from_le_bytes(bytes)),
                (3, Payload::Bytes(bytes)) => Self::String(bytes),
                (4, Payload::Varint(value)) => Self::Bool(value != 0),
                (5, Payload::Bytes(bytes)) => Self::Struct(bytes),
                (6, Payload::Bytes(bytes)) => Self::List(bytes),
                (1..=6, _) => return Err(wrong_type()),
                _ => continue,
            };
            if found.replace(kind).is_some() {
                return Err(DocumentError::malformed("a value has two kinds"));
            }
        }
        Ok(found.unwrap_or(Self::Null))
    }
}

fn wrong_type() -> DocumentError {
    DocumentError::malformed("a field has the wrong wire type")
}

/// Text on the wire is UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| DocumentError::malformed("a string is not UTF-8"))
}

/// Writes a key, a length and bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, key: u8, bytes: &[u8]) {
    let mut length = bytes.len();
    out.push(key);
    while length >= 0x80 {
        out.push(low_bits(length) | 0x80);
        length >>= 7;
    }
    out.push(low_bits(length));
    out.extend_from_slice(bytes);
}

/// Writes the key of a map entry, as prost does: the empty one, being the default, is left out.
pub(super) fn put_text_key(out: &mut Vec<u8>, key: &str) {
    if !key.is_empty() {
        put_bytes(out, ENTRY_KEY, key.as_bytes());
    }
}

/// Writes a key and room for a length; [`close`] fills it in when what follows is written.
pub(super) fn open(out: &mut Vec<u8>, key: u8) -> usize {
    out.extend_from_slice(&[key, 0]);
    out.len()
}

/// Fills in the length of everything since [`open`]. Lengths take one byte more often than not, so that much room was
/// left; for a longer one the content moves.
pub(super) fn close(out: &mut Vec<u8>, start: usize) {
    let length = out.len() - start;
    let mut remaining = length;
    let mut at = start - 1;
    if length >= 0x80 {
        let more = varint_size(length) - 1;
        out.resize(out.len() + more, 0);
        out.copy_within(start..start + length, start + more);
        while remaining >= 0x80 {
            out[at] = low_bits(remaining) | 0x80;
            remaining >>= 7;
            at += 1;
        }
    }
    out[at] = low_bits(remaining);
}

fn low_bits(value: usize) -> u8 {
    (value & 0x7f) as u8
}

fn varint_size(value: usize) -> usize {
    (usize::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}
