//! Numbers are f64 on the wire; up to 2^53 that is exact for integers.

use super::{DocumentError, Result};

/// 2^53: every integer up to this has an f64 of its own.
const EXACT: u64 = 1 << 53;

/// A number as the reader hands it on.
pub(super) enum Number {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

impl Number {
    /// Integers where there is no fraction and no doubt which one is meant.
    pub(super) fn of(value: f64) -> Result<Self> {
        let value = finite(value)?;
        if value.fract() != 0.0 || value.abs() > EXACT as f64 {
            Ok(Self::Float(value))
        } else if value < 0.0 {
            Ok(Self::Negative(value as i64))
        } else {
            Ok(Self::Unsigned(value as u64))
        }
    }
}

/// Refuses NaN and the infinities: JSON has none.
pub(super) fn finite(value: f64) -> Result<f64> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(DocumentError::new(format!(
            "{value} is not a number that JSON has"
        )))
    }
}

/// The wire form of an integer, where it is exact.
pub(super) fn exact(value: i128) -> Result<f64> {
    if value.unsigned_abs() <= u128::from(EXACT) {
        Ok(value as f64)
    } else {
        Err(DocumentError::new(format!(
            "{value} is beyond 2^53 and would lose digits; write it as a string"
        )))
    }
}
