//! What an API server does with a resource before it stores it: strict fields, defaults, schema, rules. As far as our
//! definitions use it, and with the messages of a real one.

mod cel;
mod defaults;
mod shape;

use std::{collections::BTreeMap, sync::LazyLock};

use c5c3_api::{Generation, custom_resources, definitions};
use serde_json::Value;

pub use self::{
    cel::{Program, check as check_rules},
    defaults::defaulted,
};

/// The schemas of the kinds, by kind.
type Schemas = BTreeMap<String, Value>;

/// An API server that stores our kinds in memory.
pub struct Admission {
    schemas: &'static Schemas,
    stored: BTreeMap<[String; 3], Value>,
}

impl Admission {
    /// One that serves the claims as Crossplane of this generation has them served, and what operators reconcile.
    pub fn new(generation: Generation) -> Self {
        static V1: LazyLock<Schemas> = LazyLock::new(|| schemas(Generation::V1));
        static V2: LazyLock<Schemas> = LazyLock::new(|| schemas(Generation::V2));
        Self {
            schemas: match generation {
                Generation::V1 => &V1,
                Generation::V2 => &V2,
            },
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

fn schemas(generation: Generation) -> Schemas {
    let claims = definitions(generation).into_iter().map(|definition| {
        let names = definition.spec.claim_names.unwrap_or(definition.spec.names);
        let [version] = definition.spec.versions;
        (names.kind, version.schema.open_api_v3_schema)
    });
    let custom = custom_resources().into_iter().map(|definition| {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let version = &definition["spec"]["versions"][0];
        (
            kind.to_owned(),
            version["schema"]["openAPIV3Schema"].clone(),
        )
    });
    claims.chain(custom).collect()
}
