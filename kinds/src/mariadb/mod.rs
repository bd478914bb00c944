//! Kinds of mariadb-operator, k8s.mariadb.com/v1alpha1 (<https://github.com/mariadb-operator/mariadb-operator>, 0.38.1): what the clients of a
//! server read and compose.

pub mod server;

use c5c3_api::parts::{NamedRef, SecretKeyRef};
use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{ResourceKind, Spec};

kinds! { Spec "k8s.mariadb.com" "v1alpha1":
    MariaDb "MariaDB" "mariadbs",
    Database "Database" "databases",
    User "User" "users",
    Grant "Grant" "grants",
}

/// Label of a Secret whose changes mariadb-operator follows.
pub const WATCH: (&str, &str) = ("k8s.mariadb.com/watch", "");

/// A database server, with the fields that its address depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MariaDb {
    /// Port; the default is 3306.
    pub port: Option<u16>,
    /// Synchronous replication.
    pub galera: Enabled,
    /// Encryption of connections.
    pub tls: Tls,
    /// A MaxScale that this object creates.
    pub max_scale: Enabled,
    /// A MaxScale that another object creates.
    pub max_scale_ref: Option<NamedRef>,
}

/// Encryption of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// Whether clients may encrypt theirs.
    pub enabled: bool,
    /// Whether all must. MaxScale's listeners have certificates then.
    pub required: bool,
}

/// A feature that can be enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Enabled {
    /// Whether it is enabled.
    pub enabled: bool,
}

/// A database in a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Database {
    /// The server.
    pub maria_db_ref: NamedRef,
    /// Name in SQL.
    pub name: String,
    /// Character set.
    pub character_set: String,
    /// Collation.
    pub collate: String,
    /// What happens to it when this object is deleted: `Skip` keeps it.
    pub cleanup_policy: String,
}

/// Where the database of a Database is, whoever changed the object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    /// The server.
    pub maria_db_ref: LocalObjectReference,
    /// Name in SQL. The default is the name of the object.
    pub name: Option<String>,
}

impl Spec for Place {
    const KIND: ResourceKind = Database::KIND;
}

/// A user of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The server.
    pub maria_db_ref: NamedRef,
    /// Name in SQL.
    pub name: String,
    /// Hosts that it may connect from.
    pub host: String,
    /// Its password.
    pub password_secret_key_ref: SecretKeyRef,
    /// Maximum number of connections.
    pub max_user_connections: u32,
    /// What happens to it when this object is deleted.
    pub cleanup_policy: String,
}

/// The account that a User is of, whoever wrote it. mariadb-operator itself writes Users without a password or a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Account {
    /// Name in SQL. The default is the name of the object.
    pub name: Option<String>,
}

impl Spec for Account {
    const KIND: ResourceKind = User::KIND;
}

/// The privileges of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The server.
    pub maria_db_ref: NamedRef,
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
