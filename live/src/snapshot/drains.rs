//! What holds a claim that is being deleted: servers on its nodes. Crossplane doesn't call the function for it any more, so that the
//! claim's own status says nothing.

use c5c3_plan::Manifest;

use super::Snapshot;
use crate::cluster::Cluster;

/// The kind by which provider-kubernetes shows an object of another cluster, of cluster-scoped and of namespaced composites.
const OBJECTS: [&str; 2] = [
    "kubernetes.crossplane.io/v1alpha2",
    "kubernetes.m.crossplane.io/v1alpha1",
];

impl Snapshot {
    /// Adds the shares of claims that are being deleted. Whoever may not list Objects sees none.
    pub(super) async fn add_drains(&mut self, cluster: &Cluster) {
        let claims = self
            .0
            .values()
            .filter(|manifest| is_deleted_claim(manifest));
        let selectors: Vec<[String; 2]> = claims.map(selectors).collect();
        for selectors in selectors {
            for (api_version, selector) in OBJECTS.into_iter().zip(selectors) {
                let found = cluster.list(api_version, "Object", &selector).await;
                for object in found.unwrap_or_default() {
                    self.insert(object);
                }
            }
        }
    }

    /// What the nodes of a claim that is being deleted wait for, by pool.
    pub(crate) fn drains(&self, claim: &Manifest) -> Vec<(&str, &str)> {
        if !is_deleted_claim(claim) {
            return Vec::new();
        }
        let objects = self.0.values();
        let objects = objects.filter(|object| is_of(object, claim));
        objects.filter_map(drain).collect()
    }
}

fn is_deleted_claim(manifest: &Manifest) -> bool {
    manifest.kind() == "OpenStackCluster"
        && !manifest.text("/metadata/deletionTimestamp").is_empty()
}

/// The labels that Crossplane gives to the Objects of a claim, of each kind.
fn selectors(claim: &Manifest) -> [String; 2] {
    let (namespace, name) = (claim.namespace(), claim.name());
    [
        format!("crossplane.io/claim-name={name},crossplane.io/claim-namespace={namespace}"),
        format!("crossplane.io/composite={name}"),
    ]
}

fn is_of(object: &Manifest, claim: &Manifest) -> bool {
    let label = |label: &str| object.text(&format!("/metadata/labels/crossplane.io~1{label}"));
    match OBJECTS.iter().position(|api| *api == object.api_version()) {
        Some(0) => {
            (label("claim-namespace"), label("claim-name")) == (claim.namespace(), claim.name())
        }
        Some(_) => (object.namespace(), label("composite")) == (claim.namespace(), claim.name()),
        None => false,
    }
}

/// The pool of a share, and what its nodes wait for.
fn drain(object: &Manifest) -> Option<(&str, &str)> {
    if object.text("/spec/forProvider/manifest/kind") != "HypervisorShare" {
        return None;
    }
    let conditions = object
        .status()
        .pointer("/atProvider/manifest/status/conditions")?;
    let condition = conditions
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == "NodesDrained" && condition["status"] != "True")?;
    Some((
        object.text("/spec/providerConfigRef/name"),
        condition["message"].as_str()?,
    ))
}
