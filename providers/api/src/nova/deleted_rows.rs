//! What becomes of rows that Nova has marked as deleted.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{parts::Schedule, rule::Rule};

const ARCHIVED_FIRST: Rule = Rule::new(
    "!has(self.archiveAfterDays) || !has(self.purgeAfterDays) || self.purgeAfterDays >= self.archiveAfterDays",
    "purgeAfterDays is less than archiveAfterDays: rows are archived before they are purged",
);

/// What becomes of rows that Nova has marked as deleted: they are archived, so that tables stay small, and purged later.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ARCHIVED_FIRST]))]
pub struct DeletedRows {
    /// When rows are archived and purged, in UTC.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Days from deletion until a row is archived.
    #[educe(Default = 30)]
    #[schemars(range(min = 1, max = 3650))]
    pub archive_after_days: u16,
    /// Days from deletion until an archived row is purged.
    #[educe(Default = 90)]
    #[schemars(range(min = 1, max = 3650))]
    pub purge_after_days: u16,
}
