//! What each claim kind is called.

use crate::{
    ControlPlaneClusterSpec, ControlPlaneClusterStatus, HypervisorClusterSpec,
    HypervisorClusterStatus, OpenStackClusterSpec, OpenStackClusterStatus, StorageClusterSpec,
    StorageClusterStatus,
};

/// A kind that users write: a claim, and the composite resource behind it.
pub trait Kind {
    /// The wanted state.
    type Spec;
    /// The observed state.
    type Status;
    /// The API group, as in `c5c3.io`.
    const GROUP: &'static str;
    /// The API version, as in `v1alpha1`.
    const VERSION: &'static str = "v1alpha1";
    /// The kind of the claim and of a namespaced composite resource, as in `OpenStackCluster`.
    const KIND: &'static str;
    /// The kind of a cluster-scoped composite resource made from a claim, as in `XOpenStackCluster`.
    const COMPOSITE_KIND: &'static str;

    /// The `apiVersion`, as in `c5c3.io/v1alpha1`.
    fn api_version() -> String {
        format!("{}/{}", Self::GROUP, Self::VERSION)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $group:literal, $kind:literal, $spec:ty, $status:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Kind for $name {
            type Spec = $spec;
            type Status = $status;
            const GROUP: &'static str = $group;
            const KIND: &'static str = $kind;
            const COMPOSITE_KIND: &'static str = concat!("X", $kind);
        }
    )*};
}

kinds! {
    /// An OpenStack control plane that consumes pools.
    OpenStackCluster = "c5c3.io", "OpenStackCluster", OpenStackClusterSpec, OpenStackClusterStatus;
    /// A cluster that carries control planes.
    ControlPlaneCluster = "crossplane.c5c3.io", "ControlPlaneCluster", ControlPlaneClusterSpec, ControlPlaneClusterStatus;
    /// A pool of hypervisors.
    HypervisorCluster = "crossplane.c5c3.io", "HypervisorCluster", HypervisorClusterSpec, HypervisorClusterStatus;
    /// A pool of Ceph storage.
    StorageCluster = "crossplane.c5c3.io", "StorageCluster", StorageClusterSpec, StorageClusterStatus;
}
