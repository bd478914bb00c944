//! The message bus of a service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    host::HostPort,
    is_default,
    reference::{CredentialsRef, NamedRef},
};
use crate::rule::Rule;

pub(crate) const ONE_BUS: Rule = Rule::new(
    "!has(self.clusterRef) || !has(self.hosts)",
    "clusterRef and hosts both name the message bus: give clusterRef for one in this cluster, or hosts for any other",
);

/// Where a service's parts talk to each other.
///
/// With clusterRef the operator creates virtual host, user and permissions; with hosts it creates nothing. With neither, the
/// message bus of the same control plane is meant, unless the Secret has a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_BUS]))]
pub struct Messaging {
    /// The RabbitmqCluster, in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<NamedRef>,
    /// Members of an external RabbitMQ, each host:port.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 16))]
    pub hosts: Vec<HostPort>,
    /// RabbitMQ's virtual host. Without it the service's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub vhost: Option<String>,
    /// Secret with user and password. Without it `<service>-rabbitmq-credentials`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<CredentialsRef>,
}
