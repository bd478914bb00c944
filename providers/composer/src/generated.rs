//! Secrets whose values are generated once.

use std::collections::BTreeMap;
use std::fmt;

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
}

/// A value of a generated Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Letters and digits from a cryptographic generator: their number.
    Password(u8),
    /// Random bytes in URL-safe Base64, with padding: their number before encoding. 32 are a Fernet key
    /// (<https://github.com/fernet/spec/blob/master/Spec.md>).
    Key(u8),
    /// A text that isn't secret, for instance a user's name.
    Text(String),
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
        }
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
