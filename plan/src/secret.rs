//! What the API server refuses about a Secret besides its fields and their types (kubernetes, pkg/apis/core/validation,
//! `ValidateSecret`). Messages name keys, and never have a value of the Secret.

use std::collections::BTreeMap;

use c5c3_admission::Problem;
use k8s_openapi::ByteString;
use serde_json::Value;

/// The most bytes of all values together.
const LARGEST: usize = 1 << 20;

/// The longest key, in bytes.
const LONGEST_KEY: usize = 253;

/// The type of a Secret with a certificate.
const TLS: &str = "kubernetes.io/tls";

/// Returns every reason to refuse a Secret whose fields have the right types.
pub fn problems(secret: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |path: String, message: String| problems.push(Problem { path, message });
    // Of a key in both fields, the value in stringData counts.
    let mut sizes = BTreeMap::new();
    for field in ["data", "stringData"] {
        for (key, value) in secret[field].as_object().into_iter().flatten() {
            let path = format!("{field}.{}", key.escape_debug());
            if let Some(message) = wrong_key(key) {
                problem(path.clone(), message);
            }
            let text = value.as_str().unwrap_or_default();
            let size = match field {
                "data" => decoded_size(text),
                _ => Some(text.len()),
            };
            if size.is_none() {
                let message = "must be Base64: encode the value, or move it to stringData";
                problem(path, message.to_owned());
            }
            sizes.insert(key.as_str(), size.unwrap_or_default());
        }
    }
    let size: usize = sizes.values().sum();
    if size > LARGEST {
        let message = format!("must have at most {LARGEST} bytes, not {size}");
        problem("data".to_owned(), message);
    }
    for key in ["tls.crt", "tls.key"] {
        if secret["type"] == TLS && !sizes.contains_key(key) {
            let message = format!("must be set, since type is {TLS}");
            problem(format!("data.{key}"), message);
        }
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

/// The number of bytes that are encoded; none if it isn't Base64. The API server skips line breaks.
fn decoded_size(base64: &str) -> Option<usize> {
    let base64 = Value::from(base64.replace(['\r', '\n'], ""));
    let ByteString(bytes) = serde_json::from_value(base64).ok()?;
    Some(bytes.len())
}
