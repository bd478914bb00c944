//! What the API server refuses about a Secret besides its fields and their types (kubernetes, pkg/apis/core/validation,
//! `ValidateSecret`). Messages name keys, and never have a value of the Secret.

use std::collections::BTreeMap;

use c5c3_admission::Problem;
use k8s_openapi::ByteString;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The most bytes of all values together.
const LARGEST: usize = 1 << 20;

/// The longest key, in bytes.
const LONGEST_KEY: usize = 253;

/// The keys that a Secret of a type must have.
const REQUIRED: [(&str, &[&str]); 4] = [
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/ssh-auth", &[PRIVATE_KEY]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
];

/// A key whose value must not be empty.
const PRIVATE_KEY: &str = "ssh-privatekey";

/// Keys whose values must be JSON.
const JSON: [&str; 2] = [".dockercfg", ".dockerconfigjson"];

/// The type of a Secret with a name, a password or both.
const BASIC_AUTH: &str = "kubernetes.io/basic-auth";

/// Returns every reason to refuse a Secret whose fields have the right types.
pub fn problems(secret: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |path: String, message: String| problems.push(Problem { path, message });
    // Of a key in both fields, the value in stringData counts.
    let mut values = BTreeMap::new();
    for field in ["data", "stringData"] {
        for (key, value) in secret[field].as_object().into_iter().flatten() {
            let path = format!("{field}.{}", key.escape_debug());
            if let Some(message) = wrong_key(key) {
                problem(path.clone(), message);
            }
            let text = value.as_str().unwrap_or_default();
            let bytes = match field {
                "data" => decoded(text),
                _ => Some(text.as_bytes().to_vec()),
            };
            if bytes.is_none() {
                let message = "must be Base64: encode the value, or move it to stringData";
                problem(path, message.to_owned());
            }
            values.insert(key.as_str(), bytes.unwrap_or_default());
        }
    }
    let size: usize = values.values().map(Vec::len).sum();
    if size > LARGEST {
        let message = format!("must have at most {LARGEST} bytes, not {size}");
        problem("data".to_owned(), message);
    }
    let type_ = secret["type"].as_str().unwrap_or_default();
    let required = REQUIRED.iter().find(|(of, _)| *of == type_);
    for key in required.into_iter().flat_map(|(_, keys)| *keys) {
        let wrong = match values.get(key) {
            None => "must be set",
            Some(value) if JSON.contains(key) && !is_json(value) => "must be JSON",
            Some(value) if *key == PRIVATE_KEY && value.is_empty() => "must not be empty",
            Some(_) => continue,
        };
        problem(
            format!("data.{key}"),
            format!("{wrong}, since type is {type_}"),
        );
    }
    if type_ == BASIC_AUTH
        && !["username", "password"]
            .iter()
            .any(|key| values.contains_key(key))
    {
        let message = format!("must have username, password or both, since type is {type_}");
        problem("data".to_owned(), message);
    }
    problems
}

/// What is wrong with a key (k8s.io/apimachinery, pkg/util/validation, `IsConfigMapKey`).
fn wrong_key(key: &str) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if key.is_empty() || !key.bytes().all(is_allowed) {
        Some("its key must consist of letters, digits, -, _ and .".to_owned())
    } else if key.len() > LONGEST_KEY {
        let length = key.len();
        Some(format!(
            "its key must have at most {LONGEST_KEY} characters, not {length}"
        ))
    } else if key == "." || key.starts_with("..") {
        Some("its key must not be . or begin with ..".to_owned())
    } else {
        None
    }
}

/// The bytes that are encoded; none if it isn't Base64. The API server skips line breaks.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    let base64 = Value::from(base64.replace(['\r', '\n'], ""));
    let ByteString(bytes) = serde_json::from_value(base64).ok()?;
    Some(bytes)
}

fn is_json(value: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(value).is_ok()
}
