//! The servers and their backups.

use std::collections::BTreeMap;

use c5c3_api::parts::{NamedRef, SecretKeyRef};
use k8s_openapi::api::core::v1::{
    LocalObjectReference, PodSecurityContext, ResourceRequirements, SecurityContext, Toleration,
    TopologySpreadConstraint,
};
use serde::Serialize;

use super::Tls;
use crate::kind::kinds;
use crate::{Manifest, ResourceKind, Spec};

kinds! { Spec "k8s.mariadb.com" "v1alpha1": BackupSpec "Backup" "backups", }

/// A MariaDB server, or a Galera cluster of them. Its condition Ready says nothing of a generation.
pub type MariaDb = Manifest<MariaDbSpec>;

/// The wanted MariaDB.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MariaDbSpec {
    /// Members.
    pub replicas: u32,
    /// The password of root. It can't be changed.
    pub root_password_secret_key_ref: PasswordRef,
    /// The members' volumes.
    pub storage: Storage,
    /// Replication between the members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub galera: Option<Galera>,
    /// MaxScale before the members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scale: Option<MaxScale>,
    /// Encryption. Without it the operator switches it on.
    pub tls: Tls,
    /// An exporter, and a ServiceMonitor for it.
    pub metrics: Metrics,
    /// MariaDB's configuration.
    pub my_cnf: String,
    /// When a member that doesn't answer is restarted.
    pub liveness_probe: Probe,
    /// When a member that has never answered since its start is.
    pub startup_probe: Probe,
    /// The members' pods.
    #[serde(flatten)]
    pub pods: Pods,
    /// How members are spread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// When a probe of the operator's has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// The time for an answer.
    pub timeout_seconds: u32,
    /// The time between two attempts.
    pub period_seconds: u32,
    /// How many attempts fail in a row.
    pub failure_threshold: u32,
}

/// Pods of MariaDB, and of the Jobs that connect to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pods {
    /// CPU and memory of each container.
    pub resources: ResourceRequirements,
    /// What a container may do.
    pub security_context: SecurityContext,
    /// What a pod may do.
    pub pod_security_context: PodSecurityContext,
    /// Secrets with a registry's credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that are put up with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// PriorityClass of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
}

/// Where a password is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PasswordRef {
    /// The Secret.
    pub name: String,
    /// The key in it.
    pub key: String,
    /// Whether the operator makes one where there is none.
    pub generate: bool,
}

/// The members' volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Size of each.
    pub size: String,
    /// StorageClass; it can't be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
}

/// Replication between the members.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Galera {
    /// Whether they replicate.
    pub enabled: bool,
    /// The container beside each member.
    pub agent: Helper,
    /// The Job that initializes the first member.
    pub init_job: Job,
    /// What starts the members again when none serves.
    pub recovery: Recovery,
}

/// What starts a Galera cluster again when no member serves: from the one that has committed most.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// Whether that is done.
    pub enabled: bool,
    /// The Jobs that read what each member has committed.
    pub job: Job,
    /// How long a member may take to join, for instance 2h.
    pub pod_sync_timeout: String,
    /// How long all may take together.
    pub cluster_bootstrap_timeout: String,
}

/// A Job with the programs and the configuration of a member.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// CPU and memory.
    pub resources: ResourceRequirements,
}

/// A container that the operator adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Helper {
    /// CPU and memory.
    pub resources: ResourceRequirements,
    /// What it may do.
    pub security_context: SecurityContext,
}

/// An exporter, and a ServiceMonitor for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Whether there is one.
    pub enabled: bool,
    /// Its pod.
    pub exporter: Exporter,
}

/// The exporter's pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exporter {
    /// Its container.
    #[serde(flatten)]
    pub container: Helper,
    /// What the pod may do.
    pub pod_security_context: PodSecurityContext,
}

/// MaxScale before the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MaxScale {
    /// Whether there is one.
    pub enabled: bool,
    /// Replicas.
    pub replicas: u32,
}

impl Spec for MariaDbSpec {
    const KIND: ResourceKind = <super::MariaDb as Spec>::KIND;
}

/// Backups of a MariaDB by mariadb-dump. Storage and retention can't be changed.
pub type Backup = Manifest<BackupSpec>;

/// The wanted backups.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupSpec {
    /// The MariaDB.
    pub maria_db_ref: NamedRef,
    /// When they are written.
    pub schedule: CronSchedule,
    /// Time zone of the schedule. Without it that of the cluster's controller manager.
    pub time_zone: String,
    /// Age at which they are deleted, for instance 24h.
    pub max_retention: String,
    /// How they are compressed.
    pub compression: String,
    /// Whether they leave out users and their passwords, which the operator creates from their own objects.
    pub ignore_global_priv: bool,
    /// Where they are kept.
    pub storage: BackupStorage,
    /// Whether the kubelet starts a container again that failed.
    pub restart_policy: String,
    /// Labels of the pods.
    pub pod_metadata: PodMetadata,
    /// The pods.
    #[serde(flatten)]
    pub pods: Pods,
}

/// When backups are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CronSchedule {
    /// As cron has it.
    pub cron: String,
}

/// Labels of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodMetadata {
    /// The labels.
    pub labels: BTreeMap<String, String>,
}

/// Where backups are kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BackupStorage {
    /// A volume.
    Volume(BackupVolume),
    /// An object store.
    S3(ObjectStore),
}

/// A volume with backups.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupVolume {
    /// Its claim, which the operator neither creates nor owns.
    pub persistent_volume_claim: Claim,
}

/// The claim of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Its name.
    pub claim_name: String,
}

/// A folder in a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStore {
    /// The bucket.
    pub bucket: String,
    /// Host and port.
    pub endpoint: String,
    /// The folder.
    pub prefix: String,
    /// The key's name.
    pub access_key_id_secret_key_ref: SecretKeyRef,
    /// The key.
    pub secret_access_key_secret_key_ref: SecretKeyRef,
    /// Encryption of connections.
    pub tls: ObjectStoreTls,
}

/// Encryption of connections to an object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStoreTls {
    /// Whether they are encrypted.
    pub enabled: bool,
    /// Certificates that the object store's is signed by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_secret_key_ref: Option<SecretKeyRef>,
}
