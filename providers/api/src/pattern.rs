//! Patterns of names, as Kubernetes checks them.

use serde_json::{Value, json};

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

/// The schema of a label's value, as Kubernetes has it.
pub(crate) fn label_value() -> Value {
    json!({
        "type": "string",
        "maxLength": 63,
        "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
    })
}
