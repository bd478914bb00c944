//! Something that is on or off.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is on or off; `ON` where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default = "Switch::default")]
#[schemars(default)]
pub struct Switch<const ON: bool> {
    /// Whether it is on.
    #[educe(Default = ON)]
    pub enabled: bool,
}
