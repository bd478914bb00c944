//! The flavors of Nova, as far as operators read and change them directly, for a plan without one.

use std::collections::BTreeMap;

use provider_control_plane::credentials::flavors::{Call, Model, Query};
use serde_json::{Value, json};

use super::external::Simulated;

/// The flavors of each control plane, by the URL of its Nova.
#[derive(Clone, Default)]
pub struct Flavors(BTreeMap<String, Model>);

impl Simulated for Flavors {
    fn observe(&self, query: &str) -> Value {
        let query: Option<Query> = serde_json::from_str(query).ok();
        let specs = query.and_then(|query| {
            let model = self.0.get(&query.access.url)?;
            Some(model.answer(&query.flavor))
        });
        json!(specs.unwrap_or_default())
    }

    fn call(&mut self, call: &str) -> bool {
        let call = serde_json::from_str::<Call>(call);
        call.map(|call| {
            let model = self.0.entry(call.access.url.clone()).or_default();
            model.change(call);
        })
        .is_ok()
    }
}
