//! Kinds of prometheus-operator, monitoring.coreos.com/v1.

use c5c3_api::parts::SecretKeyRef;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::Spec;
use crate::kind::kinds;

kinds! { Spec "monitoring.coreos.com" "v1": ServiceMonitor "ServiceMonitor" "servicemonitors", }

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Name of the Service's port.
    pub port: String,
    /// `https`; otherwise `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// How its certificate is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<TlsConfig>,
}

/// How an endpoint's certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsConfig {
    /// What signs it.
    pub ca: Authority,
    /// The name that it has.
    pub server_name: String,
}

/// The certificate of an authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    /// Where it is, in the same namespace.
    pub secret: SecretKeyRef,
}
