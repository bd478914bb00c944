//! The composite resource a call is about, and who claims it.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Consumer;
use serde::Deserialize;

/// Label of a composite resource with its claim's name.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// Label of a composite resource with its claim's namespace.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";

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

/// Metadata of a composite resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The composite's own name; random where it was made from a claim.
    pub name: String,
    /// Namespace of a namespaced composite.
    pub namespace: Option<String>,
    /// When it was made, RFC 3339 in UTC, which sorts as text.
    pub creation_timestamp: String,
    /// Since when it is being deleted.
    pub deletion_timestamp: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: Annotations,
}

/// Annotations that a claim's owner sets; Crossplane copies them from the claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    /// Names of retained resources to delete, between commas.
    #[serde(rename = "c5c3.io/delete-retained")]
    delete_retained: String,
}

/// Where a composite and what it composes live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Cluster-scoped, from a claim: Crossplane 1.x, and 2.x with `LegacyCluster`.
    Cluster,
    /// In the tenant's namespace: Crossplane 2.x.
    Namespaced,
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
        self.annotations
            .delete_retained
            .split(',')
            .map(str::trim)
            .collect()
    }

    /// Whether a claim made this composite.
    pub fn is_claimed(&self) -> bool {
        self.labels.contains_key(CLAIM_NAME)
    }

    /// The name that the user gave.
    pub fn claim_name(&self) -> &str {
        self.labels
            .get(CLAIM_NAME)
            .map_or(&self.name, String::as_str)
    }

    /// The namespace that the user chose; empty for a cluster-scoped composite without a claim.
    pub fn claim_namespace(&self) -> &str {
        let claimed = self.labels.get(CLAIM_NAMESPACE).or(self.namespace.as_ref());
        claimed.map_or("", String::as_str)
    }

    /// The user's resource, as pools list their consumers.
    pub fn consumer(&self) -> Consumer {
        Consumer {
            name: self.claim_name().to_owned(),
            namespace: self.claim_namespace().to_owned(),
            ..Consumer::default()
        }
    }

    /// What decides who was first: creation time, then namespace, then name.
    pub fn seniority(&self) -> (&str, &str, &str) {
        (
            &self.creation_timestamp,
            self.claim_namespace(),
            self.claim_name(),
        )
    }
}
