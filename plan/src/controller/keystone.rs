//! Keystone, as far as operators read and call it directly: the roles of users, and the regions of endpoints.

use std::collections::{BTreeMap, BTreeSet};

use provider_control_plane::credentials::keystone::{Answer, Call, Change, Query, Scope};
use serde_json::{Value, json};

use super::external::Simulated;

/// Every Keystone of a plan. Identifiers are of one Keystone only, so they can be remembered together.
#[derive(Clone, Default)]
pub struct Keystone {
    /// Roles by place and user.
    roles: BTreeMap<Scope, BTreeMap<String, BTreeSet<String>>>,
    /// The region of each endpoint.
    regions: BTreeMap<String, String>,
    /// The users that are exempt from rules for passwords and logins.
    exempt: BTreeSet<String>,
}

impl Simulated for Keystone {
    fn observe(&self, query: &str) -> Value {
        let query: Option<Query> = serde_json::from_str(query).ok();
        let query = query.as_ref();
        let roles = query.and_then(|query| self.roles.get(&query.scope));
        let restricted = query.map(|query| &query.exempt - &self.exempt);
        json!(Answer {
            roles: roles.cloned().unwrap_or_default(),
            regions: self.regions.clone(),
            restricted: restricted.unwrap_or_default(),
            ..Answer::default()
        })
    }

    fn call(&mut self, call: &str) -> bool {
        match serde_json::from_str::<Call>(call).map(|call| call.change) {
            Ok(Change::Grant { user, role, scope }) => {
                let users = self.roles.entry(scope).or_default();
                users.entry(user).or_default().insert(role)
            }
            Ok(Change::Revoke { user, role, scope }) => {
                let users = self.roles.entry(scope).or_default();
                users.entry(user).or_default().remove(&role)
            }
            Ok(Change::Exempt { user }) => self.exempt.insert(user),
            Ok(Change::Place { endpoint, region }) => {
                let before = self.regions.insert(endpoint, region.clone());
                before != Some(region)
            }
            Err(_) => false,
        }
    }
}
