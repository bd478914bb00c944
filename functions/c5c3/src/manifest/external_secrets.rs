//! External Secrets' PushSecret (v1alpha1) and ExternalSecret (v1), as of external-secrets 1.3.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Kind;

/// The store that secrets travel through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreRef {
    /// Name of the store, the same in every cluster.
    pub name: String,
    /// `SecretStore` or `ClusterSecretStore`.
    pub kind: String,
}

/// Spec of a PushSecret: a Secret's values written to a store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushSecret {
    /// What becomes of the stored values when the PushSecret goes.
    pub deletion_policy: &'static str,
    /// How often the values are compared.
    pub refresh_interval: &'static str,
    /// Where to.
    pub secret_store_refs: Vec<StoreRef>,
    /// Where from.
    pub selector: PushSelector,
    /// Which keys.
    pub data: Vec<PushData>,
}

impl Kind for PushSecret {
    const API_VERSION: &'static str = "external-secrets.io/v1alpha1";
    const KIND: &'static str = "PushSecret";
}

/// The Secret that is pushed.
#[derive(Clone, Debug, Serialize)]
pub struct PushSelector {
    /// By name, in the PushSecret's namespace.
    pub secret: NamedSecret,
}

/// A Secret by name.
#[derive(Clone, Debug, Serialize)]
pub struct NamedSecret {
    /// Name.
    pub name: String,
}

/// One key of a PushSecret.
#[derive(Clone, Debug, Serialize)]
#[serde(rename = "data")]
pub struct PushData {
    #[serde(rename = "match")]
    /// Key and destination.
    pub matching: PushMatch,
}

/// Key and destination of a pushed value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushMatch {
    /// Key in the Secret.
    pub secret_key: String,
    /// Where it goes.
    pub remote_ref: PushRemoteRef,
}

/// Where a pushed value goes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushRemoteRef {
    /// Path in the store.
    pub remote_key: String,
    /// Property at that path.
    pub property: String,
}

/// Spec of an ExternalSecret: a Secret made from values of a store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalSecret {
    /// How often the values are read.
    pub refresh_interval: &'static str,
    /// Where from.
    pub secret_store_ref: StoreRef,
    /// Where to.
    pub target: Target,
    /// Which values.
    pub data: Vec<ExternalData>,
}

impl Kind for ExternalSecret {
    const API_VERSION: &'static str = "external-secrets.io/v1";
    const KIND: &'static str = "ExternalSecret";
}

/// The Secret that an ExternalSecret makes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// Name.
    pub name: String,
    /// `Owner`: it goes with the ExternalSecret.
    pub creation_policy: &'static str,
    /// Its content.
    pub template: Template,
}

/// Content of a made Secret, in the templates of External Secrets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Always `v2`.
    pub engine_version: &'static str,
    /// Values by key.
    pub data: BTreeMap<&'static str, String>,
}

/// One value that an ExternalSecret reads.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalData {
    /// Name in the template.
    pub secret_key: &'static str,
    /// Where it is.
    pub remote_ref: ExternalRemoteRef,
}

/// Where a value is.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalRemoteRef {
    /// Path in the store.
    pub key: String,
    /// Property at that path.
    pub property: &'static str,
}
