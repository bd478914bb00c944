//! Where agents on hypervisors of another cluster reach a part of a control plane.

use std::net::IpAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::pattern::{LABEL, NAME};

/// A part of a control plane that agents connect to, and the addresses at which other clusters reach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentEndpoint {
    /// Name of the part, for instance keystone.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub name: String,
    /// Names that the agents' configuration and the part's certificate have for it.
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 1, max = 253), regex(pattern = NAME))
    )]
    pub hostnames: Vec<String>,
    /// Addresses that stand for these names in the hypervisors' cluster.
    #[schemars(schema_with = "addresses")]
    pub addresses: Vec<IpAddr>,
}

/// Addresses of IPv4 and IPv6, as far as a pattern can describe them.
fn addresses(_: &mut SchemaGenerator) -> Schema {
    let address = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]*)$";
    json_schema!({
        "type": "array",
        "maxItems": 8,
        "items": { "type": "string", "maxLength": 45, "pattern": address },
    })
}
