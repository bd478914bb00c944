//! Keystone: identity.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind, SERVICE_COLUMNS},
    parts::{
        ApiComponent, Cache, Common, Database, Schedule, SecretKeyRef, ServiceStatus, is_default,
        keystone_access::default_region,
    },
    rule::Rule,
    schema::URL,
};

const ENABLED: Rule = Rule::new(
    "self.enabled || (!has(self.identityProvider) && !has(self.trustedDashboards))",
    "federation isn't enabled: set enabled to true, or leave out what is said of it",
);

/// The wanted Keystone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeystoneSpec {
    /// The API.
    #[serde(flatten)]
    pub api: ApiComponent<3>,
    /// Where Keystone keeps its data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// Where Keystone keeps what it would otherwise ask the database again.
    #[serde(default)]
    pub cache: Cache,
    /// The keys that tokens are encrypted with.
    #[serde(default)]
    pub fernet: Fernet,
    /// Users of other identity providers.
    #[serde(default)]
    pub federation: Federation,
    /// What is created in an empty Keystone.
    pub bootstrap: Bootstrap,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// The keys that tokens are encrypted with.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Fernet {
    /// When keys are rotated, as cron has it. A token may live for maxActiveKeys less two rotations.
    #[educe(Default = Schedule::weekly())]
    pub rotation_schedule: Schedule,
    /// Most keys that are kept, the staged one among them.
    #[educe(Default = 3)]
    #[schemars(range(min = 3, max = 100))]
    pub max_active_keys: u32,
}

/// Users of other identity providers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ENABLED]))]
pub struct Federation {
    /// Whether there may be any.
    pub enabled: bool,
    /// The identity provider, which is asked in each replica. Without it a proxy of your own before Keystone speaks with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<IdentityProvider>,
    /// URLs of dashboards that users may come from and are sent back to with their tokens, for instance
    /// `https://dashboard.example.com/auth/websso/`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 512), regex(pattern = URL)))]
    pub trusted_dashboards: Vec<String>,
}

/// An identity provider that speaks OpenID Connect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// URL of the issuer: what it is, is said at `/.well-known/openid-configuration` below it.
    #[schemars(
        length(max = 512),
        regex(pattern = r"^https?://[-._~:/@%+a-zA-Z0-9]+$")
    )]
    pub issuer: String,
    /// What it calls this Keystone.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[-._~:/@+a-zA-Z0-9]+$"))]
    pub client_id: String,
    /// What Keystone proves that with.
    pub client_secret_ref: SecretKeyRef,
    /// What it is asked to say of users.
    #[serde(default = "default_scopes")]
    #[schemars(
        length(min = 1, max = 16),
        inner(length(min = 1, max = 64), regex(pattern = r"^[-._:/a-zA-Z0-9]+$"))
    )]
    pub scopes: Vec<String>,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).into()
}

/// What is created in an empty Keystone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Name of the first user.
    #[serde(default = "default_admin_user")]
    #[schemars(length(min = 1, max = 255))]
    pub admin_user: String,
    /// The first user's password.
    pub admin_password_secret_ref: SecretKeyRef,
    /// The first region.
    #[serde(default = "default_region")]
    #[schemars(length(min = 1, max = 255))]
    pub region: String,
}

fn default_admin_user() -> String {
    "admin".to_owned()
}

impl Kind for KeystoneSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Keystone, the identity service.";
    const GROUP: &'static str = "keystone.openstack.c5c3.io";
    const KIND: &'static str = "Keystone";
    const PLURAL: &'static str = "keystones";
    const SHORT_NAME: &'static str = "kst";
    const COLUMNS: &'static [Column] = SERVICE_COLUMNS;
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for KeystoneSpec {}
