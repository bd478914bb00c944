//! One component of a service.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{autoscaling::Autoscaling, is_default, resources::Resources};

/// One component of a service, scaled by itself. It has `REPLICAS` replicas where no number is given.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default = "Component::default")]
#[schemars(default)]
pub struct Component<const REPLICAS: u32> {
    /// Replicas.
    #[educe(Default = REPLICAS)]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: u32,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}

/// The API of a service. It has `REPLICAS` replicas where no number is given.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default = "ApiComponent::default")]
#[schemars(default)]
pub struct ApiComponent<const REPLICAS: u32> {
    /// Replicas; the least with `autoscaling`.
    #[educe(Default = REPLICAS)]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: u32,
    /// More replicas when there is much to do. Without it as many as `replicas` says, always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
}
