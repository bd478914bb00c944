//! Nova's databases: one for the API, one for cell0, and one for each cell.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    parts::{
        CredentialsRef, DatabaseServer,
        database::{NAME, ONE_SERVER, PORT_OF_HOST},
    },
    rule::Rule,
};

const THREE_NAMES: Rule = Rule::new(
    "!has(self.database) || !has(self.apiDatabase) || !has(self.cellDatabase) || (self.database != self.apiDatabase && \
     self.database != self.cellDatabase && self.apiDatabase != self.cellDatabase)",
    "two of Nova's databases have one name: give database, apiDatabase and cellDatabase a name each",
);

/// Where Nova keeps its data.
///
/// With clusterRef the operator creates databases, user and grants; with host it creates nothing. With neither, the database
/// server of the same control plane is meant, unless the Secret has a host.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_SERVER, PORT_OF_HOST, THREE_NAMES]))]
pub struct NovaDatabase {
    /// The server.
    #[serde(flatten)]
    pub server: DatabaseServer,
    /// Name of the database of the first cell.
    #[educe(Default = "nova")]
    #[schemars(length(min = 1, max = 64), regex(pattern = NAME))]
    pub database: String,
    /// Name of the API's database.
    #[educe(Default = "nova_api")]
    #[schemars(length(min = 1, max = 64), regex(pattern = NAME))]
    pub api_database: String,
    /// Name of the database of cell0, where servers are that found no host.
    #[educe(Default = "nova_cell0")]
    #[schemars(length(min = 1, max = 64), regex(pattern = NAME))]
    pub cell_database: String,
    /// Secret with user and password. Without it, or with its usual name `nova-db-credentials`, it is for the first cell's database
    /// alone: the API's is `nova-api-db-credentials`, cell0's `nova-cell0-db-credentials`. A Secret of another name is for all
    /// three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<CredentialsRef>,
}
