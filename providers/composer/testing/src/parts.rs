//! Conditions and values of Secrets, as tests give and compare them.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use provider_composer::Key;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Cluster;

impl Cluster {
    /// Status, reason and message of a condition of an object that has conditions; none where it doesn't have this one.
    pub fn condition(&self, key: &Key, type_: &str) -> Option<[String; 3]> {
        let status = self.get(key).map(|object| &object["status"]);
        let status = status.filter(|status| status["conditions"].is_array());
        assert!(status.is_some(), "{key} has no conditions");
        condition(status?, type_)
    }

    /// A value of a Secret that is text.
    pub fn value(&self, secret: &Key, name: &str) -> Option<String> {
        let value = self.get(secret)?["data"].get(name)?;
        let value = ByteString::deserialize(value).ok()?;
        String::from_utf8(value.0).ok()
    }
}

/// Status, reason and message of a status's condition; none where the status doesn't have it.
pub fn condition(status: &Value, type_: &str) -> Option<[String; 3]> {
    let mut conditions = status["conditions"].as_array()?.iter();
    let found = conditions.find(|condition| condition["type"] == type_)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some(["status", "reason", "message"].map(text))
}

/// A Secret with these values.
pub fn secret_with(values: &[(&str, &str)]) -> Value {
    let data = values
        .iter()
        .map(|(name, value)| (*name, ByteString(value.as_bytes().to_vec())));
    json!({ "data": data.collect::<BTreeMap<_, _>>() })
}
