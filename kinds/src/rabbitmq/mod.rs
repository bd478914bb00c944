//! Kinds of RabbitMQ's operators, rabbitmq.com/v1beta1 (<https://github.com/rabbitmq/cluster-operator>, 2.16.0, and
//! messaging-topology-operator 1.20.0): what the clients of a cluster read and compose.

pub mod cluster;

use c5c3_api::parts::NamedRef;
use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{ResourceKind, Spec};

kinds! { Spec "rabbitmq.com" "v1beta1":
    RabbitmqCluster "RabbitmqCluster" "rabbitmqclusters",
    Vhost "Vhost" "vhosts",
    User "User" "users",
    Permission "Permission" "permissions",
}

/// A RabbitMQ cluster, with the fields that its clients depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RabbitmqCluster {
    /// Encryption of connections.
    #[serde(default)]
    pub tls: ClusterTls,
}

/// Label of a Secret whose changes messaging-topology-operator follows. Since 1.20 it reads no other one
/// (<https://github.com/rabbitmq/messaging-topology-operator/blob/v1.20.0/api/v1beta1/labels.go>).
pub const WATCH: (&str, &str) = ("rabbitmq.com/topology-operator", "true");

/// The conditions of a RabbitMQ cluster that serves. `ReconcileSuccess` is also False while its operator tries again.
pub const READY: [&str; 2] = ["AllReplicasReady", "ClusterAvailable"];

/// Encryption of connections to a RabbitMQ cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTls {
    /// Secret with certificate and key. Without it, connections aren't encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// A virtual host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vhost {
    /// Its name in RabbitMQ.
    pub name: String,
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: NamedRef,
}

/// Where the virtual host of a Vhost is, whoever changed the object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: LocalObjectReference,
    /// Its name in RabbitMQ.
    pub name: Option<String>,
}

impl Spec for Place {
    const KIND: ResourceKind = Vhost::KIND;
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The Secret with `username` and `password`. It is read once, when the user is created.
    pub import_credentials_secret: NamedRef,
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: NamedRef,
}

/// The permissions of a user in a virtual host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permission {
    /// The virtual host's name in RabbitMQ.
    pub vhost: String,
    /// Its name in RabbitMQ.
    pub user: String,
    /// The permissions.
    pub permissions: Permissions,
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: NamedRef,
}

/// The user that a Permission is of, whoever wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Grantee {
    /// Its name in RabbitMQ.
    pub user: Option<String>,
    /// The User, where the Permission names that instead.
    pub user_reference: Option<NamedRef>,
}

impl Spec for Grantee {
    const KIND: ResourceKind = Permission::KIND;
}

/// Permissions on queues and exchanges, as regular expressions of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// Queues and exchanges that may be declared and deleted.
    pub configure: String,
    /// Queues and exchanges that may be written to.
    pub write: String,
    /// Queues and exchanges that may be read.
    pub read: String,
}
