//! What a platform team decides of clusters: pools of hypervisors and storage, and those of control planes.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use c5c3_api::hypervisor::AgentImages;
use c5c3_api::parts::Resources;
use c5c3_kinds::gardener::{MachineImage, Maintenance, Networking, UpdateStrategy, Volume};
use educe::Educe;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{management, pool_namespace};
use crate::template::Template;

/// Input of the three cluster recipes, `kind: ClusterPresets`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPresets {
    /// `c5c3.io/v1alpha1`.
    pub api_version: String,
    /// `ClusterPresets`.
    pub kind: String,
    /// Namespace of pools that a claim names without one.
    #[serde(default = "pool_namespace")]
    pub pool_namespace: String,
    /// Version of Kubernetes for claims that name none.
    pub kubernetes_version: String,
    /// Gardener, and what it is told.
    pub gardener: GardenerPreset,
    /// How clusters are reached.
    #[serde(default)]
    pub access: AccessPreset,
    /// Ceph, for storage pools.
    pub ceph: Option<CephPreset>,
    /// Images of the agents on hypervisors.
    #[serde(default)]
    pub agent_images: AgentImages,
}

/// Gardener, and what it is told.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GardenerPreset {
    /// The provider configuration that reaches Gardener's API.
    #[serde(default = "gardener")]
    pub provider_config: String,
    /// Gardener's project; its namespace is `garden-<project>`.
    pub project: String,
    /// CloudProfile of the machines.
    pub cloud_profile: String,
    /// CredentialsBinding with the infrastructure's credentials.
    pub credentials_binding: Option<String>,
    /// SecretBinding with the infrastructure's credentials, for clusters before Kubernetes 1.34 without a CredentialsBinding.
    pub secret_binding: Option<String>,
    /// Gardener's extension for the infrastructure.
    pub provider: String,
    /// Operating system of the machines. Pools on bare metal need its version too.
    pub machine_image: Option<MachineImage>,
    /// How machines are updated. Without it pools on bare metal are updated in place, machine by machine as an operator
    /// selects them, and control plane clusters are replaced one after the other.
    pub update_strategy: Option<UpdateStrategy>,
    /// Zones of each region: what the label `availability-zone` calls a zone, and what the infrastructure calls it.
    pub zones: BTreeMap<String, BTreeMap<String, String>>,
    /// Address ranges for claims that name none.
    pub networking: Networking,
    /// Length of the prefix of one cluster's nodes. Each cluster gets a free block of `networking.nodes` of this length;
    /// without it all of that range.
    pub node_block: Option<u8>,
    /// When Gardener may change clusters.
    pub maintenance: Maintenance,
    /// What the extension takes for the infrastructure. `{nodes}` stands for the cluster's range of node addresses.
    pub infrastructure_config: Option<Template>,
    /// What the extension takes for a group of machines. `{machinePool}` stands for the claim's `ironcore.machinePool`,
    /// `{zone}` for the infrastructure's zone; pools on bare metal need both.
    pub worker_config: Option<Template>,
    /// System disk of the machines, where the claim doesn't say its size.
    pub volume: Option<Volume>,
    /// What the extension takes for the cluster's control plane; placeholders as in `infrastructureConfig`.
    pub control_plane_config: Option<Template>,
    /// Machines of a hypervisor pool for everything but its agents, so that no program with rights over the pool runs beside the
    /// servers of tenants. Without them everything runs on the hypervisors.
    pub system_machines: Option<SystemMachines>,
    /// How many machines beyond the wanted ones a control plane cluster may grow to.
    #[serde(default = "headroom")]
    pub headroom: u32,
}

/// Machines of a hypervisor pool for everything but its agents.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemMachines {
    /// Machine type in the CloudProfile, or class of bare metal.
    pub machine_type: String,
    /// What `{machinePool}` in `workerConfig` stands for.
    pub machine_pool: Option<String>,
    /// Fewest, over all zones.
    pub minimum: NonZeroU32,
    /// Most, over all zones.
    pub maximum: NonZeroU32,
}

/// How clusters are reached.
#[derive(Clone, Debug, Educe, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessPreset {
    /// Namespace of the `<cluster>-kubeconfig` Secrets.
    #[educe(Default = "crossplane-system")]
    pub kubeconfig_namespace: String,
    /// The provider configuration that reaches the management cluster itself; Crossplane 2.x only.
    #[educe(Default = management())]
    pub management_provider_config: String,
}

/// Ceph in storage pools.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CephPreset {
    /// Image of Ceph.
    pub image: String,
    /// StorageClass of the nodes' local disks.
    pub storage_class: String,
    /// Size of a disk, in GiB, for claims without a target capacity.
    pub disk_gib: u64,
    /// Requests and limits of Ceph's daemons: `mon`, `mgr`, `osd` and what else Rook's `resources` has.
    #[serde(default)]
    pub resources: BTreeMap<String, Resources>,
}

fn gardener() -> String {
    "gardener".to_owned()
}

fn headroom() -> u32 {
    5
}
