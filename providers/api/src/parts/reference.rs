//! References to other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What Kubernetes lets most objects be called (RFC 1123).
pub(crate) const NAME: &str = r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$";

/// What Kubernetes lets namespaces and many objects be called: one part of a DNS name.
pub(crate) const LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// What Kubernetes lets the value of a label be, except an empty one. Regions and machines become labels of nodes.
pub(crate) const LABEL_VALUE: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// What Kubernetes lets the key of a label or a taint be called: a name, after a DNS name and a slash or without.
pub(crate) const QUALIFIED_NAME: &str =
    r"^([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// What Kubernetes lets a key of a Secret or a ConfigMap be called.
pub(crate) const KEY: &str = r"^[-._a-zA-Z0-9]+$";

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
