//! Kinds of prometheus-operator, monitoring.coreos.com/v1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;

/// Makes Prometheus scrape the pods of Services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitor {
    /// The label of a Service whose value becomes the metrics' label `job`.
    pub job_label: String,
    /// The Services, in the same namespace.
    pub selector: LabelSelector,
    /// The endpoints to scrape.
    pub endpoints: Vec<Endpoint>,
}

/// An endpoint to scrape, with the path `/metrics`.
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
