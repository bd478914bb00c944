//! What the runtime itself reads of an object.

use std::collections::BTreeMap;

use provider_composer::WHILE_WANTED;
use serde::Deserialize;
use serde_json::Value;

/// The largest labels, in total, and the largest ownerReference that are kept of an object without its body, in bytes.
/// Users who may create objects may make them as large as the API server accepts.
const LABELS: usize = 4096;
const REFERENCE: usize = 512;

/// The fields of an object that the runtime itself reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Head {
    pub uid: String,
    pub resource_version: String,
    pub generation: Option<i64>,
    pub labels: Pairs,
    pub annotations: Pairs,
    pub finalizers: Vec<String>,
    pub deletion_timestamp: Option<String>,
    pub owner_references: Vec<Reference>,
    /// Whether labels were left out because they are too long.
    #[serde(skip)]
    pub is_cut: bool,
}

/// Labels or annotations, by name. There are few of each object, and a list takes less memory than a map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<Box<str>, Box<str>>")]
pub(crate) struct Pairs(Vec<(Box<str>, Box<str>)>);

impl From<BTreeMap<Box<str>, Box<str>>> for Pairs {
    fn from(pairs: BTreeMap<Box<str>, Box<str>>) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl Pairs {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(other, _)| **other == *name)?;
        Some(value)
    }
}

/// The fields of an ownerReference that the runtime reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Reference {
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub controller: bool,
}

impl Head {
    /// Of an object; none if its metadata can't be understood.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        Self::deserialize(object.get("metadata")?).ok()
    }

    /// Returns the metadata that is kept without a body: no foreign annotations, and no more labels and references than
    /// objects need.
    pub(crate) fn reduced(mut self) -> Self {
        let Pairs(annotations) = &mut self.annotations;
        annotations.retain(|(name, _)| **name == *WHILE_WANTED);
        annotations.shrink_to_fit();
        self.finalizers = Vec::new();
        let labels = self.labels.0.iter();
        let lengths = labels.map(|(name, value)| name.len() + value.len());
        if lengths.sum::<usize>() > LABELS {
            self.labels = Pairs::default();
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
            .all(|(label, value)| self.labels.get(label) == Some(value.as_str()))
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
