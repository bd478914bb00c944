//! The resource that a composer is called for.

use std::collections::BTreeMap;

use c5c3_api::CustomResource;
use c5c3_kinds::{Resource, ResourceKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The resource that a composer is called for.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound(deserialize = "S: DeserializeOwned, S::Status: DeserializeOwned + Default"))]
pub struct Subject<S: CustomResource> {
    /// Name, namespace and other metadata.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: S,
    /// The status that was written last.
    #[serde(default)]
    pub status: S::Status,
}

impl<S: CustomResource> Subject<S> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Whether it is being deleted. Then only what the deletion still needs is composed.
    pub fn is_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// Whether an object is being deleted.
pub(crate) fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// The fields of an object's metadata that composers read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name.
    pub name: String,
    /// Namespace; none for an object of the whole cluster.
    pub namespace: Option<String>,
    /// The UID; none in a plan.
    pub uid: Option<String>,
    /// The version of the object, which changes whenever the object does; none in a plan.
    pub resource_version: Option<String>,
    /// Counts the changes of the spec.
    pub generation: Option<i64>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// When it was created, RFC 3339.
    pub creation_timestamp: Option<String>,
    /// When its deletion was requested, RFC 3339.
    pub deletion_timestamp: Option<String>,
    /// What owns it.
    pub owner_references: Vec<OwnerReference>,
}

/// An owner of an object, as Kubernetes records it in the object's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's API group and version, for instance `apps/v1`.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's UID.
    pub uid: String,
    /// Whether the owner is the object's controller.
    pub controller: bool,
}

impl Metadata {
    /// The UID of the object's controller; none without one.
    pub fn controller(&self) -> Option<&str> {
        let controller = self.owner_references.iter().find(|owner| owner.controller);
        controller.map(|owner| owner.uid.as_str())
    }

    /// The UID of the object's controller if that is of this kind, in whatever version; none otherwise.
    pub fn controller_of(&self, kind: ResourceKind) -> Option<&str> {
        let mut owners = self.owner_references.iter();
        let controller = owners.find(|owner| owner.controller)?;
        let group = controller.api_version.split_once('/');
        let group = group.map_or("", |(group, _)| group);
        let is_of_kind = (group, controller.kind.as_str()) == (kind.group, kind.kind);
        is_of_kind.then_some(controller.uid.as_str())
    }
}

impl<S: CustomResource> Resource for Subject<S> {
    const KIND: ResourceKind = ResourceKind::of::<S>();
}
