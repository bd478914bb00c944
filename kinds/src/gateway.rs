//! Kinds of the Gateway API, gateway.networking.k8s.io/v1 (1.4 or newer).

use c5c3_api::Condition;
use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{Resource, ResourceKind, Spec};

kinds! { Resource "gateway.networking.k8s.io" "v1": Gateway "Gateway" "gateways", }
kinds! { Spec "gateway.networking.k8s.io" "v1":
    HttpRoute "HTTPRoute" "httproutes",
    BackendTlsPolicy "BackendTLSPolicy" "backendtlspolicies",
}

/// A Gateway, of which only what tells whether it serves is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Gateway {
    /// What it is to serve.
    pub spec: GatewaySpec,
    /// What it serves.
    pub status: GatewayStatus,
}

/// What a Gateway is to serve.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GatewaySpec {
    /// Its listeners.
    pub listeners: Vec<Listener>,
}

/// A listener of a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Listener {
    /// Its name.
    pub name: String,
    /// `HTTPS`, `HTTP`, or another one.
    pub protocol: String,
    /// The host name that it takes, for instance `*.example.com`. Without it, every one.
    pub hostname: Option<String>,
}

/// The status of a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GatewayStatus {
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// The status of its listeners.
    pub listeners: Vec<ListenerStatus>,
}

/// The status of a listener.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ListenerStatus {
    /// The listener's name.
    pub name: String,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// Routes requests for host names to Services.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRoute {
    /// The Gateways.
    pub parent_refs: Vec<c5c3_api::parts::Gateway>,
    /// The host names.
    pub hostnames: Vec<String>,
    /// The backends.
    pub rules: Vec<Rule>,
}

/// The backends of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The Services that requests are distributed to.
    pub backend_refs: Vec<Backend>,
    /// How long requests may take. Without it the Gateway decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
}

/// How long requests may take. In the standard channel since Gateway API 1.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// From the request's first byte to the response's last; `0s` is any time.
    pub request: String,
}

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backend {
    /// The Service.
    pub name: String,
    /// The port.
    pub port: u16,
}

/// The status of an HTTPRoute, read from the object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Routed {
    /// The status.
    pub status: RouteStatus,
}

/// The status of an HTTPRoute.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RouteStatus {
    /// The status of the route at each Gateway.
    pub parents: Vec<Parent>,
}

/// The status of a route at a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Parent {
    /// The Gateway, as the route names it.
    pub parent_ref: c5c3_api::parts::Gateway,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

impl Resource for Routed {
    const KIND: ResourceKind = HttpRoute::KIND;
}

/// Makes Gateways connect to a Service with TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendTlsPolicy {
    /// The Service.
    pub target_refs: Vec<Target>,
    /// The validation of its certificate.
    pub validation: Validation,
}

/// An object in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Group of its kind; empty for the core group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The validation of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// The host name that it must be valid for.
    pub hostname: String,
    /// ConfigMaps with CA certificates under `ca.crt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_certificate_refs: Vec<Target>,
    /// `System`: the CA certificates that the Gateway trusts by default.
    #[serde(
        rename = "wellKnownCACertificates",
        skip_serializing_if = "Option::is_none"
    )]
    pub well_known: Option<String>,
}
