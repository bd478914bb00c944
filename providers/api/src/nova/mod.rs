//! Nova: compute.

mod aggregate;
mod cell;
mod components;
mod database;
mod deleted_rows;
mod status;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::aggregate::TRAIT;
pub use self::{
    aggregate::Aggregate,
    cell::Cell,
    components::{Compute, ExternalScheduler, Scheduler, ServiceAuth},
    database::NovaDatabase,
    deleted_rows::DeletedRows,
    status::{CellStatus, Disks, NovaStatus},
};
use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{
        ApiComponent, Cache, Common, Component, KeystoneAccess, Messaging, PoolAgents, Rbd,
        is_default,
    },
};

/// The wanted Nova.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct NovaSpec {
    /// The API.
    pub api: ApiComponent<3>,
    /// What chooses a host for each server.
    pub scheduler: Scheduler,
    /// What speaks to the database for the hosts, in every cell that doesn't say otherwise.
    pub conductor: Component<2>,
    /// What tells servers who they are.
    pub metadata: ApiComponent<2>,
    /// What shows the screens of servers.
    pub no_vnc_proxy: Component<1>,
    /// The agents on the hosts. It has no effect, which `AgentSettingsApplied` reports.
    #[serde(skip_serializing_if = "is_default")]
    pub compute: Compute,
    /// Where Nova keeps its data.
    pub database: NovaDatabase,
    /// Where Nova's parts talk to each other, but for cells with a message bus of their own.
    #[serde(skip_serializing_if = "is_default")]
    pub messaging: Messaging,
    /// Where tokens are kept that would otherwise be checked again. Without it nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// How Nova authenticates to Keystone.
    pub keystone: KeystoneAccess,
    /// Services that Nova proves itself to with a token of its own, beside the user's.
    #[serde(skip_serializing_if = "is_default")]
    pub service_auth: ServiceAuth,
    /// The cells that servers live in, beside cell0, which is always there.
    #[educe(Default = vec![Cell::named("cell1")])]
    #[schemars(length(min = 1, max = 32), transform = list::by_name)]
    pub cells: Vec<Cell>,
    /// Groups of hosts, each with what sets it apart. Hosts join by the hypervisor pool that they are of.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 256), transform = list::by_name)]
    pub aggregates: Vec<Aggregate>,
    /// What the agents of hypervisor pools in other clusters run with. Former credentials of Nova stay until all of them have the present
    /// ones.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_name)]
    pub agents: Vec<PoolAgents>,
    /// What becomes of rows that Nova has marked as deleted.
    #[serde(skip_serializing_if = "is_default")]
    pub deleted_rows: DeletedRows,
    /// The pool with the disks of servers that don't boot from a volume. Without it they are on the hosts. It counts when Nova is
    /// installed; `status.disks` has what was decided then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<Rbd>,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

impl Kind for NovaSpec {
    type Status = NovaStatus;
    const DESCRIPTION: &'static str = "Nova, the compute service.";
    const GROUP: &'static str = "nova.openstack.c5c3.io";
    const KIND: &'static str = "Nova";
    const PLURAL: &'static str = "novas";
    const SHORT_NAME: &'static str = "nva";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Release", "string", ".status.release"),
        Column::wide("Cells", "string", ".status.cells[*].name"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for NovaSpec {}
