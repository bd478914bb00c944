//! Nova's cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    parts::{Component, Database, Exposure, Messaging, NamedRef},
    pattern::LABEL,
    rule::{self, Rule},
};

const RESERVED: Rule = Rule::new(
    "!(self.name in ['api', 'cell0'])",
    "the names api and cell0 are Nova's own: choose another name, and leave cell0 out, which every Nova has",
);

/// A cell: servers, the hosts that they run on, and a database and a message bus for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [RESERVED, rule::CELL_NOT_OF_A_USER]))]
pub struct Cell {
    /// Name of the cell, for instance cell1.
    #[schemars(length(min = 1, max = 20), regex(pattern = LABEL))]
    pub name: String,
    /// Has no effect, which `CellHostsAssigned` reports: `cell` of a HypervisorShare says which cell its hosts join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_ref: Option<NamedRef>,
    /// Where the cell keeps its data. Without it beside Nova's own, the first cell in Nova's database, another in
    /// `<nova>_<cell>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Database>,
    /// Where the cell's parts talk to each other. Without it a virtual host `nova-<cell>` in Nova's RabbitMQ, with a user of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messaging: Option<Messaging>,
    /// What speaks to the database for the cell's hosts. Without it as Nova's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conductor: Option<Component<2>>,
    /// How browsers reach the consoles of the cell's servers. Without it only from within the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consoles: Option<Exposure>,
}

impl Cell {
    /// A cell of this name, and nothing else said.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            compute_ref: None,
            database: None,
            messaging: None,
            conductor: None,
            consoles: None,
        }
    }
}
