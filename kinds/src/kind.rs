//! What kinds of resources are called, and the types that represent them.

use std::fmt;

use c5c3_api::{CustomResource, Scope};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};

/// The names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKind {
    /// The API group; empty for Kubernetes' first one.
    pub group: &'static str,
    /// The API version, for instance `v1alpha1`.
    pub version: &'static str,
    /// The kind, for instance `Keystone`.
    pub kind: &'static str,
    /// The kind in the plural and lower case, for instance `keystones`.
    pub plural: &'static str,
    /// Whether its resources live in namespaces.
    pub namespaced: bool,
}

impl ResourceKind {
    /// A kind whose resources are namespaced.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            group,
            version,
            kind,
            plural,
            namespaced: true,
        }
    }

    /// A kind whose resources are cluster-scoped.
    pub const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self {
            namespaced: false,
            ..Self::namespaced(group, version, kind, plural)
        }
    }

    /// The kind of one of this project's resources.
    pub const fn of<S: CustomResource>() -> Self {
        Self {
            group: S::GROUP,
            version: S::VERSION,
            kind: S::KIND,
            plural: S::PLURAL,
            namespaced: matches!(S::SCOPE, Scope::Namespaced),
        }
    }

    /// Group and version as manifests have them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            [self.group, "/", self.version].concat()
        }
    }

    /// Whether manifests with this API version and kind are of it.
    pub fn is(&self, api_version: &str, kind: &str) -> bool {
        let version = match self.group {
            "" => Some(api_version),
            group => api_version
                .strip_prefix(group)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        kind == self.kind && version == Some(self.version)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind)
    }
}

/// A type that represents the resources of one kind, as far as they are composed or read.
pub trait Resource {
    /// The kind.
    const KIND: ResourceKind;
}

impl<T> Resource for T
where
    T: k8s_openapi::Resource,
    T::Scope: Placed,
{
    const KIND: ResourceKind = ResourceKind {
        group: T::GROUP,
        version: T::VERSION,
        kind: T::KIND,
        plural: T::URL_PATH_SEGMENT,
        namespaced: T::Scope::NAMESPACED,
    };
}

/// The scope of Kubernetes' own resources.
pub trait Placed {
    /// Whether it is in namespaces.
    const NAMESPACED: bool;
}

impl Placed for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Placed for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// The spec of a kind's resources.
pub trait Spec {
    /// The kind.
    const KIND: ResourceKind;
}

/// Implements a trait with a `KIND`, for instance [`Spec`], for types whose kinds have the same group and version. A row has a type, the name
/// of its kind, and the plural.
macro_rules! kinds {
    ($trait:ident $group:literal $version:literal: $($type:ident $kind:literal $plural:literal,)*) => {$(
        impl $trait for $type {
            const KIND: $crate::ResourceKind =
                $crate::ResourceKind::namespaced($group, $version, $kind, $plural);
        }
    )*};
}
pub(crate) use kinds;

impl<S: CustomResource> Spec for S {
    const KIND: ResourceKind = ResourceKind::of::<S>();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_known_by_its_whole_api_version() {
        let shoot = ResourceKind::namespaced("core.gardener.cloud", "v1beta1", "Shoot", "shoots");
        assert!(shoot.is(&shoot.api_version(), "Shoot"));
        for (api_version, kind) in [
            ("core.gardener.cloud/v1beta1", "Seed"),
            ("core.gardener.cloud/v1", "Shoot"),
            ("gardener.cloud/v1beta1", "Shoot"),
            ("v1beta1", "Shoot"),
        ] {
            assert!(!shoot.is(api_version, kind), "{api_version} {kind}");
        }
        let node = ResourceKind::cluster_scoped("", "v1", "Node", "nodes");
        assert!(node.is(&node.api_version(), "Node"));
        assert!(!node.is("/v1", "Node"));
    }
}
