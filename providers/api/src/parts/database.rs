//! A database server, and what a service has in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    host::HOST,
    reference::{CredentialsRef, NamedRef},
};
use crate::rule::Rule;

pub(crate) const ONE_SERVER: Rule = Rule::new(
    "!has(self.clusterRef) || !has(self.host)",
    "clusterRef and host both name the database server: give clusterRef for one in this cluster, or host for any other",
);

pub(crate) const PORT_OF_HOST: Rule = Rule::new(
    "!has(self.port) || has(self.host)",
    "port stands without host: give host too, or leave port out",
);

/// Where a service keeps its data.
///
/// With clusterRef the operator creates database, user and grants; with host it creates nothing. With neither, the database
/// server of the same control plane is meant, unless the Secret has a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_SERVER, PORT_OF_HOST]))]
pub struct Database {
    /// The server.
    #[serde(flatten)]
    pub server: DatabaseServer,
    /// Name of the database. Without it the service's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), regex(pattern = NAME))]
    pub database: Option<String>,
    /// Secret with user and password. Without it `<service>-db-credentials`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<CredentialsRef>,
}

/// A database server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DatabaseServer {
    /// The database server in the same namespace, which its own operator manages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<NamedRef>,
    /// Name or address of an external database server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = HOST))]
    pub host: Option<String>,
    /// Port of an external database server. Without it the server's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
}

/// Names that need no quotes in SQL (<https://mariadb.com/kb/en/identifier-names/>), and dashes.
pub(crate) const NAME: &str = r"^[a-zA-Z0-9_][-a-zA-Z0-9_]*$";
