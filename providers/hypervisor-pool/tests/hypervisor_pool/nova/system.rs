//! How a simulated Nova answers and is called.

use std::collections::BTreeMap;

use provider_composer_testing::System;
use provider_hypervisor_pool::nova::{Call, Leftover, Query, Question};
use serde_json::{Value, json};

use super::Nova;

impl System for Nova {
    fn answer(&self, query: &str) -> Option<Value> {
        let query: Query = serde_json::from_str(query).unwrap();
        self.change(|state| {
            state.access = Some(query.access);
            if state.is_unreachable {
                return None;
            }
            Some(match query.question {
                Question::Services => json!(state.services),
                Question::Aggregates if state.hides_aggregates => return None,
                Question::Aggregates => json!(state.aggregates),
                Question::Hypervisor { host } => {
                    if state.hides_hypervisors {
                        return None;
                    }
                    let id = state.hypervisor(&host);
                    state.sought.insert(host);
                    json!(id)
                }
                Question::Servers if state.hides_hypervisors => return None,
                Question::Hypervisors if state.hides_hypervisors => return None,
                Question::Hypervisors => json!(state.hypervisors()),
                Question::Servers => {
                    state.counted += 1;
                    json!(state.servers())
                }
                Question::Members { aggregate } => {
                    state.placement.answer(json!(state.members(&aggregate)))?
                }
                Question::Traits { traits } => {
                    state.placement.answer(json!(state.with_traits(&traits)))?
                }
                Question::Occupants { host } => {
                    state.asked.insert(host.clone());
                    if state.silent.contains(&host) {
                        return None;
                    }
                    json!(state.occupants.get(&host).copied().unwrap_or_default())
                }
                Question::Chassis { .. } if state.hides_chassis => return None,
                Question::Chassis { hosts } => {
                    let chassis = state.chassis.iter();
                    let chassis = chassis.filter(|(host, _)| hosts.contains(*host));
                    json!(chassis.collect::<BTreeMap<_, _>>())
                }
                Question::Leftovers { hosts } => {
                    let is_allocated = state.is_allocated;
                    let left = state.left.iter();
                    let left = left.filter(|(_, host)| hosts.contains(*host));
                    let left = left.map(|(id, host)| {
                        let host = host.clone();
                        (id, Leftover { host, is_allocated })
                    });
                    let left: BTreeMap<_, _> = left.collect();
                    state.placement.answer(json!(left))?
                }
            })
        })
    }

    fn call(&mut self, call: &str) -> Result<(), String> {
        let call: Call = serde_json::from_str(call).unwrap();
        self.change(|state| {
            state.calls += 1;
            match state.is_unreachable || state.fails_calls {
                true => Err("nova can't be reached".to_owned()),
                false => state.change(call.change),
            }
        })
    }
}
