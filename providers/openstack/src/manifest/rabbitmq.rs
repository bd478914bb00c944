//! Kinds of RabbitMQ's operators, rabbitmq.com/v1beta1 (cluster-operator 2.16, messaging-topology-operator 1.17).

use provider_composer::{Key, ObservedState, ResourceKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mariadb::Named;
use super::{Kind, Manifest};

const fn kind(kind: &'static str, plural: &'static str) -> ResourceKind {
    ResourceKind::namespaced("rabbitmq.com", "v1beta1", kind, plural)
}

/// A RabbitMQ cluster, with the fields that its clients depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RabbitmqCluster {
    /// Encryption of connections.
    #[serde(default)]
    pub tls: ClusterTls,
}

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

impl Kind for RabbitmqCluster {
    const KIND: ResourceKind = kind("RabbitmqCluster", "rabbitmqclusters");
}

/// A virtual host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vhost {
    /// Its name in RabbitMQ.
    pub name: String,
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for Vhost {
    const KIND: ResourceKind = kind("Vhost", "vhosts");
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The Secret with `username` and `password`. It is read once, when the user is created.
    pub import_credentials_secret: Named,
    /// The RabbitMQ cluster.
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for User {
    const KIND: ResourceKind = kind("User", "users");
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
    pub rabbitmq_cluster_reference: Named,
}

impl Kind for Permission {
    const KIND: ResourceKind = kind("Permission", "permissions");
}

/// The user that a Permission is of, whoever wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Grantee {
    user: Option<String>,
    user_reference: Option<Named>,
}

impl Kind for Grantee {
    const KIND: ResourceKind = Permission::KIND;
}

impl Grantee {
    /// The user's name in RabbitMQ; none while the User that the Permission refers to isn't created there.
    ///
    /// # Errors
    /// The User can't be read; the message says why.
    pub fn name(
        self,
        namespace: &str,
        observed: &ObservedState<'_>,
    ) -> Result<Option<String>, String> {
        let Some(reference) = self.user_reference else {
            return Ok(self.user);
        };
        let user = observed.object(&Key::of::<Manifest<User>>(namespace, &reference.name));
        Ok(user.known()?.and_then(|user| {
            let name = user.pointer("/status/username").and_then(Value::as_str);
            name.map(str::to_owned)
        }))
    }
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
