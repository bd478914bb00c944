//! What a composite resource is.

use std::fmt;

use serde::{Deserialize, Deserializer};

use crate::conditions::ObservedConditions;

/// What a composite resource is, whatever its kind: read once in a call, for all that depends on it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Head {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// What is read of its metadata.
    pub metadata: HeadMetadata,
    #[serde(rename = "status", deserialize_with = "as_far_as_readable")]
    pub(crate) conditions: ObservedConditions,
}

/// The metadata of a composite resource that every function needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeadMetadata {
    /// Namespace of a namespaced composite resource.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// Issued by the API server.
    pub uid: String,
    /// The same in all calls of one reconcile.
    pub resource_version: String,
    /// Counts up with every change of the spec.
    pub generation: Option<i64>,
}

/// None where they cannot be read: every condition is news then.
fn as_far_as_readable<'de, D: Deserializer<'de>>(
    status: D,
) -> Result<ObservedConditions, D::Error> {
    Ok(ObservedConditions::deserialize(status).unwrap_or_default())
}

/// `Kind namespace/name`
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeadMetadata {
            namespace, name, ..
        } = &self.metadata;
        match namespace {
            Some(namespace) => write!(f, "{} {namespace}/{name}", self.kind),
            None => write!(f, "{} {name}", self.kind),
        }
    }
}
