//! The Keystone of a control plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::service::Service;
use crate::{
    keystone::Federation,
    parts::{Schedule, is_default},
    rule::Rule,
};

const ONE_ROTATION: Rule = Rule::new(
    "!has(self.rotationSchedule) || !has(self.rotationInterval)",
    "rotationSchedule and rotationInterval both say when keys are rotated: give one or the other",
);

/// Keystone in a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KeystoneService {
    /// What is said of any service.
    #[serde(flatten)]
    pub service: Service<3>,
    /// The keys that tokens are encrypted with. Without it as Keystone's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fernet: Option<ServiceFernet>,
    /// Users of other identity providers.
    #[serde(skip_serializing_if = "is_default")]
    pub federation: Federation,
}

/// The keys that Keystone's tokens are encrypted with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_ROTATION]))]
pub struct ServiceFernet {
    /// When keys are rotated, as cron has it, for instance 0 0 * * 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_schedule: Option<Schedule>,
    /// How often keys are rotated, the short form of rotationSchedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_interval: Option<RotationInterval>,
    /// Most keys that are kept, the staged one among them. Without it 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 3, max = 100))]
    pub max_active_keys: Option<u32>,
}

/// How often keys are rotated: what a schedule can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RotationInterval {
    /// Every hour.
    #[serde(rename = "1h")]
    Hour,
    /// Every six hours.
    #[serde(rename = "6h")]
    SixHours,
    /// Twice a day.
    #[serde(rename = "12h")]
    HalfDay,
    /// Every day.
    #[serde(rename = "24h")]
    Day,
    /// Every week.
    #[serde(rename = "168h")]
    Week,
}

impl From<RotationInterval> for Schedule {
    fn from(interval: RotationInterval) -> Self {
        Self::known(match interval {
            RotationInterval::Hour => "0 * * * *",
            RotationInterval::SixHours => "0 */6 * * *",
            RotationInterval::HalfDay => "0 */12 * * *",
            RotationInterval::Day => "0 0 * * *",
            RotationInterval::Week => "0 0 * * 0",
        })
    }
}
