//! Kinds of Crossplane's provider-kubernetes 1.2.

use serde::Serialize;

use crate::{ResourceKind, Spec};

/// An Object of a cluster-scoped composite resource.
pub const OBJECT: ResourceKind =
    ResourceKind::cluster_scoped("kubernetes.crossplane.io", "v1alpha2", "Object", "objects");

/// An Object of a namespaced composite resource.
pub const NAMESPACED_OBJECT: ResourceKind = ResourceKind::namespaced(
    "kubernetes.m.crossplane.io",
    "v1alpha1",
    "Object",
    "objects",
);

/// Spec of an Object of either kind: a manifest, applied to the cluster that a provider configuration reaches.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<'a, M> {
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
    /// [`ClusterProviderConfig`] for namespaced Objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Name, which is the cluster's.
    pub name: &'a str,
}

/// Spec of the provider configuration of cluster-scoped Objects: the kubeconfig of one cluster, in a Secret.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderConfig {
    /// Where the kubeconfig is.
    pub credentials: Credentials,
}

impl Spec for ProviderConfig {
    const KIND: ResourceKind = ResourceKind::cluster_scoped(
        OBJECT.group,
        "v1alpha1",
        "ProviderConfig",
        "providerconfigs",
    );
}

/// Spec of the provider configuration of namespaced Objects of all namespaces.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterProviderConfig(pub ProviderConfig);

impl Spec for ClusterProviderConfig {
    const KIND: ResourceKind = ResourceKind::cluster_scoped(
        NAMESPACED_OBJECT.group,
        "v1alpha1",
        "ClusterProviderConfig",
        "clusterproviderconfigs",
    );
}

/// Credentials of a provider configuration.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Always `Secret`.
    pub source: &'static str,
    /// The Secret.
    pub secret_ref: SecretKeySelector,
}

/// A key of a Secret.
#[derive(Clone, Debug, Serialize)]
pub struct SecretKeySelector {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
    /// Key in the Secret.
    pub key: &'static str,
}
