//! Something that is on or off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is on or off; `ON` where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default = "Switch::default")]
#[schemars(default)]
pub struct Switch<const ON: bool> {
    /// Whether it is on.
    pub enabled: bool,
}

impl<const ON: bool> Default for Switch<ON> {
    fn default() -> Self {
        Self { enabled: ON }
    }
}
