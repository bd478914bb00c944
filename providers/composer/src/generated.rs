//! Secrets whose values are made once.

use std::collections::BTreeMap;
use std::fmt;

/// A Secret whose values are made once, when there is none of its name. One that exists is never changed, whoever made it.
#[derive(Clone, PartialEq, Eq)]
pub struct Generated {
    /// The values by key.
    pub values: BTreeMap<String, Value>,
    /// Labels, besides those of its owner.
    pub labels: BTreeMap<String, String>,
    /// How long it stays.
    pub retention: Retention,
}

/// A value of a generated Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Letters and digits, drawn by a cryptographic generator: so many.
    Password(u8),
    /// Random bytes in URL-safe Base64, with padding: so many bytes before encoding. 32 make a Fernet key
    /// (<https://github.com/fernet/spec/blob/master/Spec.md>).
    Key(u8),
    /// A text that is no secret, a user's name for instance.
    Text(String),
}

/// How long a generated Secret stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// As long as nobody deletes it: what it unlocks, a volume for instance, stays too.
    Forever,
    /// As long as it is wanted.
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
