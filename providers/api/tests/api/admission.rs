//! An API server that stores our kinds in memory.

use std::{collections::BTreeMap, sync::LazyLock};

use c5c3_admission::{Problem, Validator, defaulted, object};
use c5c3_api::{Generation, custom_resources, definitions};
use serde_json::Value;

/// The schemas of the kinds, by kind.
type Schemas = BTreeMap<String, Value>;

/// An API server that stores our kinds in memory.
pub struct Admission {
    schemas: &'static Schemas,
    validator: Validator,
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
            validator: Validator::default(),
            stored: BTreeMap::new(),
        }
    }

    /// Stores a resource, or says every reason why not.
    pub fn apply(&mut self, resource: &Value) -> Result<(), Vec<Problem>> {
        let text = |pointer: &str| {
            let text = resource.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let kind = text("/kind");
        let schema = &self.schemas[&kind];
        let key = [kind, text("/metadata/namespace"), text("/metadata/name")];
        let resource = defaulted(schema, resource.clone());
        let old = self.stored.get(&key);
        let problems = self.validator.problems(schema, &resource, old);
        if !problems.is_empty() {
            return Err(problems);
        }
        self.stored.insert(key, resource);
        Ok(())
    }
}

fn schemas(generation: Generation) -> Schemas {
    let claims = definitions(generation).into_iter().map(|definition| {
        let names = definition.spec.claim_names.unwrap_or(definition.spec.names);
        let [version] = definition.spec.versions;
        (names.kind, object(version.schema.open_api_v3_schema))
    });
    let custom = custom_resources().into_iter().map(|definition| {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        let version = &definition["spec"]["versions"][0];
        let schema = version["schema"]["openAPIV3Schema"].clone();
        (kind.to_owned(), object(schema))
    });
    claims.chain(custom).collect()
}
