//! Novas of several control planes.

use std::collections::BTreeMap;

use provider_composer_testing::System;
use provider_hypervisor_pool::nova::{Call, Query, Service};
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

/// Lets nova-compute of a host report to a Nova, where it registers first, or stop.
pub fn report(nova: &Nova, host: &str, is_up: bool) {
    nova.change(|state| {
        if let Some(service) = state.services.get_mut(host) {
            service.is_up = is_up;
        } else if is_up {
            let service = Service {
                id: format!("id-{host}"),
                is_up,
                disabled: None,
            };
            state.services.insert(host.to_owned(), service);
        }
    });
}

/// Deletes the compute service of a host by hand, which Nova refuses while servers are there.
pub fn delete_service(nova: &Nova, host: &str) {
    nova.change(|state| {
        let occupants = state.occupants.get(host).copied().unwrap_or_default();
        if occupants.servers == 0 {
            state.services.remove(host);
            for aggregate in &mut state.aggregates {
                aggregate.hosts.remove(host);
            }
        }
    });
}
