//! Conditions, as Kubernetes writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many characters a condition's message has at most, as in Kubernetes' own kinds
/// (<https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition>).
pub const LONGEST_MESSAGE: usize = 32_768;

/// One observation of an object's state. A written status may carry type and status alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is observed, for example Ready.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub type_: String,
    /// Whether it holds.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// One word for why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub reason: String,
    /// A sentence for why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LONGEST_MESSAGE))]
    pub message: String,
    /// Generation of the spec that was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` last changed, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
}
