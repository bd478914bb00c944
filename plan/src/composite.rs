//! The composite resource that Crossplane creates for a claim.

use c5c3_api::Generation;
use serde_json::{Map, Value, json};

use crate::kind::ClaimKind;
use crate::manifest::{Manifest, NotAnObject, take};
use crate::names;
use crate::schema::Served;

/// Label of a composite resource with its claim's name.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// Label of a composite resource with its claim's namespace.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";
/// Label of a composite resource, and of what it composes, with the composite's name.
pub const COMPOSITE: &str = "crossplane.io/composite";

/// Fields of a claim's spec that are about the claim alone (crossplane 1.20, internal/xcrd).
const OF_THE_CLAIM: [&str; 5] = [
    "compositeDeletePolicy",
    "compositionRevisionRef",
    "publishConnectionDetailsTo",
    "resourceRef",
    "writeConnectionSecretToRef",
];

/// The composite resource that Crossplane makes of a claim: cluster-scoped and under a made-up name in 1.x; in 2.x the
/// user's resource is one itself. So is one that is given under its own kind. Defaults are filled in as the API server
/// fills them in.
///
/// # Errors
/// Never for what [`Manifest`] has accepted and is one of the kinds.
pub fn composite(
    given: &Manifest,
    kind: ClaimKind,
    generation: Generation,
) -> Result<Manifest, NotAnObject> {
    let served = Served::named(given.api_version(), given.kind());
    let given = &served.map_or_else(|| given.clone(), |served| served.defaulted(given));
    let is_claim = given.kind() == kind.name();
    if generation == Generation::V2 || !is_claim {
        return itself(given);
    }
    let path = given.path();
    let name = names::generated(given.name(), &path);
    let mut labels = own(given, "labels");
    for (label, value) in [
        (CLAIM_NAME, given.name()),
        (CLAIM_NAMESPACE, given.namespace()),
        (COMPOSITE, &name),
    ] {
        labels.insert(label.to_owned(), json!(value));
    }
    let mut metadata = Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("labels".to_owned(), Value::Object(labels)),
    ]);
    let annotations = own(given, "annotations");
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
    let mut spec = given.spec().as_object().cloned().unwrap_or_default();
    spec.retain(|field, _| !OF_THE_CLAIM.contains(&field.as_str()));
    spec.insert(
        "claimRef".to_owned(),
        json!({
            "apiVersion": given.api_version(),
            "kind": given.kind(),
            "name": given.name(),
            "namespace": given.namespace(),
        }),
    );
    Manifest::try_from(json!({
        "apiVersion": given.api_version(),
        "kind": kind.composite(),
        "metadata": metadata,
        "spec": spec,
    }))
}

fn itself(given: &Manifest) -> Result<Manifest, NotAnObject> {
    let metadata = given.value()["metadata"].as_object();
    let mut metadata = metadata.cloned().unwrap_or_default();
    let mut labels = take(&mut metadata, "labels");
    labels.insert(COMPOSITE.to_owned(), json!(given.name()));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    Manifest::try_from(json!({
        "apiVersion": given.api_version(),
        "kind": given.kind(),
        "metadata": metadata,
        "spec": given.spec(),
    }))
}

/// Labels or annotations, without those of Kubernetes itself, which aren't reconciled from a claim to its composite.
fn own(given: &Manifest, which: &str) -> Map<String, Value> {
    let entries = given.value()["metadata"][which].as_object();
    let is_reserved = |key: &str| {
        let domain = key.split('/').next().unwrap_or_default();
        domain.ends_with("kubernetes.io") || domain.ends_with("k8s.io")
    };
    entries
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_reserved(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Manifest {
        Manifest::try_from(json!({
            "apiVersion": "c5c3.io/v1alpha1",
            "kind": "OpenStackCluster",
            "metadata": {
                "name": "prod",
                "namespace": "tenant",
                "labels": { "team": "a", "app.kubernetes.io/name": "x" },
                "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
            },
            "spec": {
                "region": "r",
                "size": "small",
                "resourceRef": { "name": "old" },
                "compositionRef": { "name": "openstack-staging" },
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_claim_gets_a_cluster_scoped_composite_that_refers_to_it() {
        let composite = composite(&claim(), ClaimKind::OpenStackCluster, Generation::V1).unwrap();
        assert_eq!(composite.kind(), "XOpenStackCluster");
        assert_eq!(composite.namespace(), "");
        assert!(
            composite.name().starts_with("prod-"),
            "{}",
            composite.name()
        );
        assert_eq!(
            composite.value()["metadata"]["labels"],
            json!({
                "team": "a",
                CLAIM_NAME: "prod",
                CLAIM_NAMESPACE: "tenant",
                COMPOSITE: composite.name(),
            })
        );
        assert_eq!(composite.value()["metadata"].get("annotations"), None);
        assert_eq!(composite.spec()["claimRef"]["namespace"], "tenant");
        assert_eq!(composite.spec().get("resourceRef"), None);
        assert_eq!(
            composite.spec()["compositionRef"]["name"],
            "openstack-staging"
        );
        assert_eq!(composite.spec()["services"]["nova"], true);
    }

    #[test]
    fn on_crossplane_2_the_manifest_is_the_composite() {
        let composite = composite(&claim(), ClaimKind::OpenStackCluster, Generation::V2).unwrap();
        assert_eq!(composite.title(), "OpenStackCluster tenant/prod");
        assert_eq!(composite.label(COMPOSITE), "prod");
        assert_eq!(composite.spec()["services"]["nova"], true);
        assert_eq!(composite.spec().get("claimRef"), None);
    }
}
