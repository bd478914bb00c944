//! A JSON object in its wire form.

mod error;
mod items;
mod message;
mod number;
mod read;
mod status;
mod wire;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use error::DocumentError;
use error::Result;
pub use items::{Item, Items};
use read::Unknown;
use wire::Kind;

/// A JSON object in its wire form, `google.protobuf.Struct`. The bytes stay as they came: handing a document on is a copy,
/// and reading one visits only the fields that are asked for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Field 1 of the message, map entries, one after another.
    entries: Vec<u8>,
}

impl Document {
    /// Writes a value that serialises as an object: a struct or a map. Fields keep the order serde gives them.
    ///
    /// # Errors
    /// The value is not an object, or it holds what JSON in protobuf cannot: NaN, infinities, bytes, an integer beyond
    /// 2^53 (numbers are f64 on the wire), a map key that is no string.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, DocumentError> {
        Ok(Self {
            entries: write::entries(value)?,
        })
    }

    /// Reads a value. Numbers without a fraction come as integers up to 2^53, and as f64 where one is asked for. Strings
    /// can be borrowed.
    ///
    /// # Errors
    /// The document does not fit `T`, is malformed, nests deeper than 100, or holds NaN or an infinity in what `T` reads.
    /// The message begins with the path of the field.
    pub fn parse<'de, T: Deserialize<'de>>(&'de self) -> Result<T, DocumentError> {
        read::value(Kind::Struct(&self.entries), Unknown::Skipped)
    }

    /// Reads a value as [`Document::parse`] does, and refuses fields that `T` doesn't know: for what people write and no
    /// API server has checked.
    ///
    /// # Errors
    /// As [`Document::parse`], and `path: unknown field`.
    pub fn parse_strictly<'de, T: Deserialize<'de>>(&'de self) -> Result<T, DocumentError> {
        read::value(Kind::Struct(&self.entries), Unknown::Refused)
    }

    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Only the size: a document may hold secrets.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Document({} bytes)", self.entries.len())
    }
}
