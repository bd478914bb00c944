//! What a service waits for.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{custom_resource::dependencies, pattern::NAME};

/// A resource of the same namespace that is waited for, until it has a condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Kind of the resource.
    #[schemars(transform = one_of_kinds)]
    pub kind: String,
    /// Name of the resource.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// The condition that must be True.
    #[serde(default = "ready")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z][A-Za-z0-9]*$"))]
    pub condition: String,
}

fn one_of_kinds(schema: &mut Schema) {
    let kinds: Vec<_> = dependencies().map(|known| known.kind).collect();
    schema.insert("enum".to_owned(), json!(kinds));
}

fn ready() -> String {
    "Ready".to_owned()
}
