//! Novas of several control planes.

use std::collections::BTreeMap;

use provider_composer_testing::System;
use provider_hypervisor_pool::nova::{Call, Query};
use serde_json::Value;

use crate::nova::Nova;

/// The Novas, by the clouds.yaml with which each is reached.
pub struct Clouds(pub BTreeMap<String, Nova>);

impl System for Clouds {
    fn answer(&self, query: &str) -> Option<Value> {
        let Query { access, .. } = serde_json::from_str(query).unwrap();
        self.0[&access.clouds].answer(query)
    }

    fn call(&mut self, call: &str) -> Result<(), String> {
        let Call { access, .. } = serde_json::from_str(call).unwrap();
        self.0.get_mut(&access.clouds).unwrap().call(call)
    }
}
