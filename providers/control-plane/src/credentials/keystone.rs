//! What is asked and called of Keystone where K-ORC has no kind for it: role assignments, and the region of an endpoint. A
//! driver understands this.

use std::collections::{BTreeMap, BTreeSet};

use provider_composer::{ExternalRequest, Failure, Reason};
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

/// Who has which role in a project, and where endpoints are. The answer is an [`Answer`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Which Keystone.
    pub access: Access,
    /// Name of a project in the domain Default.
    pub project: String,
}

/// What is found in a Keystone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Names of the roles in the project, by the user's ID.
    pub roles: BTreeMap<String, BTreeSet<String>>,
    /// The region of each endpoint that has one, by the endpoint's ID.
    pub regions: BTreeMap<String, String>,
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
    /// A user gets a role in a project.
    Grant {
        /// The user's ID.
        user: String,
        /// The role's name.
        role: String,
        /// The project's name, in the domain Default.
        project: String,
    },
    /// An endpoint gets a region.
    Place {
        /// The endpoint's ID.
        endpoint: String,
        /// The region's ID, which is its name.
        region: String,
    },
}

impl Question {
    /// As a composer asks it.
    ///
    /// # Errors
    /// Never: every question can be written.
    pub fn asked(&self) -> Result<ExternalRequest, Failure> {
        outside(self)
    }
}

impl Call {
    /// As a composer states it.
    ///
    /// # Errors
    /// Never: every call can be written.
    pub fn stated(&self) -> Result<ExternalRequest, Failure> {
        outside(self)
    }
}

fn outside(content: &impl Serialize) -> Result<ExternalRequest, Failure> {
    let content = serde_json::to_string(content).map_err(|_| {
        Failure::new(
            Reason::InternalError,
            "a question to Keystone can't be written",
        )
    })?;
    Ok(ExternalRequest {
        system: SYSTEM,
        content,
    })
}
