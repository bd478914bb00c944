//! Hashes of contents, for names.

use ring::digest::{Context, SHA256};

/// Returns eight hexadecimal digits of the SHA-256 of some texts.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let [a, b, c, d, ..] = hash(texts);
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

/// Returns a UUID that is derived from some texts: version 8 of RFC 9562, with their SHA-256.
pub fn uuid<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = hash(texts);
    hash[6] = 0x80 | hash[6] & 0x0f;
    hash[8] = 0x80 | hash[8] & 0x3f;
    let parts = [
        &hash[..4],
        &hash[4..6],
        &hash[6..8],
        &hash[8..10],
        &hash[10..16],
    ];
    parts.map(hexadecimal).join("-")
}

fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for text in texts {
        // The length distinguishes "ab", "c" from "a", "bc".
        context.update(&text.len().to_be_bytes());
        context.update(text.as_bytes());
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
