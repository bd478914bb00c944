//! MaxScale before MariaDB.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MaxScale before MariaDB.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct MaxScale {
    /// Whether there is one.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Replicas.
    #[educe(Default = 2)]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: u32,
}
