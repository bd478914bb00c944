//! Kinds of prometheus-operator, monitoring.coreos.com/v1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;

/// Where Prometheus finds the metrics of what is behind Services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitor {
    /// Label of a Service whose value becomes the label `job` of its metrics.
    pub job_label: String,
    /// The Services, in the same namespace.
    pub selector: LabelSelector,
    /// Where their metrics are.
    pub endpoints: Vec<Endpoint>,
}

/// Where metrics are, under the path `/metrics`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Name of the Service's port.
    pub port: String,
}

impl Kind for ServiceMonitor {
    const KIND: ResourceKind = ResourceKind::namespaced(
        "monitoring.coreos.com",
        "v1",
        "ServiceMonitor",
        "servicemonitors",
    );
}
