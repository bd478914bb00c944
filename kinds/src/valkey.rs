//! The kind of SAP's valkey-operator (<https://github.com/SAP/valkey-operator>, 0.1).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, ResourceRequirements, Toleration, TopologySpreadConstraint,
};
use serde::Serialize;

use crate::kind::kinds;
use crate::{Manifest, Spec};

kinds! { Spec "cache.cs.sap.com" "v1alpha1": ValkeySpec "Valkey" "valkeys", }

/// A Valkey cluster.
pub type Valkey = Manifest<ValkeySpec>;

/// The wanted Valkey.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValkeySpec {
    /// Members.
    pub replicas: u32,
    /// Fail-over; it can't be changed.
    pub sentinel: Enabled,
    /// Encryption, with certificates that the operator makes.
    pub tls: Enabled,
    /// An exporter.
    pub metrics: Metrics,
    /// CPU and memory of each member.
    pub resources: ResourceRequirements,
    /// Labels of the pods.
    pub pod_labels: BTreeMap<String, String>,
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Where members run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Taints that are put up with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// PriorityClass of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// How members are spread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
}

/// An exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Whether there is one.
    pub enabled: bool,
    /// A ServiceMonitor for it.
    pub monitor: Enabled,
}

/// Something that is on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Enabled {
    /// Whether it is on.
    pub enabled: bool,
}
