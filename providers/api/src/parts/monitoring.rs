//! What Prometheus is told of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::rule::Rule;

const ENABLED: Rule = Rule::new(
    "!has(self.processes) || !self.processes || (has(self.enabled) && self.enabled)",
    "processes adds to what enabled has Prometheus scrape: set enabled to true, or remove processes",
);

/// What Prometheus is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ENABLED]))]
pub struct Monitoring {
    /// Whether it is on.
    pub enabled: bool,
    /// Whether Prometheus is told of each process that isn't an API, too, such as Nova's conductors, and of each of RabbitMQ's
    /// queues.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: bool,
}
