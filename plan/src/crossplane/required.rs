//! Resources that a function requires.

use std::collections::BTreeMap;

use function_protocol::v1::resource_selector::Match;
use function_protocol::v1::{Resource, ResourceSelector, Resources};
use function_protocol::{Document, DocumentError};

use crate::composite::{CLAIM_NAME, CLAIM_NAMESPACE};
use crate::kind::ClaimKind;
use crate::manifest::{Manifest, path};
use crate::store::{Key, MANAGEMENT, Store};

/// Everything of the management cluster that matches, by namespace and name.
pub fn select<'a>(store: &'a Store, selector: &'a ResourceSelector) -> Vec<&'a Manifest> {
    let (api_version, kind) = (&selector.api_version, &selector.kind);
    let namespace = selector.namespace.as_deref();
    match &selector.r#match {
        Some(Match::MatchName(name)) => {
            let key = Key {
                cluster: MANAGEMENT.to_owned(),
                api_version: api_version.clone(),
                kind: kind.clone(),
                namespace: namespace.unwrap_or_default().to_owned(),
                name: name.clone(),
            };
            store.get(&key).into_iter().collect()
        }
        Some(Match::MatchLabels(wanted)) => store
            .of_kind(MANAGEMENT, api_version, kind, namespace)
            .map(|(_, manifest)| manifest)
            .filter(|manifest| {
                let mut labels = wanted.labels.iter();
                labels.all(|(label, value)| manifest.label(label) == value)
            })
            .collect(),
        None => store
            .of_kind(MANAGEMENT, api_version, kind, namespace)
            .map(|(_, manifest)| manifest)
            .collect(),
    }
}

/// The required resources, in the form of the response, as far as they are read (`is_read`).
///
/// # Errors
/// One of the resources has no wire form.
pub fn fetch(
    store: &Store,
    selectors: &BTreeMap<String, ResourceSelector>,
    is_read: impl Fn(&ResourceSelector) -> bool,
) -> Result<BTreeMap<String, Resources>, DocumentError> {
    selectors
        .iter()
        .filter(|(_, selector)| is_read(selector))
        .map(|(name, selector)| {
            let found = select(store, selector).into_iter();
            let items: Result<Vec<Resource>, _> = found.map(resource).collect();
            Ok((name.clone(), Resources { items: items? }))
        })
        .collect()
}

/// A resource as a function gets it.
///
/// # Errors
/// It has no wire form.
pub fn resource(manifest: &Manifest) -> Result<Resource, DocumentError> {
    Ok(Resource {
        resource: Some(Document::from_value(manifest.value())?),
        ..Resource::default()
    })
}

/// A claim or a pool that is named somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// What it is.
    pub kind: ClaimKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Wanted {
    /// `namespace/name`.
    pub fn path(&self) -> String {
        path(&self.namespace, &self.name)
    }

    /// The resource that a selector requires by the name that its user gave it; none for a selector of many.
    fn by(selector: &ResourceSelector) -> Option<Self> {
        let kind = ClaimKind::named(&selector.api_version, &selector.kind)?;
        let (namespace, name) = match selector.r#match.as_ref()? {
            Match::MatchName(name) => (selector.namespace.as_ref()?, name),
            Match::MatchLabels(wanted) => (
                wanted.labels.get(CLAIM_NAMESPACE)?,
                wanted.labels.get(CLAIM_NAME)?,
            ),
        };
        Some(Self {
            kind,
            namespace: namespace.clone(),
            name: name.clone(),
        })
    }
}

/// Resources that are required by name and don't exist.
pub fn missing<'a>(
    store: &Store,
    selectors: impl Iterator<Item = &'a ResourceSelector> + Clone,
) -> Vec<Wanted> {
    let unclaimed = |wanted: &Wanted| {
        // Without a claim, a pool is a composite resource under its own name.
        let mut selectors = selectors.clone();
        selectors.any(|selector| {
            let by_name = Some(Match::MatchName(wanted.name.clone()));
            let same_kind = ClaimKind::named(&selector.api_version, &selector.kind);
            same_kind == Some(wanted.kind)
                && selector.namespace.is_none()
                && selector.r#match == by_name
                && !select(store, selector).is_empty()
        })
    };
    let nowhere = selectors
        .clone()
        .filter(|selector| select(store, selector).is_empty());
    nowhere
        .filter_map(Wanted::by)
        .filter(|wanted| !unclaimed(wanted))
        .collect()
}

#[cfg(test)]
mod tests {
    use function_protocol::v1::MatchLabels;
    use serde_json::json;

    use super::*;

    fn store() -> Store {
        let mut store = Store::default();
        for (name, claim) in [("b-2", "b"), ("a-1", "a"), ("bare", "")] {
            let pool = json!({
                "apiVersion": "crossplane.c5c3.io/v1alpha1",
                "kind": "XStorageCluster",
                "metadata": {
                    "name": name,
                    "labels": { CLAIM_NAME: claim, CLAIM_NAMESPACE: "infrastructure", "tier": "fast" },
                },
            });
            store.apply(MANAGEMENT, Manifest::try_from(pool).unwrap(), None);
        }
        store
    }

    fn selector(by: Match) -> ResourceSelector {
        ResourceSelector {
            api_version: "crossplane.c5c3.io/v1alpha1".to_owned(),
            kind: "XStorageCluster".to_owned(),
            namespace: None,
            r#match: Some(by),
        }
    }

    fn labels(labels: &[(&str, &str)]) -> Match {
        let labels = labels
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()));
        Match::MatchLabels(MatchLabels {
            labels: labels.collect(),
        })
    }

    fn claimed(name: &str) -> Match {
        labels(&[(CLAIM_NAME, name), (CLAIM_NAMESPACE, "infrastructure")])
    }

    #[test]
    fn labels_select_many_in_the_order_of_their_names() {
        let store = store();
        let names = |by| -> Vec<String> {
            let selector = selector(by);
            let found = select(&store, &selector).into_iter();
            found.map(|manifest| manifest.name().to_owned()).collect()
        };
        assert_eq!(names(labels(&[("tier", "fast")])), ["a-1", "b-2", "bare"]);
        assert_eq!(names(labels(&[("tier", "slow")])), [""; 0]);
        assert_eq!(names(claimed("b")), ["b-2"]);
        assert_eq!(names(Match::MatchName("a-1".to_owned())), ["a-1"]);
        assert_eq!(names(Match::MatchName("a".to_owned())), [""; 0]);
    }

    #[test]
    fn a_namespaced_resource_is_not_found_without_its_namespace() {
        let mut store = Store::default();
        let pool = json!({
            "apiVersion": "crossplane.c5c3.io/v1alpha1",
            "kind": "XStorageCluster",
            "metadata": { "name": "a", "namespace": "n" },
        });
        store.apply(MANAGEMENT, Manifest::try_from(pool).unwrap(), None);
        let by_name = selector(Match::MatchName("a".to_owned()));
        assert!(select(&store, &by_name).is_empty());
        let in_namespace = ResourceSelector {
            namespace: Some("n".to_owned()),
            ..by_name
        };
        assert_eq!(select(&store, &in_namespace).len(), 1);
    }

    #[test]
    fn who_is_asked_for_and_is_nowhere_is_missing() {
        let store = store();
        let selectors = [
            selector(claimed("a")),
            selector(Match::MatchName("a".to_owned())),
            selector(claimed("bare")),
            selector(Match::MatchName("bare".to_owned())),
            selector(claimed("gone")),
            selector(Match::MatchName("gone".to_owned())),
            selector(labels(&[(CLAIM_NAME, "gone")])),
        ];
        let missing = missing(&store, selectors.iter());
        assert_eq!(
            missing,
            [Wanted {
                kind: ClaimKind::StorageCluster,
                namespace: "infrastructure".to_owned(),
                name: "gone".to_owned(),
            }]
        );
    }
}
