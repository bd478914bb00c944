//! When rows leave a database that a service has marked as deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Schedule;

/// When rows leave the database that the service has marked as deleted, and keeps otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DeletedRows {
    /// Whether rows are purged.
    pub enabled: bool,
    /// When rows are purged, in UTC.
    pub schedule: Schedule,
    /// Days from deletion until a row is purged.
    #[schemars(range(min = 1, max = 3650))]
    pub purge_after_days: u16,
}

impl Default for DeletedRows {
    fn default() -> Self {
        Self {
            enabled: true,
            schedule: Schedule::nightly(),
            purge_after_days: 90,
        }
    }
}
