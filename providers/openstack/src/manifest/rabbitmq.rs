//! Kinds of RabbitMQ's operators, rabbitmq.com/v1beta1 (cluster-operator 2.16, messaging-topology-operator 1.17).

use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;
use super::mariadb::Named;

const fn kind(kind: &'static str, plural: &'static str) -> ResourceKind {
    ResourceKind::namespaced("rabbitmq.com", "v1beta1", kind, plural)
}

/// A message bus, as far as its users depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RabbitmqCluster {
    /// Encryption of connections.
    #[serde(default)]
    pub tls: ClusterTls,
}

/// Encryption of connections to a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTls {
    /// Secret with certificate and key; without one, connections aren't encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

impl Kind for RabbitmqCluster {
    const KIND: ResourceKind = kind("RabbitmqCluster", "rabbitmqclusters");
}

/// A virtual host of a bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vhost {
    /// What RabbitMQ calls it.
    pub name: String,
    /// The bus.
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for Vhost {
    const KIND: ResourceKind = kind("Vhost", "vhosts");
}

/// A user of a bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The Secret with `username` and `password`. It is looked at once, when the user is made.
    pub import_credentials_secret: Named,
    /// The bus.
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for User {
    const KIND: ResourceKind = kind("User", "users");
}

/// What a user may do in a virtual host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// What RabbitMQ calls the virtual host.
    pub vhost: String,
    /// Its name in RabbitMQ.
    pub user: String,
    /// With which queues and exchanges.
    pub permissions: Permissions,
    /// The bus.
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for Permission {
    const KIND: ResourceKind = kind("Permission", "permissions");
}

/// Names of queues and exchanges, as regular expressions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// Those that may be made and taken away.
    pub configure: String,
    /// Those that may be written to.
    pub write: String,
    /// Those that may be read.
    pub read: String,
}
