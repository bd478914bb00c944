//! Kinds of mariadb-operator, k8s.mariadb.com/v1alpha1 (version 0.38).

use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;

const fn kind(kind: &'static str, plural: &'static str) -> ResourceKind {
    ResourceKind::namespaced("k8s.mariadb.com", "v1alpha1", kind, plural)
}

/// A database server, with the fields that its address depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MariaDb {
    /// Port; the default is 3306.
    pub port: Option<u16>,
    /// Synchronous replication.
    pub galera: Enabled,
    /// Encryption of connections.
    pub tls: Enabled,
    /// A MaxScale that this object creates.
    pub max_scale: Enabled,
    /// A MaxScale that another object creates.
    pub max_scale_ref: Option<Named>,
}

/// A feature that can be enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enabled {
    /// Whether it is enabled.
    pub enabled: bool,
}

/// A reference by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Name.
    pub name: String,
}

impl Kind for MariaDb {
    const KIND: ResourceKind = kind("MariaDB", "mariadbs");
}

/// A database in a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Database {
    /// The server.
    pub maria_db_ref: Named,
    /// Name in SQL.
    pub name: String,
    /// Character set.
    pub character_set: String,
    /// Collation.
    pub collate: String,
    /// What happens to it when this object is deleted: `Skip` keeps it.
    pub cleanup_policy: String,
}

impl Kind for Database {
    const KIND: ResourceKind = kind("Database", "databases");
}

/// A user of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The server.
    pub maria_db_ref: Named,
    /// Name in SQL.
    pub name: String,
    /// Hosts that it may connect from.
    pub host: String,
    /// Its password.
    pub password_secret_key_ref: SecretKey,
    /// Maximum number of connections.
    pub max_user_connections: u32,
    /// What happens to it when this object is deleted.
    pub cleanup_policy: String,
}

impl Kind for User {
    const KIND: ResourceKind = kind("User", "users");
}

/// A value of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretKey {
    /// The Secret.
    pub name: String,
    /// The key.
    pub key: String,
}

/// The privileges of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The server.
    pub maria_db_ref: Named,
    /// The privileges.
    pub privileges: Vec<String>,
    /// The database.
    pub database: String,
    /// The tables.
    pub table: String,
    /// The user.
    pub username: String,
    /// The hosts that the user connects from.
    pub host: String,
    /// What happens to it when this object is deleted.
    pub cleanup_policy: String,
}

impl Kind for Grant {
    const KIND: ResourceKind = kind("Grant", "grants");
}
