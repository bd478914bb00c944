//! Backups of a control plane's databases.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::infrastructure::Mariadb;
use crate::{
    parts::{Bucket, NamedRef, Schedule, Size, is_default},
    pattern::NAME,
    rule::Rule,
};

const ONE_PLACE: Rule = Rule::new(
    "!has(self.s3) || !has(self.storage)",
    "backups are kept in a bucket or on a volume: give s3 or storage",
);

const HTTPS: Rule = Rule::new(
    "self.endpoint.matches('^https://[^/]+$')",
    "backups contain all data of the control plane: give an endpoint https://host or https://host:port",
);

/// Scheduled backups of all databases of the MariaDB that is created for a control plane. They are kept when the ControlPlane is
/// deleted.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_PLACE]))]
pub struct Backup {
    /// When backups are written, in UTC.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Days after which a backup is deleted.
    #[educe(Default = 14)]
    #[schemars(range(min = 1, max = 3650))]
    pub keep_days: u32,
    /// The volume of the backups.
    #[serde(skip_serializing_if = "is_default")]
    pub storage: BackupVolume,
    /// The bucket of the backups. Without it they are on a volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3: Option<BackupBucket>,
}

impl Backup {
    /// Size of the volume of the backups of a MariaDB; none where they are in a bucket.
    pub fn volume<'a>(&'a self, mariadb: &'a Mariadb) -> Option<&'a Size> {
        let size = self.storage.size.as_ref().unwrap_or(&mariadb.storage_size);
        self.s3.is_none().then_some(size)
    }
}

/// The volume of the backups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BackupVolume {
    /// Size of the volume. Without it that of a member's volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// StorageClass of the volume. Without it the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub storage_class: Option<String>,
}

/// The bucket of the backups. Each ControlPlane writes to a folder of its own in it, named by its namespace and UID.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [HTTPS]))]
pub struct BackupBucket {
    /// The bucket and its keys.
    #[serde(flatten)]
    pub bucket: Bucket,
    /// Secret with `ca.crt`, the certificates that the object store's is signed by. Without it those of public authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<NamedRef>,
}

impl BackupBucket {
    /// Host and port of the object store.
    pub fn host(&self) -> &str {
        let endpoint = self.bucket.endpoint.as_str();
        endpoint.strip_prefix("https://").unwrap_or(endpoint)
    }
}
