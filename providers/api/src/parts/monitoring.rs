//! What Prometheus scrapes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::rule::Rule;

const ENABLED: Rule = Rule::new(
    "!has(self.processes) || !self.processes || (has(self.enabled) && self.enabled)",
    "processes needs enabled: set enabled to true, or remove processes",
);

/// What Prometheus scrapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ENABLED]))]
pub struct Monitoring {
    /// Whether Prometheus scrapes APIs.
    pub enabled: bool,
    /// Whether Prometheus also scrapes programs that aren't APIs, such as Nova's conductors, and each of RabbitMQ's queues.
    #[serde(skip_serializing_if = "is_default")]
    pub processes: bool,
}
