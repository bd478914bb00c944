//! Kubernetes' own kinds, and those of provider-kubernetes 1.2 and of Crossplane's Usages.

use std::collections::BTreeMap;

use c5c3_kinds::{ResourceKind, Spec};
use serde::{Deserialize, Serialize};

use super::{KubernetesObject, ObjectMeta};

/// A Namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Namespace {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
}

impl Namespace {
    /// A namespace with labels.
    pub fn new(metadata: ObjectMeta) -> Self {
        Namespace {
            api_version: "v1",
            kind: "Namespace",
            metadata,
        }
    }
}

impl KubernetesObject for Namespace {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Spec of a ResourceQuota.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceQuotaSpec {
    /// The most of each resource that a namespace may have, for instance `requests.cpu`.
    pub hard: BTreeMap<String, String>,
}

impl Spec for ResourceQuotaSpec {
    const KIND: ResourceKind =
        ResourceKind::namespaced("", "v1", "ResourceQuota", "resourcequotas");
}

/// Spec of a LimitRange.
#[derive(Clone, Debug, Serialize)]
pub struct LimitRangeSpec {
    /// What counts for objects of one type.
    pub limits: [Limit; 1],
}

/// What counts for objects of one type in a namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    /// `Container`.
    #[serde(rename = "type")]
    pub type_: &'static str,
    /// What a container requests that states no requests, by resource.
    pub default_request: BTreeMap<String, String>,
}

impl Spec for LimitRangeSpec {
    const KIND: ResourceKind = ResourceKind::namespaced("", "v1", "LimitRange", "limitranges");
}

/// provider-kubernetes' Object: a manifest, applied to the cluster that a provider configuration reaches.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<'a, M> {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "ObjectMeta::is_empty")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ObjectSpec<'a, M>,
}

/// Spec of an Object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSpec<'a, M> {
    /// What is applied.
    pub for_provider: ForProvider<'a, M>,
    /// What the provider may do with the object; none: everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management_policies: Option<&'static [&'static str]>,
    /// How the cluster is reached.
    pub provider_config_ref: ProviderConfigRef<'a>,
    /// Whether changes of the object are seen at once, where the provider allows watches, or at its next poll.
    pub watch: bool,
}

/// What an Object applies.
#[derive(Clone, Debug, Serialize)]
pub struct ForProvider<'a, M> {
    /// The manifest.
    pub manifest: &'a M,
}

/// A provider configuration by name; namespaced Objects also say its kind.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderConfigRef<'a> {
    /// `ClusterProviderConfig` for namespaced Objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Name, which is the cluster's.
    pub name: &'a str,
}

/// Group, version and kind of a provider configuration for cluster-scoped Objects.
pub const PROVIDER_CONFIG: (&str, &str) = ("kubernetes.crossplane.io/v1alpha1", "ProviderConfig");

/// Spec of a ProviderConfig (or ClusterProviderConfig): the kubeconfig of one cluster, in a Secret.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderConfigSpec {
    /// Where the kubeconfig is.
    pub credentials: Credentials,
}

/// Credentials of a ProviderConfig.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Always `Secret`.
    pub source: &'static str,
    /// The Secret.
    pub secret_ref: SecretKeyRef,
}

/// A key of a Secret.
#[derive(Clone, Debug, Serialize)]
pub struct SecretKeyRef {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
    /// Key in the Secret.
    pub key: &'static str,
}

/// A Usage: `of` isn't deleted while `by` exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) spec: UsageSpec,
}

/// Spec of a Usage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageSpec {
    /// What is used.
    pub of: UsageRef,
    /// What uses it.
    pub by: UsageRef,
    /// Why, for whoever tries to delete it.
    pub reason: String,
    /// Delete again, once the Usage is gone, what somebody wanted deleted meanwhile.
    #[serde(default)]
    pub replay_deletion: bool,
}

/// One side of a Usage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRef {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The object.
    pub resource_ref: ResourceRef,
}

/// An object by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceRef {
    /// Name.
    pub name: String,
    /// Namespace, where it isn't the Usage's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
