//! Where pods run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;
use crate::{
    list,
    pattern::{NAME, QUALIFIED_NAME, label_value},
    rule::Rule,
};

const NODE_LABELS: Rule = Rule::new(
    "self.all(key, key.matches('^([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
    "the key of a label is not valid: write for instance zone or node-role.kubernetes.io/worker",
);

// What Kubernetes refuses of tolerations (pkg/apis/core/validation, ValidateTolerations).

const EVERY_VALUE: Rule = Rule::new(
    "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
    "a toleration with operator Exists tolerates every value: remove value, or set operator to Equal",
);

const EVERY_KEY: Rule = Rule::new(
    "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
    "a toleration without key tolerates every taint: set operator to Exists, or name the key",
);

const EVICTION: Rule = Rule::new(
    "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    "tolerationSeconds is how long a pod stays on a node whose taint has effect NoExecute: set effect to NoExecute, or remove it",
);

/// Where pods run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Topology {
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 32,
        "additionalProperties" = label_value(),
        "x-kubernetes-validations" = [NODE_LABELS]
    ))]
    pub node_selector: BTreeMap<String, String>,
    /// Taints of nodes that are put up with.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,
    /// Labels of nodes whose values are failure domains, widest first: replicas are spread over them. Without it zone and
    /// node.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 4),
        inner(length(min = 1, max = 317), regex(pattern = QUALIFIED_NAME)),
        transform = list::set
    )]
    pub spread_over: Vec<String>,
    /// PriorityClass of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub priority_class_name: Option<String>,
}

/// A taint that is put up with, as Kubernetes has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [EVERY_VALUE, EVERY_KEY, EVICTION]))]
pub struct Toleration {
    /// Key of the taint, for instance node-role.kubernetes.io/control-plane. Without it every taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317), regex(pattern = QUALIFIED_NAME))]
    pub key: Option<String>,
    /// Whether the taint's value matters. Without it, it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<TolerationOperator>,
    /// Value of the taint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 63),
        regex(pattern = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
    )]
    pub value: Option<String>,
    /// Effect of the taint. Without it every effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<TaintEffect>,
    /// How long a taint of the effect NoExecute is put up with, in seconds. Without it for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub toleration_seconds: Option<u32>,
}

/// Whether a taint's value matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TolerationOperator {
    /// It must be the one given.
    Equal,
    /// It may be any.
    Exists,
}

/// What a taint does to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// New ones go elsewhere.
    NoSchedule,
    /// New ones go elsewhere if they can.
    PreferNoSchedule,
    /// New ones go elsewhere, and those that run leave.
    NoExecute,
}
