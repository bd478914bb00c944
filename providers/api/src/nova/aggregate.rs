//! Nova's host aggregates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parts::{NamedRef, is_default};

/// A group of hosts, with what sets it apart for Nova's scheduler and for Placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Aggregate {
    /// Name of the aggregate.
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
    /// The hypervisor pool whose hosts belong to it. Without it the pool of the aggregate's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_ref: Option<NamedRef>,
    /// Availability zone of the hosts. Without it they are in Nova's default zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[^:]+$"))]
    pub availability_zone: Option<String>,
    /// Metadata of the aggregate, which flavors refer to.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 64,
        "additionalProperties" = { "type": "string", "maxLength": 255 }
    ))]
    pub metadata: BTreeMap<String, String>,
    /// Placement's traits of the hosts, for instance CUSTOM_TIER_PREMIUM.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 64),
        inner(length(min = 1, max = 255), regex(pattern = TRAIT))
    )]
    pub traits: Vec<String>,
}

/// What Placement lets a trait be called.
pub(crate) const TRAIT: &str = r"^[A-Z0-9_]+$";
