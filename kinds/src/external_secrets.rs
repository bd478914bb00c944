//! External Secrets' PushSecret (v1alpha1) and ExternalSecret (v1), as of external-secrets 1.3.

use std::collections::BTreeMap;

use c5c3_api::control_plane::SecretStoreRef;
use c5c3_api::parts::NamedRef;
use serde::Serialize;

use crate::Spec;
use crate::kind::kinds;

kinds! { Spec "external-secrets.io" "v1alpha1": PushSecret "PushSecret" "pushsecrets", }
kinds! { Spec "external-secrets.io" "v1": ExternalSecret "ExternalSecret" "externalsecrets", }

/// Spec of a PushSecret: a Secret's values written to a store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushSecret {
    /// What becomes of the stored values when the PushSecret goes.
    pub deletion_policy: &'static str,
    /// How often the values are compared.
    pub refresh_interval: &'static str,
    /// Where to.
    pub secret_store_refs: [SecretStoreRef; 1],
    /// Where from.
    pub selector: PushSelector,
    /// Which keys.
    pub data: Vec<PushData>,
}

impl PushSecret {
    /// Writes all values of a Secret to a path of a store, each to a property of its name.
    pub fn whole(
        secret: String,
        path: String,
        store: &SecretStoreRef,
        refresh_interval: &'static str,
    ) -> Self {
        let matching = PushMatch {
            secret_key: None,
            remote_ref: PushRemoteRef {
                remote_key: path,
                property: None,
            },
        };
        Self::of(secret, [matching], store, refresh_interval)
    }

    /// Writes values of a Secret to a store. They are deleted with the PushSecret.
    pub fn of(
        secret: String,
        matching: impl IntoIterator<Item = PushMatch>,
        store: &SecretStoreRef,
        refresh_interval: &'static str,
    ) -> Self {
        let data = matching.into_iter().map(|matching| PushData { matching });
        PushSecret {
            deletion_policy: "Delete",
            refresh_interval,
            secret_store_refs: [store.clone()],
            selector: PushSelector {
                secret: NamedRef { name: secret },
            },
            data: data.collect(),
        }
    }
}

/// The Secret that is pushed.
#[derive(Clone, Debug, Serialize)]
pub struct PushSelector {
    /// By name, in the PushSecret's namespace.
    pub secret: NamedRef,
}

/// One key of a PushSecret.
#[derive(Clone, Debug, Serialize)]
pub struct PushData {
    /// Key and destination.
    #[serde(rename = "match")]
    pub matching: PushMatch,
}

/// Key and destination of a pushed value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushMatch {
    /// Key in the Secret; none for all keys, each of which becomes a property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<String>,
    /// Where it goes.
    pub remote_ref: PushRemoteRef,
}

/// Where a pushed value goes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushRemoteRef {
    /// Path in the store.
    pub remote_key: String,
    /// Property at that path; none where all keys are pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
}

/// Spec of an ExternalSecret: a Secret made from values of a store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalSecret {
    /// How often the values are read.
    pub refresh_interval: &'static str,
    /// Where from.
    pub secret_store_ref: SecretStoreRef,
    /// Where to.
    pub target: Target,
    /// Which values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<ExternalData>,
    /// From which paths all values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_from: Vec<DataFrom>,
}

impl ExternalSecret {
    /// Reads all values of a path into a Secret, which keeps the last ones when the store has none.
    pub fn whole(
        name: String,
        path: String,
        store: &SecretStoreRef,
        refresh_interval: &'static str,
        creation_policy: &'static str,
        labels: BTreeMap<&'static str, String>,
    ) -> Self {
        ExternalSecret {
            refresh_interval,
            secret_store_ref: store.clone(),
            target: Target {
                name,
                creation_policy,
                deletion_policy: Some("Retain"),
                template: Some(Template {
                    engine_version: "v2",
                    metadata: TemplateMetadata { labels },
                    data: BTreeMap::new(),
                }),
            },
            data: Vec::new(),
            data_from: vec![DataFrom {
                extract: Extract { key: path },
            }],
        }
    }
}

/// The Secret that an ExternalSecret makes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// Name.
    pub name: String,
    /// `Owner`: it is deleted with the ExternalSecret. `Orphan`: it stays.
    pub creation_policy: &'static str,
    /// `Retain`, which is the default: it stays when the store has no values for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<&'static str>,
    /// Its content, where that isn't the values alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
}

/// Content of a made Secret, in the templates of External Secrets.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Always `v2`.
    pub engine_version: &'static str,
    /// Labels.
    #[serde(skip_serializing_if = "TemplateMetadata::is_empty")]
    pub metadata: TemplateMetadata,
    /// Values by key. Without any the Secret has the store's values, which no template changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<&'static str, String>,
}

/// Metadata of a made Secret.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TemplateMetadata {
    /// Labels.
    pub labels: BTreeMap<&'static str, String>,
}

impl TemplateMetadata {
    fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// A path of which an ExternalSecret reads all values.
#[derive(Clone, Debug, Serialize)]
pub struct DataFrom {
    /// The path.
    pub extract: Extract,
}

/// A path in the store.
#[derive(Clone, Debug, Serialize)]
pub struct Extract {
    /// The path.
    pub key: String,
}

/// One value that an ExternalSecret reads.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalData {
    /// Name in the template.
    pub secret_key: String,
    /// Where it is.
    pub remote_ref: ExternalRemoteRef,
}

/// Where a value is.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalRemoteRef {
    /// Path in the store.
    pub key: String,
    /// Property at that path.
    pub property: String,
}
