//! Secrets whose values are generated once.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use serde_json::json;

use crate::key::Key;
use crate::owner::{MANAGED_BY, Owner};

/// Annotation of a Secret that is deleted when it isn't wanted any more. One without it is kept.
pub const WHILE_WANTED: &str = "c5c3.io/while-wanted";

/// A Secret whose values are generated once, where none of its name exists. An existing one is never changed, whoever
/// created it.
#[derive(Clone, PartialEq, Eq)]
pub struct Generated {
    /// The values by key.
    pub values: BTreeMap<String, Value>,
    /// Labels, besides those of its owner.
    pub labels: BTreeMap<String, String>,
    /// When it is deleted.
    pub retention: Retention,
    /// Whether the API server refuses other values, because programs that run would no longer work with them.
    pub is_immutable: bool,
}

/// A value of a generated Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Letters and digits from a cryptographic generator: their number.
    Password(u8),
    /// Random bytes in URL-safe Base64, with padding: their number before encoding. 32 are a Fernet key
    /// (<https://github.com/fernet/spec/blob/master/Spec.md>).
    Key(u8),
    /// A private key for ECDSA on the curve P-256, in PEM (PKCS #8, RFC 5958). OpenSSL and OpenSSH read it.
    PrivateKey,
    /// A text that isn't secret, for instance a user's name.
    Text(String),
    /// A secret that another Secret still has, for one that is lost.
    Known(Vec<u8>),
}

/// When a generated Secret is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Never by an operator: what it unlocks, for instance a volume, is kept as well.
    Forever,
    /// When it isn't wanted any more.
    WhileWanted,
}

impl Generated {
    /// A Secret with a user's name and a password of 32 characters, under `username` and `password`.
    pub fn credentials(username: &str) -> Self {
        let values = [
            ("username", Value::Text(username.to_owned())),
            ("password", Value::Password(32)),
        ];
        Self {
            values: values
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            labels: BTreeMap::new(),
            retention: Retention::Forever,
            is_immutable: false,
        }
    }
}

impl Generated {
    /// Returns the Secret to create, with values that `draw` returns by key. `reference` is the ownerReference to the subject,
    /// which only a Secret has that is deleted when it isn't wanted any more.
    ///
    /// # Errors
    /// A value can't be drawn.
    pub fn secret<E>(
        &self,
        key: &Key,
        operator: &str,
        owner: &Owner,
        reference: Option<serde_json::Value>,
        mut draw: impl FnMut(&str, &Value) -> Result<Vec<u8>, E>,
    ) -> Result<serde_json::Value, E> {
        let mut data = BTreeMap::new();
        for (name, value) in &self.values {
            data.insert(name, ByteString(draw(name, value)?));
        }
        let mut labels = json!(self.labels);
        labels[MANAGED_BY] = json!(operator);
        for (label, value) in owner.labels() {
            labels[label] = json!(value);
        }
        let mut metadata =
            json!({ "name": key.name, "namespace": key.namespace, "labels": labels });
        if self.retention == Retention::WhileWanted {
            metadata["annotations"] = json!({ WHILE_WANTED: "true" });
            if let Some(reference) = reference {
                metadata["ownerReferences"] = json!([reference]);
            }
        }
        let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data });
        if self.is_immutable {
            secret["immutable"] = json!(true);
        }
        Ok(secret)
    }
}

impl fmt::Debug for Generated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.values.keys().collect();
        out.debug_struct("Generated")
            .field("keys", &keys)
            .field("retention", &self.retention)
            .finish()
    }
}
