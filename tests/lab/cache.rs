//! The cache folder of tools and images, and the names in it.

use sha2::{Digest, Sha256};

pub(crate) use c5c3_program::cache;

/// Twelve hexadecimal digits that name what went into a hash.
pub(crate) fn digits(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
