//! Nova's parts, where they are more than replicas.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    parts::{Component, NamedRef, Resources, Topology, is_default},
    rule::Rule,
    schema::URL,
};

const URL_OF_SCHEDULER: Rule = Rule::new(
    "!has(self.enabled) || !self.enabled || has(self.endpoint)",
    "externalScheduler is enabled without an endpoint: give the URL to ask, or switch it off",
);

/// What chooses a host for each server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Scheduler {
    /// How many there are, and how large each is.
    #[serde(flatten)]
    pub component: Component<2>,
    /// An external scheduler, which orders the hosts. It is an option of SAP's Nova: the image must be marked with fork.
    pub external_scheduler: ExternalScheduler,
}

/// An external scheduler, which orders the hosts, for instance Cortex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = [URL_OF_SCHEDULER]))]
pub struct ExternalScheduler {
    /// Whether Nova asks it.
    pub enabled: bool,
    /// URL to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = URL))]
    pub endpoint: Option<String>,
}

/// The agents on the hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compute {
    /// CPU and memory of each agent.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// The nodes that agents run on. Without it those that are leased to this control plane.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
}

/// Services that Nova proves itself to with a token of its own. One that isn't named gets the user's token only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAuth {
    /// Placement's service user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement_service_user_ref: Option<NamedRef>,
    /// Neutron's service user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neutron_service_user_ref: Option<NamedRef>,
    /// Glance's service user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glance_service_user_ref: Option<NamedRef>,
    /// Cinder's service user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cinder_service_user_ref: Option<NamedRef>,
}
