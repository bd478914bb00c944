//! Keystone, as far as it is asked and called directly: who has which role, and where endpoints are.

use std::collections::{BTreeMap, BTreeSet};

use provider_control_plane::credentials::keystone::{Answer, Call, Change, Question};
use serde_json::{Value, json};

use super::external::Simulated;

/// Every Keystone of a plan. Identifiers are of one Keystone only, so they can be remembered together.
#[derive(Default)]
pub struct Keystone {
    /// Roles by project and user.
    roles: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// The region of each endpoint.
    regions: BTreeMap<String, String>,
}

impl Simulated for Keystone {
    fn observe(&self, question: &str) -> Value {
        let question: Option<Question> = serde_json::from_str(question).ok();
        let roles = question.and_then(|question| self.roles.get(&question.project));
        json!(Answer {
            roles: roles.cloned().unwrap_or_default(),
            regions: self.regions.clone(),
        })
    }

    fn call(&mut self, call: &str) -> bool {
        match serde_json::from_str::<Call>(call).map(|call| call.change) {
            Ok(Change::Grant {
                user,
                role,
                project,
            }) => {
                let users = self.roles.entry(project).or_default();
                users.entry(user).or_default().insert(role)
            }
            Ok(Change::Place { endpoint, region }) => {
                let before = self.regions.insert(endpoint, region.clone());
                before != Some(region)
            }
            Err(_) => false,
        }
    }
}
