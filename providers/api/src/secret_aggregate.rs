//! SecretAggregate: one Secret with the content of several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{NamedRef, is_default},
    rule::Rule,
};

const TARGET_IS_NO_SOURCE: Rule = Rule::new(
    "self.sources.all(source, source.secretRef.name != self.target.name)",
    "the target is a source too: give the target a name of its own",
);

/// Which Secrets are joined, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [TARGET_IS_NO_SOURCE]))]
pub struct SecretAggregateSpec {
    /// The Secrets that are joined. Of two keys with one name the later one stays.
    #[schemars(length(min = 1, max = 64))]
    pub sources: Vec<SecretSource>,
    /// The Secret that is created.
    pub target: NamedRef,
}

/// A Secret that is joined with others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretSource {
    /// The Secret, in the same namespace.
    pub secret_ref: NamedRef,
    /// Keys that are taken. Without it all.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)), transform = list::set)]
    pub keys: Vec<String>,
}

impl Kind for SecretAggregateSpec {
    type Status = SecretAggregateStatus;
    const DESCRIPTION: &'static str = "One Secret with the content of several.";
    const GROUP: &'static str = "c5c3.io";
    const KIND: &'static str = "SecretAggregate";
    const PLURAL: &'static str = "secretaggregates";
    const SHORT_NAME: &'static str = "sag";
    const COLUMNS: &'static [Column] = &[Column::new("Target", "string", ".spec.target.name")];
}

impl CustomResource for SecretAggregateSpec {}

/// What the c5c3-operator says of the joined Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretAggregateStatus {
    /// What holds of the Secret, for instance SourcesResolved; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
}
