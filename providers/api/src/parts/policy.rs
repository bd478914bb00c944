//! Who may do what, where it differs from the service's own rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_default, reference::NamedRef};
use crate::{rule::Rule, schema::LINES};

pub(crate) const SOME_RULE: Rule = Rule::new(
    "has(self.rules) || has(self.configMapRef)",
    "policyOverrides overrides nothing: give rules or configMapRef, or leave it out",
);

/// Rules of oslo.policy that replace the service's own. A rule given here wins over the same one in the ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [SOME_RULE]))]
pub struct PolicyOverrides {
    /// Definitions by rule, for instance role:admin for identity:create_project.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend(
        "maxProperties" = 1024,
        "additionalProperties" = { "type": "string", "maxLength": 4096, "pattern": LINES }
    ))]
    pub rules: BTreeMap<String, String>,
    /// ConfigMap of the same namespace with rules under the key policy.yaml.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<NamedRef>,
}
