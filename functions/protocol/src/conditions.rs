//! Status conditions: those we set, and those already there.

use serde::Deserialize;

use crate::v1;

/// A status condition for the composite resource and its claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// PascalCase. The core refuses its own: Ready, Synced, Healthy.
    pub type_: String,
    /// The status.
    pub status: ConditionStatus,
    /// Why, PascalCase; not empty.
    pub reason: String,
    /// One sentence in the words of the claim's owner; may be empty.
    pub message: String,
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It is true.
    True,
    /// It is false.
    False,
    /// It isn't known yet.
    Unknown,
}

impl ConditionStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl From<Condition> for v1::Condition {
    fn from(condition: Condition) -> Self {
        let status = match condition.status {
            ConditionStatus::True => v1::Status::ConditionTrue,
            ConditionStatus::False => v1::Status::ConditionFalse,
            ConditionStatus::Unknown => v1::Status::ConditionUnknown,
        };
        Self {
            r#type: condition.type_,
            status: status.into(),
            reason: condition.reason,
            message: Some(condition.message),
            target: Some(v1::Target::CompositeAndClaim.into()),
        }
    }
}

/// The conditions the composite resource was observed with, as its status has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ObservedConditions {
    conditions: Vec<ObservedCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ObservedCondition {
    r#type: String,
    status: String,
    reason: String,
}

impl ObservedConditions {
    /// Whether this type was observed.
    pub(crate) fn has(&self, type_: &str) -> bool {
        self.conditions
            .iter()
            .any(|observed| observed.r#type == type_)
    }

    /// Whether this type was observed to be False.
    pub(crate) fn is_false(&self, type_: &str) -> bool {
        self.conditions.iter().any(|observed| {
            observed.r#type == type_ && observed.status == ConditionStatus::False.as_str()
        })
    }

    /// Whether this type was observed with the same status and reason.
    pub(crate) fn contain(&self, condition: &Condition) -> bool {
        self.conditions.iter().any(|observed| {
            observed.r#type == condition.type_
                && observed.status == condition.status.as_str()
                && observed.reason == condition.reason
        })
    }
}
