//! Gardener's Shoot (core.gardener.cloud/v1beta1), as of Gardener 1.120.

use std::collections::BTreeMap;

use c5c3_api::{Cidr, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Spec;
use crate::kind::kinds;

kinds! { Spec "core.gardener.cloud" "v1beta1": Shoot "Shoot" "shoots", }

/// Spec of a Shoot: a Kubernetes cluster that Gardener runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shoot {
    /// Where machine types and images are listed.
    pub cloud_profile: CloudProfile,
    /// Credentials of the infrastructure.
    #[serde(flatten)]
    pub credentials: Credentials,
    /// Region of the infrastructure.
    pub region: String,
    /// What the cluster is for.
    pub purpose: &'static str,
    /// Version of Kubernetes.
    pub kubernetes: Kubernetes,
    /// Address ranges.
    pub networking: Networking,
    /// Infrastructure and machines.
    pub provider: Provider,
    /// When Gardener may change the cluster.
    pub maintenance: Maintenance,
    /// How the cluster's own control plane survives failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ShootControlPlane>,
}

/// Credentials of the infrastructure: exactly one of two fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Credentials {
    /// A CredentialsBinding.
    CredentialsBindingName(String),
    /// A SecretBinding. Gardener refuses it for Kubernetes 1.34 and newer.
    SecretBindingName(String),
}

/// A CloudProfile by name.
#[derive(Clone, Debug, Serialize)]
pub struct CloudProfile {
    /// Always `CloudProfile`.
    pub kind: &'static str,
    /// Name.
    pub name: String,
}

/// Version of Kubernetes.
#[derive(Clone, Debug, Serialize)]
pub struct Kubernetes {
    /// Minor or patch version.
    pub version: String,
}

/// Address ranges of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Networking {
    /// Network plugin.
    #[serde(rename = "type")]
    pub type_: String,
    /// Range of the nodes.
    pub nodes: Cidr,
    /// Range of the pods.
    pub pods: Cidr,
    /// Range of the services.
    pub services: Cidr,
}

impl Networking {
    /// The ranges alone.
    pub fn ranges(&self) -> Ranges {
        Ranges {
            nodes: Some(self.nodes),
            pods: Some(self.pods),
            services: Some(self.services),
        }
    }
}

/// Infrastructure and machines.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// Name of Gardener's extension.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the extension takes for the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_config: Option<Value>,
    /// What the extension takes for the cluster's control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<Value>,
    /// Groups of machines.
    pub workers: Vec<Worker>,
}

/// A group of equal machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Name, of 15 characters at most.
    pub name: String,
    /// What the machines are.
    pub machine: Machine,
    /// How machines get a new operating system or minor version of Kubernetes.
    pub update_strategy: UpdateStrategy,
    /// Fewest machines.
    pub minimum: u32,
    /// Most machines.
    pub maximum: u32,
    /// Machines added at once during an update. Where a person selects the machines, Gardener 1.125 and newer refuses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<u32>,
    /// Machines missing at once during an update; refused where `max_surge` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<u32>,
    /// The system disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// Zones the machines are spread over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What keeps pods away from the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// How Gardener watches over the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_controller_manager: Option<MachineControllerManager>,
    /// Whether Gardener's system components run there. Gardener wants one group at least in which they do, which is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_components: Option<SystemComponents>,
    /// What the extension takes for these machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<Value>,
}

/// How Gardener watches over a group of machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineControllerManager {
    /// After how long a machine is deleted though pods of its node can't be evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_drain_timeout: Option<String>,
    /// After how long a machine whose node isn't ready is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_health_timeout: Option<String>,
    /// How often the eviction of a pod is tried before the pod is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<u32>,
}

/// Keeps pods away that don't tolerate it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// What happens to pods that don't tolerate it.
    pub effect: String,
}

impl Taint {
    /// Pods that don't tolerate it aren't scheduled; those that run stay.
    pub fn no_schedule(key: &str) -> Self {
        Taint {
            key: key.to_owned(),
            effect: "NoSchedule".to_owned(),
        }
    }
}

/// Whether Gardener's system components run on a group of machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SystemComponents {
    /// Whether they do.
    pub allow: bool,
}

/// How machines get a new operating system or minor version of Kubernetes (Gardener's GEP-31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdateStrategy {
    /// Gardener replaces each machine by a new one.
    #[default]
    AutoRollingUpdate,
    /// Gardener drains and updates one machine after the other, and keeps them.
    AutoInPlaceUpdate,
    /// Gardener drains and updates the machines that a person selects, and keeps them.
    ManualInPlaceUpdate,
}

/// Type and image of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Machine type, or class of bare metal.
    #[serde(rename = "type")]
    pub type_: String,
    /// Operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<MachineImage>,
}

/// Operating system of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineImage {
    /// Name in the CloudProfile.
    pub name: String,
    /// Version in the CloudProfile. Without it Gardener takes the newest when the cluster is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Volume {
    /// Type of volume in the CloudProfile.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Size, as a Kubernetes quantity.
    pub size: String,
}

/// When and what Gardener may change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Maintenance {
    /// What Gardener updates by itself.
    pub auto_update: AutoUpdate,
    /// When.
    pub time_window: TimeWindow,
}

/// What Gardener updates by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoUpdate {
    /// Patch versions of Kubernetes.
    pub kubernetes_version: bool,
    /// Operating system images.
    pub machine_image_version: bool,
}

/// A daily window, as Gardener writes times: `220000+0100`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWindow {
    /// Begin.
    pub begin: String,
    /// End.
    pub end: String,
}

/// How the cluster's own control plane survives failures.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootControlPlane {
    /// High availability.
    pub high_availability: HighAvailability,
}

/// High availability of a cluster's control plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HighAvailability {
    /// What may fail.
    pub failure_tolerance: FailureTolerance,
}

impl HighAvailability {
    /// A control plane that survives the failure of a zone.
    pub fn tolerates_zone_failure() -> Self {
        HighAvailability {
            failure_tolerance: FailureTolerance {
                type_: "zone".to_owned(),
            },
        }
    }
}

/// What may fail.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureTolerance {
    /// `node` or `zone`. Gardener refuses to change it.
    #[serde(rename = "type")]
    pub type_: String,
}

/// What is read of a Shoot's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShootStatus {
    /// What Gardener did last.
    pub last_operation: Option<LastOperation>,
    /// Why it failed. While Gardener tries again, an error stays until its part of the operation succeeds.
    pub last_errors: Vec<LastError>,
    /// Generation of the spec that Gardener has seen.
    pub observed_generation: Option<i64>,
    /// Whether neither its API server nor its machines run.
    pub hibernated: bool,
    /// Updates that leave the machines where they are.
    pub in_place_updates: InPlaceUpdates,
}

/// Updates that leave the machines where they are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlaceUpdates {
    /// Those that not every machine has had yet.
    pub pending_worker_updates: PendingWorkerUpdates,
}

/// Groups of machines, not all of which have been updated yet, by who selects the next one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PendingWorkerUpdates {
    /// Gardener.
    pub auto_in_place_update: Vec<String>,
    /// A person.
    pub manual_in_place_update: Vec<String>,
}

/// What Gardener did last.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastOperation {
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
    pub state: String,
    /// A sentence.
    pub description: String,
    /// Percent.
    pub progress: u32,
}

/// Why an operation failed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct LastError {
    /// A sentence.
    pub description: String,
}

impl ShootStatus {
    /// Whether the cluster has been created and isn't hibernated, whatever is being done to it now.
    pub fn is_up(&self) -> bool {
        let operation = self.last_operation.as_ref();
        let is_created = operation.is_some_and(|operation| match operation.type_.as_str() {
            "Create" | "Restore" => operation.state == "Succeeded",
            "Reconcile" => true,
            _ => false,
        });
        is_created && !self.hibernated
    }

    /// The error after which Gardener tries the operation again; none while there is none, or once Gardener gave up.
    pub fn retried_error(&self) -> Option<&str> {
        let operation = self.last_operation.as_ref()?;
        match operation.state.as_str() {
            "Error" | "Pending" | "Aborted" => Some(&operation.description),
            "Processing" => {
                let error = self.last_errors.first()?;
                Some(&error.description)
            }
            _ => None,
        }
    }

    /// Whether Gardener gave up.
    pub fn has_failed(&self) -> bool {
        self.last_operation
            .as_ref()
            .is_some_and(|operation| operation.state == "Failed")
    }
}
