//! The kinds that users write, as Rust types. No logic, no client.
//!
//! There are claims, which Crossplane serves ([`definitions`]), and resources that operators reconcile
//! ([`custom_resources`]). What several of the latter are made of is in [`parts`].
//!
//! Each claim kind has a module with its `Spec` and `Status`. One type serves the claim, the composite resource that
//! Crossplane makes of it, and a namespaced composite resource: fields that Crossplane adds are ignored when read.
//! A field that the API server would default has the same default here, so a resource may be read from a file too.

pub mod cidr;
pub mod cinder;
pub mod condition;
pub mod control_plane;
pub mod control_plane_cluster;
pub mod cortex;
pub mod credential_rotation;
pub mod custom_resource;
pub mod definition;
pub mod glance;
pub mod hypervisor;
pub mod hypervisor_cluster;
pub mod keystone;
pub mod kind;
mod list;
pub mod neutron;
pub mod nova;
pub mod openstack_cluster;
pub mod ovn_chassis;
pub mod ovn_cluster;
pub mod parts;
pub mod placement;
pub mod pool;
pub mod reason;
pub mod rule;
pub mod schema;
pub mod secret_aggregate;
pub mod shoot_kubeconfig;
pub mod storage_cluster;
pub mod tempest;
pub mod unsupported;

pub use cidr::{Cidr, CidrError, Ranges};
pub use condition::{Condition, LONGEST_MESSAGE};
pub use control_plane_cluster::{ControlPlaneClusterSpec, ControlPlaneClusterStatus};
pub use custom_resource::{CustomResource, Scope, custom_resource, custom_resources};
pub use definition::{Definition, Generation, definition, definitions};
pub use hypervisor_cluster::{HypervisorClusterSpec, HypervisorClusterStatus};
pub use kind::Kind;
pub use openstack_cluster::{OpenStackClusterSpec, OpenStackClusterStatus};
pub use pool::{
    Consumer, PhysicalNetwork, PoolName, PoolNameError, PoolNetwork, Sharing, SharingMode,
    VlanRange, VlanRangeError,
};
pub use reason::Reason;
pub use storage_cluster::{StorageClusterSpec, StorageClusterStatus};

/// The registry and path that this project publishes its images, charts and packages under.
pub const REGISTRY: &str = "ghcr.io/openstack-control-planes";
