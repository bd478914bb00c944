//! The tenant's first user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{pattern::NAME, rule::Rule};

/// What a tenant's user owns has no other owner.
pub(super) const ACCESS_STAYS: Rule = Rule::new(
    "!has(oldSelf.access) || has(self.access)",
    "access can't be removed, since the tenant's user may have servers: disable the user in Keystone instead",
);

/// What the tenant's first user may do.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum TenantAccess {
    /// It manages users, groups and projects of a domain of its own, and uses the services in a project.
    #[default]
    Domain,
    /// It is an administrator of the cloud, too.
    Admin,
}

/// How a tenant connects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Connection {
    /// Secret with clouds.yaml of the tenant's first user and, where Keystone's certificate isn't one of a public authority,
    /// cacert.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub secret_name: String,
}
