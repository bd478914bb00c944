//! The random values of generated Secrets.

use provider_composer::GeneratedValue;
use ring::rand::SecureRandom;

/// Letters and digits.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The operating system gives no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random numbers")]
pub(crate) struct NoRandomness;

/// Draws a value.
pub(crate) fn draw(
    value: &GeneratedValue,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, NoRandomness> {
    Ok(match value {
        GeneratedValue::Password(length) => password(*length, random)?,
        GeneratedValue::Key(length) => base64(&bytes(usize::from(*length), random)?),
        GeneratedValue::Text(text) => text.clone().into_bytes(),
    })
}

/// Every character is equally likely: bytes that would favour some are discarded.
fn password(length: u8, random: &dyn SecureRandom) -> Result<Vec<u8>, NoRandomness> {
    let fair = u8::MAX - u8::MAX % 62;
    let mut drawn = Vec::with_capacity(usize::from(length));
    while drawn.len() < usize::from(length) {
        let more = bytes(usize::from(length), random)?;
        let more = more.into_iter().filter(|byte| *byte < fair);
        drawn.extend(more.map(|byte| ALPHABET[usize::from(byte % 62)]));
    }
    drawn.truncate(usize::from(length));
    Ok(drawn)
}

fn bytes(length: usize, random: &dyn SecureRandom) -> Result<Vec<u8>, NoRandomness> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// URL-safe Base64 with padding (RFC 4648, section 5).
fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let all = chunk
            .iter()
            .fold(0, |all: u32, byte| all << 8 | u32::from(*byte));
        let all = all << (8 * (3 - chunk.len()));
        for place in 0..4 {
            text.push(match place <= chunk.len() {
                true => URL_SAFE[(all >> (18 - 6 * place) & 63) as usize],
                false => b'=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        let examples: [(&[u8], &str); 6] = [
            (b"", ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff], "-_8="),
        ];
        for (bytes, text) in examples {
            assert_eq!(base64(bytes), text.as_bytes());
        }
    }

    #[test]
    fn passwords_are_letters_and_digits_and_never_twice_the_same() {
        let random = ring::rand::SystemRandom::new();
        let (one, other) = (
            password(32, &random).unwrap(),
            password(32, &random).unwrap(),
        );
        assert_eq!(one.len(), 32);
        assert!(one.iter().all(u8::is_ascii_alphanumeric));
        assert_ne!(one, other);
        let many = password(255, &random).unwrap();
        let used: std::collections::BTreeSet<u8> = many.into_iter().collect();
        assert!(used.len() > 40, "{}", used.len());
    }
}
