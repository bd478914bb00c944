//! The random values of generated Secrets.

use provider_composer::GeneratedValue;
use ring::rand::SecureRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};

/// Letters and digits.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
        GeneratedValue::Key(length) => base64(&bytes(usize::from(*length), random)?, URL_SAFE),
        GeneratedValue::PrivateKey => private_key(random)?,
        GeneratedValue::Text(text) => text.clone().into_bytes(),
        GeneratedValue::Known(secret) => secret.clone(),
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

/// A key with its public half, in lines of 64 characters (RFC 7468).
fn private_key(random: &dyn SecureRandom) -> Result<Vec<u8>, NoRandomness> {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, random)
        .map_err(|_| NoRandomness)?;
    let mut pem = b"-----BEGIN PRIVATE KEY-----\n".to_vec();
    for line in base64(key.as_ref(), STANDARD).chunks(64) {
        pem.extend_from_slice(line);
        pem.push(b'\n');
    }
    pem.extend_from_slice(b"-----END PRIVATE KEY-----\n");
    Ok(pem)
}

fn bytes(length: usize, random: &dyn SecureRandom) -> Result<Vec<u8>, NoRandomness> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Base64 with padding (RFC 4648), in one of its two alphabets.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let all = chunk
            .iter()
            .fold(0, |all: u32, byte| all << 8 | u32::from(*byte));
        let all = all << (8 * (3 - chunk.len()));
        for place in 0..4 {
            text.push(match place <= chunk.len() {
                true => alphabet[(all >> (18 - 6 * place) & 63) as usize],
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
            assert_eq!(base64(bytes, URL_SAFE), text.as_bytes());
        }
        assert_eq!(base64(&[0xfb, 0xff], STANDARD), b"+/8=");
    }

    #[test]
    fn known_secret_is_not_drawn_again() {
        let random = ring::rand::SystemRandom::new();
        let known = GeneratedValue::Known(b"key".to_vec());
        assert_eq!(draw(&known, &random).unwrap(), b"key");
    }

    #[test]
    fn private_keys_are_pem_that_openssl_reads_and_never_twice_the_same() {
        let random = ring::rand::SystemRandom::new();
        let pem =
            || String::from_utf8(draw(&GeneratedValue::PrivateKey, &random).unwrap()).unwrap();
        let (one, other) = (pem(), pem());
        assert_ne!(one, other);
        let lines: Vec<&str> = one.lines().collect();
        let (first, rest) = lines.split_first().unwrap();
        let (last, body) = rest.split_last().unwrap();
        assert_eq!(
            [*first, *last],
            ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"]
        );
        assert!(body.iter().all(|line| line.len() <= 64), "{}", body.len());
        // Of 138 bytes; a key on P-256 begins like this, with its algorithm and curve (RFC 5480).
        assert_eq!(body.concat().len(), 184);
        assert!(
            body.concat()
                .starts_with("MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg")
        );
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
