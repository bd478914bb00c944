//! What an API server does with a resource before it stores it: strict fields, defaults, schema, rules. As far as our
//! definitions use it, and with the messages of a real one.

mod cel;
mod defaults;
mod shape;

use std::collections::BTreeMap;

use c5c3_api::{Generation, definitions};
use serde_json::Value;

pub use self::{
    cel::{Program, check as check_rules},
    defaults::defaulted,
};

/// An API server that stores our kinds in memory.
pub struct Admission {
    schemas: BTreeMap<String, Value>,
    stored: BTreeMap<[String; 3], Value>,
}

impl Admission {
    /// One that serves the kinds as Crossplane of this generation has them served.
    pub fn new(generation: Generation) -> Self {
        let schema = |definition: c5c3_api::Definition| {
            let names = definition.spec.claim_names.unwrap_or(definition.spec.names);
            let [version] = definition.spec.versions;
            (names.kind, version.schema.open_api_v3_schema)
        };
        Self {
            schemas: definitions(generation).into_iter().map(schema).collect(),
            stored: BTreeMap::new(),
        }
    }

    /// Stores a resource, or says every reason why not.
    pub fn apply(&mut self, resource: &Value) -> Result<(), Vec<String>> {
        let text = |pointer: &str| {
            resource
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let kind = text("/kind");
        let schema = self
            .schemas
            .get(&kind)
            .ok_or_else(|| vec![format!("no kind {kind}")])?;
        let key = [kind, text("/metadata/namespace"), text("/metadata/name")];
        let old = self.stored.get(&key);

        let resource = defaulted(schema, resource.clone());
        let mut refusals = Vec::new();
        shape::check(schema, &resource, "", &mut refusals);
        if refusals.is_empty() {
            cel::check(schema, &resource, old, &mut refusals);
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        self.stored.insert(key, resource);
        Ok(())
    }
}
