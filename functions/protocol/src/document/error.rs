//! Why a document cannot be read or written, and where.

use std::fmt;

use serde::{de, ser};

/// Strings longer than this are not repeated in messages.
const LONGEST_SHOWN: usize = 64;

/// Why a document cannot be read or written. Displays as `path.to.field: reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError(Box<Fault>);

/// What is read or written, or why it cannot be.
pub(super) type Result<T, E = DocumentError> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    path: String,
    reason: String,
}

impl DocumentError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            path: String::new(),
            reason: reason.into(),
        }))
    }

    pub(super) fn malformed(what: &str) -> Self {
        Self::new(format!("malformed document: {what}"))
    }

    /// Where it is: empty for the document itself, `spec.workers[2].name`.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    pub(super) fn in_field(mut self, key: &str) -> Self {
        let path = &mut self.0.path;
        if !path.is_empty() && !path.starts_with('[') {
            path.insert(0, '.');
        }
        path.insert_str(0, key);
        self
    }

    pub(super) fn in_item(self, index: usize) -> Self {
        self.in_field(&format!("[{index}]"))
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            write!(f, "{}: ", self.0.path)?;
        }
        f.write_str(&self.0.reason)
    }
}

impl std::error::Error for DocumentError {}

impl ser::Error for DocumentError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason.to_string())
    }
}

impl de::Error for DocumentError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(reason.to_string())
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!(
            "invalid type: {}, expected {expected}",
            Shown(unexpected)
        ))
    }

    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!(
            "invalid value: {}, expected {expected}",
            Shown(unexpected)
        ))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let variant = Shown(de::Unexpected::Str(variant));
        Self::new(format!(
            "unknown value: {variant}, expected one of {}",
            expected.join(", ")
        ))
    }
}

/// What was found, without long strings: they may be secrets.
struct Shown<'a>(de::Unexpected<'a>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            de::Unexpected::Str(text) if text.len() > LONGEST_SHOWN => {
                write!(f, "string of {} bytes", text.len())
            }
            de::Unexpected::Float(number) => write!(f, "number `{number:?}`"),
            de::Unexpected::Unit => f.write_str("null"),
            unexpected => unexpected.fmt(f),
        }
    }
}
