//! Reaching a service from outside its cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{
    pattern::{LABEL, NAME},
    rule::Rule,
};

const ONE_WAY: Rule = Rule::new(
    "has(self.gateway) != has(self.ingress)",
    "expose needs one way in: give gateway for an HTTPRoute, or ingress for an Ingress",
);

/// How an API is reached from outside its cluster. Without it, only from within.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [ONE_WAY]))]
pub struct Exposure {
    /// The name that clients outside know, for instance `identity.example.com`.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub hostname: String,
    /// The Gateway that an HTTPRoute is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
    /// What an Ingress says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// How long requests may take at a Gateway, by default any time. It has no effect on an Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<RequestTimeout>,
}

impl Exposure {
    /// URL of the API for clients outside, without a path.
    pub fn url(&self) -> String {
        format!("https://{}", self.hostname)
    }
}

/// Who limits how long requests may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RequestTimeout {
    /// The API alone: the HTTPRoute has `timeouts`, which are off.
    #[default]
    Unlimited,
    /// The Gateway: the HTTPRoute has no `timeouts`. Some Gateways, for instance GKE's, refuse a route that has them.
    Gateway,
}

/// A Gateway (gateway.networking.k8s.io/v1), whose listener ends the encryption of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Its namespace. Without it the service's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub namespace: Option<String>,
    /// Its listener. Without it every one that takes the hostname.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub section_name: Option<String>,
}

/// An Ingress (networking.k8s.io/v1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ingress {
    /// Its IngressClass. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub class_name: Option<String>,
    /// Secret of the type kubernetes.io/tls for the hostname, in the same namespace. Without it the controller's own
    /// certificate counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub tls_secret_name: Option<String>,
    /// What the controller is told, for instance that it must speak TLS to the service.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = annotation()))]
    pub annotations: BTreeMap<String, String>,
}

/// The value of an annotation.
pub(crate) fn annotation() -> serde_json::Value {
    serde_json::json!({ "type": "string", "maxLength": 4096 })
}
