//! Kinds of mariadb-operator, k8s.mariadb.com/v1alpha1 (version 0.38).

use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;

const fn kind(kind: &'static str, plural: &'static str) -> ResourceKind {
    ResourceKind::namespaced("k8s.mariadb.com", "v1alpha1", kind, plural)
}

/// A database server, as far as its address follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MariaDb {
    /// Port, 3306 where none is given.
    pub port: Option<u16>,
    /// Synchronous replication.
    pub galera: Enabled,
    /// Encryption of connections.
    pub tls: Enabled,
    /// Proxy of its own.
    pub max_scale: Enabled,
    /// Proxy beside it.
    pub max_scale_ref: Option<Named>,
}

/// Something that may be switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enabled {
    /// Whether it is.
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
    /// What becomes of it when this object goes: `Skip` leaves it.
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
    /// Hosts that it may come from.
    pub host: String,
    /// Its password.
    pub password_secret_key_ref: SecretKey,
    /// Most connections at once.
    pub max_user_connections: u32,
    /// What becomes of it when this object goes.
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

/// What a user may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The server.
    pub maria_db_ref: Named,
    /// What it may do.
    pub privileges: Vec<String>,
    /// In which database.
    pub database: String,
    /// With which tables.
    pub table: String,
    /// Who.
    pub username: String,
    /// From which hosts.
    pub host: String,
    /// What becomes of it when this object goes.
    pub cleanup_policy: String,
}

impl Kind for Grant {
    const KIND: ResourceKind = kind("Grant", "grants");
}
