//! References to other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pattern::{KEY, LABEL, NAME};

/// A reference by name, in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedRef {
    /// Name of what is meant.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
}

/// A reference by name, in this or another namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespacedRef {
    /// Name of what is meant.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Namespace of what is meant. Without it the namespace of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub namespace: Option<String>,
}

/// One value of a Secret in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Key of the value.
    #[serde(default = "password")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

/// A Secret in the same namespace with the user and the password of a database or a message bus.
///
/// The user is under the key `username`; without it the service's name is meant. Where the Secret has the keys `host` and
/// `port`, it names the server too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialsRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Key of the password.
    #[serde(default = "password")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

fn password() -> String {
    "password".to_owned()
}
