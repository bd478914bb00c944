//! When rows leave a database that a service has marked as deleted.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Schedule;

/// When rows leave the database that the service has marked as deleted, and keeps otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct DeletedRows {
    /// Whether rows are purged.
    #[educe(Default = true)]
    pub enabled: bool,
    /// When rows are purged, in UTC.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Days from deletion until a row is purged.
    #[educe(Default = 90)]
    #[schemars(range(min = 1, max = 3650))]
    pub purge_after_days: u16,
}
