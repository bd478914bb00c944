//! What holds a claim that is being deleted: servers on its nodes, and data in Ceph. Crossplane doesn't call the function for it any more
//! (crossplane, internal/controller/apiextensions/composite/reconciler.go: `meta.WasDeleted`), so that the claim's own status says nothing.

use c5c3_api::hypervisor::HypervisorShareSpec;
use c5c3_kinds::ceph::{BLOCKED, DATA_KINDS};
use c5c3_kinds::provider_kubernetes::{NAMESPACED_OBJECT, OBJECT};
use c5c3_kinds::{ResourceKind, Spec};
use c5c3_plan::{ClaimKind, Manifest};
use serde_json::Value;

use super::Snapshot;
use crate::cluster::Cluster;

/// The kinds by which provider-kubernetes shows an object of another cluster, of cluster-scoped and of namespaced composites.
pub(super) const OBJECTS: [ResourceKind; 2] = [OBJECT, NAMESPACED_OBJECT];

/// The phase of a claim that is gone.
pub(super) const GONE: &str = "Deleted";

/// Data in Ceph of a claim that is being deleted.
pub(crate) struct Data<'a> {
    /// The storage cluster.
    pub cluster: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// What is to be done, and what Rook says.
    pub message: String,
}

impl Snapshot {
    /// Adds shares and data of claims that are being deleted. Whoever may not list Objects sees none.
    pub(super) async fn add_objects(&mut self, cluster: &Cluster) {
        let claims = self
            .0
            .values()
            .filter(|manifest| is_deleted_claim(manifest));
        let selectors: Vec<[String; 2]> = claims.map(selectors).collect();
        for selectors in selectors {
            for (kind, selector) in OBJECTS.into_iter().zip(selectors) {
                let found = cluster
                    .list(&kind.api_version(), kind.kind, &selector)
                    .await;
                for object in found.unwrap_or_default() {
                    self.insert(object);
                }
            }
        }
    }

    /// What the nodes of a claim that is being deleted wait for, by pool.
    pub(crate) fn drains<'a>(&'a self, claim: &'a Manifest) -> Vec<(&'a str, &'a str)> {
        self.objects(claim).filter_map(drain).collect()
    }

    /// The data in Ceph that hold a claim that is being deleted.
    pub(crate) fn data<'a>(&'a self, claim: &'a Manifest) -> Vec<Data<'a>> {
        self.objects(claim).filter_map(data).collect()
    }

    /// The objects of a claim that is being deleted.
    pub(super) fn objects<'a>(&'a self, claim: &'a Manifest) -> impl Iterator<Item = &'a Manifest> {
        let objects = self.0.values();
        objects.filter(move |object| is_deleted_claim(claim) && is_of(object, claim))
    }
}

fn is_deleted_claim(manifest: &Manifest) -> bool {
    ClaimKind::of(manifest).is_some() && (is_deleted(manifest) || is_gone(manifest))
}

/// Whether a claim is gone, and only its Objects are left.
pub(crate) fn is_gone(claim: &Manifest) -> bool {
    claim.text("/status/phase") == GONE
}

/// Whether an object is being deleted.
pub(super) fn is_deleted(manifest: &Manifest) -> bool {
    !manifest.text("/metadata/deletionTimestamp").is_empty()
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
    let is_kind = claim_kind(object).is_none_or(|kind| Some(kind) == ClaimKind::of(claim));
    is_kind && claim_name(object) == Some((claim.namespace(), claim.name()))
}

/// The kind of the claim that an Object was composed for; none without a controller, as after a restore without ownerReferences.
pub(super) fn claim_kind(object: &Manifest) -> Option<ClaimKind> {
    let owners = object.value()["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    ClaimKind::named(
        controller["apiVersion"].as_str()?,
        controller["kind"].as_str()?,
    )
}

/// Namespace and name of the claim that an Object was composed for.
pub(super) fn claim_name(object: &Manifest) -> Option<(&str, &str)> {
    let label = |label: &str| object.text(&format!("/metadata/labels/crossplane.io~1{label}"));
    match OBJECTS
        .iter()
        .position(|kind| kind.is(object.api_version(), object.kind()))?
    {
        0 => Some((label("claim-namespace"), label("claim-name"))),
        _ => Some((object.namespace(), label("composite"))),
    }
}

/// The pool of a share, and what its nodes wait for.
pub(super) fn drain(object: &Manifest) -> Option<(&str, &str)> {
    if object.text("/spec/forProvider/manifest/kind") != HypervisorShareSpec::KIND.kind {
        return None;
    }
    let condition = conditions(object)
        .find(|condition| condition["type"] == "NodesDrained" && condition["status"] != "True")?;
    Some((
        object.text("/spec/providerConfigRef/name"),
        condition["message"].as_str()?,
    ))
}

/// What is left of an object with data, and what Rook says of it.
pub(super) fn data(object: &Manifest) -> Option<Data<'_>> {
    let kind = object.text("/spec/forProvider/manifest/kind");
    if !DATA_KINDS.contains(&kind) {
        return None;
    }
    let name = object.text("/spec/forProvider/manifest/metadata/name");
    let blocked = conditions(object).filter(|condition| {
        let is_blocked = BLOCKED.iter().any(|type_| condition["type"] == *type_);
        is_blocked && condition["status"] == "True"
    });
    let said: Vec<&str> = blocked
        .filter_map(|condition| condition["message"].as_str())
        .collect();
    let message = match said.as_slice() {
        [] => "is being deleted, and Rook hasn't reported that anything is in it".to_owned(),
        said => format!(
            "isn't empty: delete the {}. The APIs answer until then. Rook reports: {}",
            contents(kind, name),
            said.join("; ")
        ),
    };
    Some(Data {
        cluster: object.text("/spec/providerConfigRef/name"),
        kind,
        name,
        message,
    })
}

/// The conditions of an object of another cluster.
fn conditions(object: &Manifest) -> impl Iterator<Item = &Value> {
    let conditions = object
        .status()
        .pointer("/atProvider/manifest/status/conditions");
    conditions.and_then(Value::as_array).into_iter().flatten()
}

/// What users have in an object of Rook, whose name ends with it where the claim's name isn't too long. Cinder keeps the image of a
/// deleted volume that had clones (`RBDDriver._delete_volume` in cinder/volume/drivers/rbd.py), and no API lists it.
fn contents(kind: &str, name: &str) -> &'static str {
    match (kind, name.rsplit_once('-')) {
        ("CephFilesystem", _) => "shares of all projects",
        ("CephObjectStore", _) => "buckets of all projects",
        (_, Some((_, "volumes"))) => {
            "volumes and their snapshots of all projects, and with rbd the images `volume-<id>.deleted`, which the APIs don't list"
        }
        (_, Some((_, "images"))) => {
            "images of all projects, and as an administrator those of the site"
        }
        (_, Some((_, "ephemeral"))) => "servers of all projects",
        (_, Some((_, "backups"))) => "volume backups of all projects",
        _ => "data of all projects",
    }
}
