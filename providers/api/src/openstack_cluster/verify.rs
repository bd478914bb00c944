//! What Tempest tests before a claim is Ready.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{parts::is_default, tempest::of_verified};

/// Tests of the control plane. Which tests of a service run, and how many at once, is the Composition's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verify {
    /// The services that are tested: a test runs if all services that it uses are listed. Without it all enabled ones.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), transform = of_verified)]
    pub services: Vec<String>,
}
