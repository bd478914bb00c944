//! A bucket of an object store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::NamedRef;
use crate::schema::URL;

/// A bucket of an object store that speaks S3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bucket {
    /// URL of the object store.
    #[schemars(length(max = 512), regex(pattern = URL))]
    pub endpoint: String,
    /// Name of the bucket.
    #[schemars(
        length(min = 3, max = 63),
        regex(pattern = r"^[a-z0-9][-.a-z0-9]*[a-z0-9]$")
    )]
    pub bucket: String,
    /// Secret with `accessKey` and `secretKey`, in the same namespace.
    pub secret_ref: NamedRef,
}
