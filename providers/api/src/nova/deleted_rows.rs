//! What becomes of rows that Nova has marked as deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{parts::Schedule, rule::Rule};

const ARCHIVED_FIRST: Rule = Rule::new(
    "!has(self.archiveAfterDays) || !has(self.purgeAfterDays) || self.purgeAfterDays >= self.archiveAfterDays",
    "purgeAfterDays is less than archiveAfterDays: rows are archived before they are purged",
);

/// What becomes of rows that Nova has marked as deleted: they are archived, so that tables stay small, and purged later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ARCHIVED_FIRST]))]
pub struct DeletedRows {
    /// When rows are archived and purged, in UTC.
    pub schedule: Schedule,
    /// Days from deletion until a row is archived.
    #[schemars(range(min = 1, max = 3650))]
    pub archive_after_days: u16,
    /// Days from deletion until an archived row is purged.
    #[schemars(range(min = 1, max = 3650))]
    pub purge_after_days: u16,
}

impl Default for DeletedRows {
    fn default() -> Self {
        Self {
            schedule: Schedule::nightly(),
            archive_after_days: 30,
            purge_after_days: 90,
        }
    }
}
