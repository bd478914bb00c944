//! Names that follow from a content.

use sha2::{Digest, Sha256};

/// Eight hexadecimal digits that stand for a content: the same for the same texts, and another for others.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // The length keeps "ab", "c" apart from "a", "bc".
        hash.update(text.len().to_be_bytes());
        hash.update(text);
    }
    hash.finalize()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
