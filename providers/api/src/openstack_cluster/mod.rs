//! OpenStackCluster: an OpenStack control plane that consumes hypervisor and storage pools.

mod cell;
mod share;
mod status;
mod storage;
mod verify;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::{
    cell::RequestedCell,
    share::RequestedShare,
    status::{
        CephClientStatus, CephFilesystemStatus, CephPoolStatus, CephResources,
        ConsumedHypervisorPool, ConsumedPools, ConsumedStoragePool, OpenStackClusterStatus, Phase,
        ResourceStatus,
    },
    storage::{
        BackupPool, CephStorage, Compression, EphemeralPool, Filesystem, ImagePool, ObjectStore,
        Storage, VolumePool,
    },
    verify::Verify,
};
use crate::{
    control_plane::{FLAVORS_STAY, FirstNetwork, Flavor, Quotas, TenantAccess},
    kind::{Claim, Column, Kind},
    list,
    parts::is_default,
    pattern::{LABEL, LABEL_VALUE, NAME},
    pool::{PoolName, PoolNameError},
    rule::{self, Rule},
};

/// The wanted control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule::CONTROL_PLANE_CLUSTER, rule::NOVA_NEEDS, rule::OCTAVIA_NEEDS, rule::SHARES_OF_POOLS,
    rule::CELLS_OF_POOLS, rule::VERIFIED_SERVICES, rule::REGION_OF_CONTROL_PLANE,
    rule::BACKUPS_NEED, rule::BACKUPS_OF_POOLS, rule::SAME_TLS
]))]
pub struct OpenStackClusterSpec {
    /// The region, for instance eu-de-1. Every pool named must be of this region.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = LABEL_VALUE),
        extend("x-kubernetes-validations" = [rule::REGION])
    )]
    pub region: String,
    /// Size, which sets replicas and resources of every service. It may be changed later; MariaDB keeps what can't
    /// be changed of it.
    pub size: Size,
    /// Hypervisor pools to consume: names, or namespace/name.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE]))]
    pub hypervisor_clusters: Vec<PoolName>,
    /// The part of each hypervisor pool, where it isn't the one that follows from the size. The site limits what a claim may
    /// ask for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(length(max = 16), extend("x-kubernetes-validations" = [rule::UNIQUE_SHARES]))]
    pub hypervisor_shares: Vec<RequestedShare>,
    /// Nova's cells beside cell1, which has the hypervisor pools that none of these names. A pool stays in the cell in which the claim
    /// first consumed it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(
        length(max = 16),
        transform = list::by_name,
        extend("x-kubernetes-validations" = [rule::ONE_CELL])
    )]
    pub cells: Vec<RequestedCell>,
    /// Storage pools to consume: names, or namespace/name. Images and ephemeral disks live in the first; each becomes a
    /// volume type.
    #[schemars(
        length(min = 1, max = 16),
        extend("x-kubernetes-validations" = [rule::UNIQUE, rule::FIRST_STORAGE_CLUSTER])
    )]
    pub storage_clusters: Vec<PoolName>,
    /// Control plane cluster. Without it `<region>-control-plane`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub control_plane_cluster: Option<PoolName>,
    /// OpenStack release, for instance 2025.2. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(length(max = 16), regex(pattern = r"^20[0-9]{2}\.[12]$"))]
    pub open_stack_release: Option<String>,
    /// OpenStack services to run.
    #[serde(default)]
    pub services: Services,
    /// Cortex, the scheduler. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cortex: Option<Cortex>,
    /// Encryption of the API endpoints.
    #[serde(default)]
    pub tls: Tls,
    /// Networks of the control plane.
    #[serde(default)]
    pub network: Network,
    /// Storage of the control plane.
    #[serde(default)]
    pub storage: Storage,
    /// What the tenant's first user may do. Without it Domain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub access: Option<TenantAccess>,
    /// What the tenant finds on the first day, beyond what the site gives every control plane.
    #[serde(skip_serializing_if = "is_default", default)]
    pub bootstrap: ClaimBootstrap,
    /// Tests that Tempest runs once after the control plane is created, and once after each change of its release or services. The
    /// claim is Ready when they pass. Without it nothing is tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verify: Option<Verify>,
}

impl Kind for OpenStackClusterSpec {
    type Status = OpenStackClusterStatus;
    const DESCRIPTION: &'static str =
        "An OpenStack control plane that consumes hypervisor and storage pools.";
    const GROUP: &'static str = "c5c3.io";
    const KIND: &'static str = "OpenStackCluster";
    const PLURAL: &'static str = "openstackclusters";
    const SHORT_NAME: &'static str = "osc";
    const COLUMNS: &'static [Column] = &[
        Column::new("Region", "string", ".spec.region"),
        Column::new("Size", "string", ".spec.size"),
        Column::new("Phase", "string", ".status.phase"),
        Column::wide("Hypervisors", "string", ".spec.hypervisorClusters"),
        Column::wide("Storage", "string", ".spec.storageClusters"),
        Column::wide("Keystone", "string", ".status.endpoints.keystone"),
        Column::wide("Credentials", "string", ".status.connection.secretName"),
    ];
    const MAX_NAME_LENGTH: u8 = 63 - NAMESPACE_PREFIX.len() as u8;
}

impl Claim for OpenStackClusterSpec {
    const COMPOSITION: &'static str = "openstack-production";
    const NAME_RULES: &'static [Rule] = &[rule::NO_DOTS, rule::NOT_RESERVED];
}

/// What a control plane's namespace is called, before the claim's name.
pub const NAMESPACE_PREFIX: &str = "openstack-";

/// Names that no claim may have, since operators are installed in the namespaces that would be named after them.
pub const RESERVED_NAMES: [&str; 2] = ["operators", "system"];

impl OpenStackClusterSpec {
    /// The control plane cluster: the one given, else the region's.
    pub fn control_plane_cluster(&self) -> Result<PoolName, PoolNameError> {
        match &self.control_plane_cluster {
            Some(cluster) => Ok(cluster.clone()),
            None => format!("{}-control-plane", self.region).parse(),
        }
    }
}

/// Size of a control plane. What each means is in the Composition's input.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// For tests and small teams: one replica, no failover.
    Small,
    /// For a department: survives the loss of a node.
    Medium,
    /// For production.
    Large,
    /// For the largest production.
    Xlarge,
}

/// OpenStack services to run. Keystone and Placement always do.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Services {
    /// Compute.
    #[educe(Default = true)]
    pub nova: bool,
    /// Networks.
    #[educe(Default = true)]
    pub neutron: bool,
    /// Volumes.
    #[educe(Default = true)]
    pub cinder: bool,
    /// Images.
    #[educe(Default = true)]
    pub glance: bool,
    /// Load balancers.
    pub octavia: bool,
    /// Shared file systems. Brings a CephFS filesystem with it.
    pub manila: bool,
}

impl Services {
    /// Whether a service runs, by its name. One that claims can't disable does.
    pub fn is_enabled(&self, service: &str) -> bool {
        match service {
            "nova" => self.nova,
            "neutron" => self.neutron,
            "cinder" => self.cinder,
            "glance" => self.glance,
            "octavia" => self.octavia,
            "manila" => self.manila,
            _ => true,
        }
    }
}

/// Cortex, the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Cortex {
    /// Whether Cortex runs.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Services that Cortex schedules for.
    #[educe(Default = vec!["nova".to_owned(), "cinder".to_owned()])]
    #[schemars(length(max = 8), inner(length(min = 1, max = 63), regex(pattern = LABEL)))]
    pub pipelines: Vec<String>,
}

/// Encryption of the API endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Tls {
    /// Whether endpoints are encrypted.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Name of the ClusterIssuer of cert-manager that signs the certificates. Without it the Composition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub issuer_ref: Option<String>,
}

/// Networks of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Network {
    /// The external network that floating IPs come from, one of the site's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub external_network: Option<String>,
    /// Largest packet of the physical network, in bytes.
    #[educe(Default = 1500)]
    #[schemars(range(min = 1280, max = 9216))]
    pub mtu: u32,
}

/// What the tenant finds on the first day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimBootstrap {
    /// Sizes of servers beside the site's, where the site allows them.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 32),
        transform = list::by_name,
        extend("x-kubernetes-validations" = [FLAVORS_STAY])
    )]
    pub flavors: Vec<Flavor>,
    /// Names of images of the site, beside those that every control plane of this size has. One that is removed stays in Glance.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 32),
        inner(length(min = 1, max = 253), regex(pattern = NAME)),
        transform = list::set
    )]
    pub images: Vec<String>,
    /// A network in the tenant's first project, with a router to `network.externalNetwork`. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = [rule::FIRST_NETWORK]))]
    pub network: Option<FirstNetwork>,
    /// The most that each project may have, where it isn't what follows from the size.
    #[serde(skip_serializing_if = "is_default")]
    pub quotas: Quotas,
}
