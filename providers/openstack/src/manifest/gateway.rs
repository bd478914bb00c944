//! Kinds of the Gateway API, gateway.networking.k8s.io/v1 (1.4 or newer).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use provider_composer::{Resource, ResourceKind};
use serde::{Deserialize, Serialize};

use super::Kind;

const fn kind(kind: &'static str, plural: &'static str) -> ResourceKind {
    ResourceKind::namespaced("gateway.networking.k8s.io", "v1", kind, plural)
}

/// How requests for a name come to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRoute {
    /// The Gateways that they come through.
    pub parent_refs: Vec<c5c3_api::parts::Gateway>,
    /// The names.
    pub hostnames: Vec<String>,
    /// Where they go.
    pub rules: Vec<Rule>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Services that share them.
    pub backend_refs: Vec<Backend>,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backend {
    /// The Service.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Kind for HttpRoute {
    const KIND: ResourceKind = kind("HTTPRoute", "httproutes");
}

/// What Gateways say of a route.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Routed {
    /// It.
    pub status: RouteStatus,
}

/// What Gateways say of a route.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RouteStatus {
    /// Each of them.
    pub parents: Vec<Parent>,
}

/// What a Gateway says of a route.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Parent {
    /// Its words.
    pub conditions: Vec<Condition>,
}

impl Resource for Routed {
    const KIND: ResourceKind = HttpRoute::KIND;
}

/// How Gateways speak TLS to a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendTlsPolicy {
    /// The Service.
    pub target_refs: Vec<Target>,
    /// What its certificate must be.
    pub validation: Validation,
}

/// An object in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Group of its kind; none is Kubernetes' own.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What a certificate must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// The name that it is for.
    pub hostname: String,
    /// ConfigMaps with certificates of its issuer under `ca.crt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_certificate_refs: Vec<Target>,
    /// `System`: one of the issuers that the Gateway trusts by itself.
    #[serde(
        rename = "wellKnownCACertificates",
        skip_serializing_if = "Option::is_none"
    )]
    pub well_known: Option<String>,
}

impl Kind for BackendTlsPolicy {
    const KIND: ResourceKind = kind("BackendTLSPolicy", "backendtlspolicies");
}
