//! What the runtime itself reads of an object.

use std::collections::BTreeMap;

use provider_composer::WHILE_WANTED;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest labels, in total, and the largest ownerReference that are kept of an object without its body, in bytes.
/// Users who may create objects may make them as large as the API server accepts.
const LABELS: usize = 4096;
const REFERENCE: usize = 512;

/// The fields of an object that the runtime itself reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Head {
    pub uid: String,
    pub resource_version: String,
    pub generation: Option<i64>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    pub deletion_timestamp: Option<String>,
    pub owner_references: Vec<Reference>,
    /// Whether labels were left out because they are too long. No object of an API server has this field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// The fields of an ownerReference that the runtime reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Reference {
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub controller: bool,
}

impl Head {
    /// Of an object that is parsed already.
    pub(crate) fn of(object: &Value) -> Self {
        let metadata = object.get("metadata");
        let head = metadata.and_then(|metadata| Self::deserialize(metadata).ok());
        head.unwrap_or_default()
    }

    /// Returns the metadata that is kept without a body: no foreign annotations, and no more labels and references than
    /// objects need.
    pub(crate) fn reduced(mut self) -> Self {
        self.annotations.retain(|name, _| name == WHILE_WANTED);
        self.finalizers.clear();
        let labels = self.labels.iter();
        if labels
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>()
            > LABELS
        {
            self.labels.clear();
            self.is_cut = true;
        }
        self.owner_references.retain(|reference| {
            let length = reference.kind.len() + reference.name.len() + reference.uid.len();
            reference.controller && length <= REFERENCE
        });
        self
    }

    /// Counts up with every change in the cluster (<https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>).
    pub(crate) fn version(&self) -> u64 {
        self.resource_version.parse().unwrap_or_default()
    }

    /// Returns the controller in the ownerReferences. It is in the object's namespace, or cluster-scoped.
    pub(crate) fn controller(&self) -> Option<&Reference> {
        let mut references = self.owner_references.iter();
        references.find(|reference| reference.controller)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    pub(crate) fn has(&self, labels: &BTreeMap<String, String>) -> bool {
        labels
            .iter()
            .all(|(label, value)| self.labels.get(label) == Some(value))
    }

    /// Whether something of a subject changed that its own status does not.
    pub(crate) fn differs(&self, before: &Self) -> bool {
        let meant = |head: &Self| {
            (
                head.uid.clone(),
                head.generation,
                head.labels.clone(),
                head.annotations.clone(),
                head.finalizers.clone(),
                head.deletion_timestamp.clone(),
            )
        };
        meant(self) != meant(before)
    }
}
