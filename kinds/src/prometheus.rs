//! Kinds of prometheus-operator, monitoring.coreos.com/v1.

use std::collections::BTreeMap;

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

/// An endpoint to scrape.
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
    /// The path, `/metrics` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The parameters of the query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Vec<String>>,
    /// How the labels of the target are changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relabelings: Vec<Relabeling>,
    /// Which samples are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metric_relabelings: Vec<Relabeling>,
}

/// A step of a relabeling (<https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config>).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relabeling {
    /// What it does, `replace` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The labels whose values, joined by semicolons, are matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_labels: Vec<String>,
    /// The regular expression that all of them must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// The label that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_label: Option<String>,
    /// Its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
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
