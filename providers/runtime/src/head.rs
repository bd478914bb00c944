//! What the runtime itself reads of an object.

use std::collections::BTreeMap;
use std::iter;

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

/// Labels or annotations, by name. Each of ten thousand objects has some ten labels, and an allocation takes at least 32 bytes: all labels of
/// an object are in two allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<String, String>")]
pub(crate) struct Pairs {
    /// Each name, followed by its value.
    text: Box<str>,
    /// Where each name and each value ends.
    ends: Box<[u32]>,
}

impl From<BTreeMap<String, String>> for Pairs {
    fn from(pairs: BTreeMap<String, String>) -> Self {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for part in pairs.into_iter().flat_map(|(name, value)| [name, value]) {
            text.push_str(part);
            // The API server takes a few megabytes at most.
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }
}

impl Pairs {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.iter().find(|(other, _)| *other == name)?;
        Some(value)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let Self { text, ends } = self;
        let starts = iter::once(0).chain(ends.iter().copied());
        let ranges = starts.zip(ends.iter().copied());
        let mut parts =
            ranges.filter_map(move |(start, end)| text.get(start as usize..end as usize));
        iter::from_fn(move || Some((parts.next()?, parts.next()?)))
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
        let annotations = self.annotations.iter();
        self.annotations = annotations
            .filter(|(name, _)| *name == WHILE_WANTED)
            .collect();
        self.finalizers = Vec::new();
        if self.labels.text.len() > LABELS {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(pairs: &Value) -> Pairs {
        Pairs::deserialize(pairs).unwrap()
    }

    #[test]
    fn pairs_are_found_by_their_names_alone() {
        let labels = pairs(&json!({ "a": "b", "ab": "", "b": "a", "é": "ü" }));
        let found = ["a", "ab", "b", "é", "", "ba"].map(|name| labels.get(name));
        assert_eq!(
            found,
            [Some("b"), Some(""), Some("a"), Some("ü"), None, None]
        );
        assert_eq!(pairs(&json!({})).get(""), None);
    }

    #[test]
    fn pairs_differ_by_where_names_and_values_end() {
        let one = pairs(&json!({ "a": "bc" }));
        assert_eq!(one, pairs(&json!({ "a": "bc" })));
        assert_ne!(one, pairs(&json!({ "ab": "c" })));
        assert_ne!(one, pairs(&json!({ "a": "b", "c": "" })));
    }

    #[test]
    fn reduced_metadata_has_labels_and_no_foreign_annotation() {
        let head = Head::of(&json!({ "metadata": {
            "labels": { "a": "b" },
            "annotations": { WHILE_WANTED: "true", "note": "long" },
        } }));
        let reduced = head.unwrap().reduced();
        assert_eq!(reduced.labels, pairs(&json!({ "a": "b" })));
        assert_eq!(reduced.annotations, pairs(&json!({ WHILE_WANTED: "true" })));
    }
}
