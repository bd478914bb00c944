//! The composite resource a call is about, and who claims it.

use std::collections::BTreeSet;

use c5c3_api::Claim;
use serde::Deserialize;

/// Label of a composite resource with its claim's name.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// Label of a composite resource with its claim's namespace.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

/// Annotation of a pool: how many of its machines are marked to be deleted before others.
pub const MACHINES_MARKED: &str = "c5c3.io/machines-marked";

/// What a document says that it is: group and version, and kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeMeta<'a> {
    /// Group and version.
    #[serde(default)]
    pub api_version: &'a str,
    /// Kind.
    #[serde(default)]
    pub kind: &'a str,
}

/// A composite resource, read as far as it is needed.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de>, T: Deserialize<'de> + Default"))]
pub struct Composite<S, T> {
    /// Who it is.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: S,
    /// What was last said of it.
    #[serde(default)]
    pub status: T,
}

/// Metadata of a composite resource, or of what Crossplane composes for one.
///
/// Who claims it is read from what the tenant can't write. On a cluster-scoped resource that is Crossplane's labels: only
/// Crossplane and the platform team write those. A namespaced resource belongs to its tenant with all its labels, so its
/// own namespace and name count, which the API server has checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The composite's own name; generated where it was made from a claim.
    pub name: String,
    /// Namespace of a namespaced composite.
    pub namespace: Option<String>,
    /// Issued by the API server.
    pub uid: String,
    /// Another one after each write, by the API server.
    pub resource_version: String,
    /// When it was created, RFC 3339 in UTC, which sorts as text.
    pub creation_timestamp: String,
    /// Since when it is being deleted.
    pub deletion_timestamp: Option<String>,
    labels: ClaimLabels,
    annotations: Annotations,
}

/// Annotations that a claim's owner sets; Crossplane copies them from the claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    /// Names of retained resources to delete, between commas.
    #[serde(rename = "c5c3.io/delete-retained")]
    delete_retained: String,
    /// Lower quotas of pools that are accepted, each as `<composed resource>:<quota>`, between commas.
    #[serde(rename = "c5c3.io/lower-quotas")]
    lower_quotas: String,
    /// Number of machines that are marked to be deleted before others.
    #[serde(rename = "c5c3.io/machines-marked")]
    machines_marked: Option<String>,
}

/// The labels by which Crossplane says which claim a cluster-scoped resource is for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimLabels {
    #[serde(rename = "crossplane.io/claim-name")]
    name: Option<String>,
    #[serde(rename = "crossplane.io/claim-namespace")]
    namespace: Option<String>,
}

/// Where a composite and what it composes live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Cluster-scoped, from a claim: Crossplane 1.x, and 2.x with `LegacyCluster`.
    Cluster,
    /// In the tenant's namespace: Crossplane 2.x.
    Namespaced,
}

impl Scope {
    /// What the composite resources of a kind are called here.
    pub fn kind<K: Claim>(self) -> String {
        match self {
            Scope::Cluster => K::composite_kind(),
            Scope::Namespaced => K::KIND.to_owned(),
        }
    }
}

impl Metadata {
    /// Where this composite lives.
    pub fn scope(&self) -> Scope {
        if self.namespace.is_some() {
            Scope::Namespaced
        } else {
            Scope::Cluster
        }
    }

    /// The retained resources that the claim's owner wants deleted.
    pub fn released(&self) -> BTreeSet<&str> {
        listed(&self.annotations.delete_retained)
    }

    /// The quotas, each as `<composed resource>:<quota>`, that pools may get although they had higher ones.
    pub fn lower_quotas(&self) -> BTreeSet<&str> {
        listed(&self.annotations.lower_quotas)
    }

    /// What the annotation [`MACHINES_MARKED`] says.
    pub fn machines_marked(&self) -> Option<&str> {
        self.annotations.machines_marked.as_deref()
    }

    /// The UID of a resource that is stored in a cluster. `crossplane render` makes one up for a resource that isn't: only an
    /// API server sets the time of creation as well.
    pub fn stored_uid(&self) -> Option<&str> {
        let is_stored = !self.uid.is_empty() && !self.creation_timestamp.is_empty();
        is_stored.then_some(self.uid.as_str())
    }

    /// Whether a claim made this composite.
    pub fn is_claimed(&self) -> bool {
        self.namespace.is_none() && self.labels.name.is_some()
    }

    /// The name that the user gave.
    pub fn claim_name(&self) -> &str {
        let claimed = self.labels.name.as_ref().filter(|_| self.is_claimed());
        claimed.unwrap_or(&self.name)
    }

    /// The namespace that the user chose; empty for a cluster-scoped composite without a claim.
    pub fn claim_namespace(&self) -> &str {
        let claimed = self.namespace.as_ref().or(self.labels.namespace.as_ref());
        claimed.map_or("", String::as_str)
    }

    /// The claim as `namespace/name`.
    pub fn claim_path(&self) -> String {
        format!("{}/{}", self.claim_namespace(), self.claim_name())
    }
}

/// What an annotation lists between commas.
fn listed(annotation: &str) -> BTreeSet<&str> {
    let listed = annotation.split(',').map(str::trim);
    listed.filter(|name| !name.is_empty()).collect()
}
