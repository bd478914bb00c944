//! The clusters.

use k8s_openapi::api::core::v1::{
    Affinity, LocalObjectReference, PodSpec, ResourceRequirements, Toleration,
};
use serde::Serialize;

use super::ClusterTls;
use crate::{Manifest, ResourceKind, Spec};

/// A RabbitMQ cluster.
pub type RabbitmqCluster = Manifest<RabbitmqClusterSpec>;

/// The wanted RabbitMQ.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RabbitmqClusterSpec {
    /// Members.
    pub replicas: u32,
    /// The members' volumes.
    pub persistence: Persistence,
    /// CPU and memory of each member.
    pub resources: ResourceRequirements,
    /// RabbitMQ's configuration.
    pub rabbitmq: Configuration,
    /// Whether the operator enables the feature flags of a version once all members run it; since cluster-operator 2.15.
    pub auto_enable_all_feature_flags: bool,
    /// Encryption of connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ClusterTls>,
    /// Secrets with a registry's credentials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Where members run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Taints that are put up with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// What its operator merges into the objects that it creates.
    #[serde(rename = "override")]
    pub overridden: Override,
}

/// Changes of the objects that the operator creates, as strategic merge patches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// The members' StatefulSet.
    pub stateful_set: StatefulSetOverride,
}

/// Changes of the StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatefulSetOverride {
    /// Its specification.
    pub spec: StatefulSetSpecOverride,
}

/// Changes of the StatefulSet's specification.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatefulSetSpecOverride {
    /// The members' pods.
    pub template: PodTemplateOverride,
}

/// Changes of the pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PodTemplateOverride {
    /// Their specification. Containers are found by name.
    pub spec: PodSpec,
}

/// The members' volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Persistence {
    /// StorageClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// Size of each.
    pub storage: String,
}

/// RabbitMQ's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// Lines of rabbitmq.conf.
    pub additional_config: String,
}

impl Spec for RabbitmqClusterSpec {
    const KIND: ResourceKind = <super::RabbitmqCluster as Spec>::KIND;
}
