//! Secrets of which a plan can't know the values: each has a value that follows from its name.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use provider_composer::GeneratedValue;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The user name in a user's Secret.
const USER: &str = "user";

/// A Secret with placeholders of the right shape: the same for the same name, different for each.
pub fn secret(namespace: &str, name: &str, values: &BTreeMap<String, GeneratedValue>) -> Value {
    let data: Map<String, Value> = values
        .iter()
        .map(|(key, value)| {
            let seed = format!("{namespace}/{name}/{key}");
            let value = ByteString(placeholder(&seed, value).into_bytes());
            (key.clone(), json!(value))
        })
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "namespace": namespace, "labels": {} },
        "type": "Opaque",
        "data": data,
    })
}

/// A Secret that users create, with every key that operators read. The user of Ceph may be given.
pub fn of_a_user(namespace: &str, name: &str, ceph_user: Option<&str>) -> Value {
    let ceph_user = ceph_user.unwrap_or(USER);
    let drawn = [
        "password",
        "application_credential_id",
        "application_credential_secret",
        "secret",
        "accessKey",
        "secretKey",
        "tls.crt",
        "tls.key",
        "ca.crt",
    ];
    let drawn = drawn.map(|key| (key, GeneratedValue::Password(32)));
    let key = placeholder(&format!("{namespace}/{name}"), &GeneratedValue::Key(32));
    let known = [
        ("username", USER.to_owned()),
        ("userID", ceph_user.to_owned()),
        ("ceph.conf", "[global]\nmon_host = 192.0.2.1\n".to_owned()),
        ("keyring", format!("[client.{ceph_user}]\n\tkey = {key}\n")),
    ];
    let known = known.map(|(key, text)| (key, GeneratedValue::Text(text)));
    let values = drawn.into_iter().chain(known);
    let values = values.map(|(key, value)| (key.to_owned(), value));
    secret(namespace, name, &values.collect())
}

/// A value that follows from a seed.
pub fn placeholder(seed: &str, value: &GeneratedValue) -> String {
    match value {
        GeneratedValue::Text(text) => text.clone(),
        GeneratedValue::Known(secret) => String::from_utf8_lossy(secret).into_owned(),
        GeneratedValue::Password(length) => {
            let length = usize::from(*length);
            hex(seed, length.div_ceil(2)).chars().take(length).collect()
        }
        GeneratedValue::Key(length) => {
            let standard = base64(seed, usize::from(*length));
            standard.replace('+', "-").replace('/', "_")
        }
        GeneratedValue::PrivateKey => {
            let line = base64(seed, 48);
            format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n")
        }
    }
}

/// An identifier as OpenStack has them, a UUID, that follows from a seed.
pub fn identifier(seed: &str) -> String {
    let hex = hex(seed, 16);
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter_map(|(start, end)| hex.get(start..end))
        .collect();
    parts.join("-")
}

fn hex(seed: &str, length: usize) -> String {
    let bytes = bytes(seed, length).into_iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// So many bytes that follow from a seed, in Base64.
fn base64(seed: &str, length: usize) -> String {
    let encoded = json!(ByteString(bytes(seed, length)));
    encoded.as_str().unwrap_or_default().to_owned()
}

/// So many bytes that follow from a seed.
fn bytes(seed: &str, length: usize) -> Vec<u8> {
    let blocks = (0_u32..).flat_map(|number| Sha256::digest(format!("{number} {seed}")));
    blocks.take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_have_the_shape_of_the_real_ones_and_differ_by_name() {
        let password = |seed| placeholder(seed, &GeneratedValue::Password(33));
        assert_eq!(password("a/b/password").len(), 33);
        assert_eq!(password("a/b/password"), password("a/b/password"));
        assert_ne!(password("a/b/password"), password("a/c/password"));
        let key = placeholder("a/b/0", &GeneratedValue::Key(32));
        assert_eq!((key.len(), key.ends_with('=')), (44, true));
        assert!(!key.contains(['+', '/']), "{key}");
        let private = |seed| placeholder(seed, &GeneratedValue::PrivateKey);
        assert!(private("a/b/key").starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert_ne!(private("a/b/key"), private("a/c/key"));
        let id = identifier("a");
        assert_eq!(id.len(), 36);
        assert_eq!(id.matches('-').count(), 4);
    }
}
