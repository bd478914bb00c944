//! A pool in Ceph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::{NamedRef, NamespacedRef};

/// A pool of block devices in Ceph, and the user that it is reached with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rbd {
    /// Name of the pool.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s/@]+$"))]
    pub pool: String,
    /// Ceph's user, without the prefix client. Without it the one that the Secret names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[^\s/@]+$"))]
    pub user: Option<String>,
    /// Secret with `userID`, `userKey`, `keyring` and `ceph.conf`.
    pub ceph_secret_ref: NamedRef,
    /// Rook's CephClient that the key comes from. It may be in another cluster, so nothing waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph_client_ref: Option<NamespacedRef>,
}
