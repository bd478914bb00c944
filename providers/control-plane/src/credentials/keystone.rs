//! Requests to Keystone for which K-ORC has no kind: role assignments, options of users, the region of an endpoint, and whether application
//! credentials can be used, which K-ORC doesn't check after it has created them. A driver understands this.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The driver that is meant.
pub const SYSTEM: &str = "keystone";

/// How to get at a Keystone: as K-ORC does, by the clouds.yaml that it reads. It can't be printed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The clouds.yaml.
    pub clouds: String,
    /// Which cloud in it.
    pub cloud: String,
    /// Certificates in PEM that Keystone's is checked against; without it those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// Who has which role in a project or domain, where endpoints are, which application credentials are lost, and which users are restricted.
/// The answer is an [`Answer`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Which Keystone.
    pub access: Access,
    /// Where the roles are.
    pub scope: Scope,
    /// The ID of the user whose roles are asked for; without it those of all. A tenant has any number of users in its domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The application credentials that must be accepted, by the ID of their user.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub credentials: BTreeMap<String, HandedOut>,
    /// The IDs of the users that a site's rules for passwords and logins must not concern.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub exempt: BTreeSet<String>,
}

/// An application credential that a service has. It can't be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOut {
    /// Its ID.
    pub id: String,
    /// Its secret.
    pub secret: String,
}

/// Where somebody has a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// A project in the domain Default, by its name.
    Named(String),
    /// A project, by its ID.
    Project(String),
    /// A domain, by its ID.
    Domain(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "project {name}"),
            Self::Project(id) => write!(f, "the project with the ID {id}"),
            Self::Domain(id) => write!(f, "the domain with the ID {id}"),
        }
    }
}

/// What is found in a Keystone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Names of the roles there, by the user's ID.
    pub roles: BTreeMap<String, BTreeSet<String>>,
    /// The region of each endpoint that has one, by the endpoint's ID.
    pub regions: BTreeMap<String, String>,
    /// The IDs of the application credentials that must be accepted, and that Keystone doesn't have, or has with another secret.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lost: BTreeSet<String>,
    /// The IDs of the users whom the rules concern and must not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub restricted: BTreeSet<String>,
}

/// Something that is changed in a Keystone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which Keystone.
    pub access: Access,
    /// What is changed.
    pub change: Change,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// A user gets a role.
    Grant {
        /// The user's ID.
        user: String,
        /// The role's name.
        role: String,
        /// Where.
        scope: Scope,
    },
    /// A role is taken from a user.
    Revoke {
        /// The user's ID.
        user: String,
        /// The role's name.
        role: String,
        /// Where.
        scope: Scope,
    },
    /// A site's rules for passwords and logins don't concern a user any more.
    Exempt {
        /// The user's ID.
        user: String,
    },
    /// An endpoint gets a region.
    Place {
        /// The endpoint's ID.
        endpoint: String,
        /// The region's ID, which is its name.
        region: String,
    },
}
