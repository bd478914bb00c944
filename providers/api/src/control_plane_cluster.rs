//! ControlPlaneCluster: a Kubernetes cluster, made by Gardener, that runs the control planes of a region.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Consumer, Sharing,
    cidr::Ranges,
    kind::{Claim, Column, Kind},
    parts::number,
    pattern::LABEL_VALUE,
    rule::{self, Rule},
};

/// Names of machine types. Those of OpenStack are flavors, such as SCS-8V:32.
const MACHINE_TYPE: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.:+]*[A-Za-z0-9])?$";

/// The wanted cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [rule::NODE_ADDRESSES_FOR_WORKERS, rule::POD_BLOCKS_FOR_WORKERS]))]
pub struct ControlPlaneClusterSpec {
    /// Gardener's region, for instance eu-de-1.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = LABEL_VALUE),
        extend("x-kubernetes-validations" = [rule::REGION])
    )]
    pub region: String,
    /// Kubernetes version, for instance 1.35 or 1.35.2. A new cluster without it has the Composition's default. Gardener raises
    /// versions that are no longer supported, and none is lowered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(length(max = 16), regex(pattern = r"^1\.[0-9]{1,3}(\.[0-9]{1,3})?$"))]
    pub kubernetes_version: Option<String>,
    /// Number of worker nodes.
    #[serde(default = "number::<5>")]
    #[schemars(range(min = 1, max = 1000))]
    pub workers: u32,
    /// Machine type of the workers, as the region's cloud profile names it.
    #[serde(default = "default_machine_type")]
    #[schemars(length(min = 1, max = 63), regex(pattern = MACHINE_TYPE))]
    pub machine_type: String,
    /// Size of each worker's volume, for instance 200Gi.
    #[serde(default = "default_volume_size")]
    #[schemars(length(max = 16), regex(pattern = r"^[1-9][0-9]*(Mi|Gi|Ti)$"))]
    pub volume_size: String,
    /// Whether the cluster survives the loss of a zone.
    #[serde(default = "default_high_availability")]
    pub high_availability: bool,
    /// Addresses of the cluster.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [rule::RANGES, rule::DISJOINT]))]
    pub network: Ranges,
    /// Who may place control planes in the cluster.
    #[serde(default)]
    pub sharing: Sharing,
}

fn default_machine_type() -> String {
    "m5.2xlarge".to_owned()
}

fn default_volume_size() -> String {
    "200Gi".to_owned()
}

fn default_high_availability() -> bool {
    true
}

impl Kind for ControlPlaneClusterSpec {
    type Status = ControlPlaneClusterStatus;
    const DESCRIPTION: &'static str =
        "A Kubernetes cluster that runs the OpenStack control planes of a region.";
    const GROUP: &'static str = "crossplane.c5c3.io";
    const KIND: &'static str = "ControlPlaneCluster";
    const PLURAL: &'static str = "controlplaneclusters";
    const SHORT_NAME: &'static str = "cpc";
    const COLUMNS: &'static [Column] = &[
        Column::new("Region", "string", ".spec.region"),
        Column::new("Workers", "integer", ".spec.workers"),
        Column::new("Phase", "string", ".status.phase"),
        Column::wide("Kubernetes", "string", ".spec.kubernetesVersion"),
        Column::wide("Cluster", "string", ".status.clusterName"),
    ];
}

impl Claim for ControlPlaneClusterSpec {
    const COMPOSITION: &'static str = "controlplane-production";
    const NAME_RULES: &'static [Rule] = &[rule::NO_DOTS, rule::NOT_A_PROVIDER_CONFIG];
}

/// The observed cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneClusterStatus {
    /// How far the cluster has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Name of the cluster, of its Gardener Shoot and of the ProviderConfig that reaches it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Name of the Secret that holds the cluster's kubeconfig under the key `kubeconfig`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<String>,
    /// Addresses of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Ranges>,
    /// The control planes that the cluster has admitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000))]
    pub consumers: Vec<Consumer>,
}

/// How far a control plane cluster has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Gardener creates or changes it.
    Provisioning,
    /// It can carry control planes.
    Ready,
    /// Gardener gave up; its message is in the conditions.
    Failed,
}
