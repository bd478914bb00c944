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
mod pattern;
pub mod placement;
pub mod pool;
pub mod reason;
pub mod rule;
pub mod schema;
pub mod secret_aggregate;
pub mod shell;
pub mod shoot_kubeconfig;
pub mod storage_cluster;
pub mod tempest;
mod text;
pub mod unsupported;

use cinder::CinderSpec;
use control_plane::ControlPlaneSpec;
use cortex::CortexSpec;
use credential_rotation::CredentialRotationSpec;
use custom_resource::{Registered, dependency, registered, tested};
use glance::GlanceSpec;
use hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use keystone::KeystoneSpec;
use neutron::NeutronSpec;
use nova::NovaSpec;
use ovn_chassis::OvnChassisSpec;
use ovn_cluster::OvnClusterSpec;
use placement::PlacementSpec;
use secret_aggregate::SecretAggregateSpec;
use shoot_kubeconfig::ShootKubeconfigSpec;
use tempest::TempestSpec;

pub use cidr::{Cidr, CidrError, Ranges};
pub use condition::{Condition, LONGEST_MESSAGE};
pub use control_plane_cluster::{ControlPlaneClusterSpec, ControlPlaneClusterStatus};
pub use custom_resource::{CustomResource, Scope, custom_resource, custom_resources};
pub use definition::{Definition, Generation, definition, definitions};
pub use hypervisor_cluster::{HypervisorClusterSpec, HypervisorClusterStatus};
pub use kind::{Claim, Kind};
pub use openstack_cluster::{OpenStackClusterSpec, OpenStackClusterStatus};
pub use pool::{
    Consumer, PhysicalNetwork, PoolName, PoolNameError, PoolNetwork, Sharing, SharingMode,
    VlanRange, VlanRangeError,
};
pub use reason::Reason;
pub use storage_cluster::{StorageClusterSpec, StorageClusterStatus};

/// The kinds that operators reconcile.
static KINDS: [Registered; 16] = [
    registered::<ControlPlaneSpec>(),
    registered::<SecretAggregateSpec>(),
    registered::<CredentialRotationSpec>(),
    tested::<KeystoneSpec>("identity"),
    tested::<GlanceSpec>("image"),
    tested::<PlacementSpec>("placement"),
    tested::<NovaSpec>("compute"),
    tested::<NeutronSpec>("network"),
    tested::<CinderSpec>("volume"),
    dependency::<CortexSpec>(),
    registered::<TempestSpec>(),
    dependency::<OvnClusterSpec>(),
    registered::<OvnChassisSpec>(),
    registered::<HypervisorPoolSpec>(),
    registered::<HypervisorShareSpec>(),
    registered::<ShootKubeconfigSpec>(),
];

/// The registry and path that this project publishes its images, charts and packages under.
pub const REGISTRY: &str = "ghcr.io/openstack-control-planes";
