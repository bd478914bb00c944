//! What is read and changed of Nova where K-ORC has no field for it: what flavors require of hosts. A driver understands this.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::neutron::Access;

/// The driver that is meant.
pub const SYSTEM: &str = "flavors";

/// Reads the extra specs of a flavor. The response is a map of their values by their names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Which Nova.
    pub access: Access,
    /// The flavor's ID.
    pub flavor: String,
}

/// Sets some extra specs of a flavor. Others stay as they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which Nova.
    pub access: Access,
    /// The flavor's ID.
    pub flavor: String,
    /// The extra specs: their values by their names.
    pub specs: BTreeMap<String, String>,
}

/// The flavors of a Nova in memory, for plans and tests: the extra specs of each, by its ID.
#[derive(Clone, Debug, Default)]
pub struct Model(pub BTreeMap<String, BTreeMap<String, String>>);

impl Model {
    /// Returns the extra specs of a flavor.
    pub fn answer(&self, flavor: &str) -> BTreeMap<String, String> {
        self.0.get(flavor).cloned().unwrap_or_default()
    }

    /// Sets what a call says.
    pub fn change(&mut self, call: Call) {
        self.0.entry(call.flavor).or_default().extend(call.specs);
    }
}
