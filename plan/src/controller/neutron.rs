//! Neutron, as far as it is asked and called, for a plan without one.

use std::collections::BTreeMap;

use provider_control_plane::credentials::neutron::{Call, Model, Query};
use serde_json::{Value, json};

use super::external::Simulated;

/// The Neutron of each control plane, by its URL.
#[derive(Clone, Default)]
pub struct Neutron(BTreeMap<String, Model>);

impl Simulated for Neutron {
    fn observe(&self, query: &str) -> Value {
        let query: Option<Query> = serde_json::from_str(query).ok();
        let answer = query.and_then(|query| {
            let model = self.0.get(&query.access.url)?;
            Some(model.answer(&query.question))
        });
        json!(answer.unwrap_or_default())
    }

    fn call(&mut self, call: &str) -> bool {
        let call = serde_json::from_str::<Call>(call);
        call.map(|call| {
            let model = self.0.entry(call.access.url).or_default();
            model.change(call.change);
        })
        .is_ok()
    }
}
