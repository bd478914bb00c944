//! CredentialRotation: a service's credential, replaced before it expires.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{NamedRef, is_default, number},
    pattern::NAME,
    rule::Rule,
};

const ONE_AT_A_TIME: Rule = Rule::new(
    "2 * self.schedule.preRotationDays + self.gracePeriodDays <= self.schedule.intervalDays",
    "a rotation would begin before the last one ended: raise intervalDays, or lower preRotationDays or gracePeriodDays",
);

/// Whose credential is replaced, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [ONE_AT_A_TIME]))]
pub struct CredentialRotationSpec {
    /// The service, for instance glance. For an application credential or a password, it is the name of K-ORC's User in the same
    /// namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub target_service_user: String,
    /// What is replaced.
    #[serde(default)]
    pub rotation_type: RotationType,
    /// When it is replaced.
    #[serde(default)]
    pub schedule: RotationSchedule,
    /// Days that the old credential is kept for after its interval has ended.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 0, max = 365))]
    pub grace_period_days: u32,
    /// RFC 3339. A credential that was made before this time is replaced as soon as it has come, and goes once all of the
    /// service runs with the next: for one that may have leaked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub replace_made_before: Option<String>,
}

/// What is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RotationType {
    /// The application credential of the service's user in Keystone.
    #[default]
    ApplicationCredential,
    /// The users of the service's databases in a MariaDB of this cluster, with their passwords.
    DatabaseUser,
    /// The users of the service's message buses in a RabbitMQ of this cluster, with their passwords.
    MessagingUser,
    /// The password of a user in Keystone: of a service, of `admin`, or of `tenant`. Keystone has one password for each user, so the old
    /// one has no grace period.
    UserPassword,
}

/// When a credential is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RotationSchedule {
    /// Days that a credential is valid for.
    #[educe(Default = 90)]
    #[schemars(range(min = 1, max = 3650))]
    pub interval_days: u32,
    /// Days before its end that the next one is created.
    #[educe(Default = 7)]
    #[schemars(range(min = 0, max = 3650))]
    pub pre_rotation_days: u32,
}

impl Kind for CredentialRotationSpec {
    type Status = CredentialRotationStatus;
    const DESCRIPTION: &'static str = "A service's credential, replaced before it expires.";
    const GROUP: &'static str = "c5c3.io";
    const KIND: &'static str = "CredentialRotation";
    const PLURAL: &'static str = "credentialrotations";
    const SHORT_NAME: &'static str = "crot";
    const COLUMNS: &'static [Column] = &[
        Column::new("User", "string", ".spec.targetServiceUser"),
        Column::new("Last", "date", ".status.lastRotation"),
        Column::new("Next", "string", ".status.nextRotation"),
    ];
}

impl CustomResource for CredentialRotationSpec {}

/// What the c5c3-operator says of the credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialRotationStatus {
    /// What holds of the credential, for instance RotationScheduled; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// When the credential was last replaced, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_rotation: Option<String>,
    /// When the next one will be created, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub next_rotation: Option<String>,
    /// The credential in use: K-ORC's ApplicationCredential, or the service and the number of its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_credential_ref: Option<NamedRef>,
    /// The credential that is being created to replace it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_credential_ref: Option<NamedRef>,
    /// The credential that was in use before, as long as it must be valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_credential_ref: Option<NamedRef>,
}
