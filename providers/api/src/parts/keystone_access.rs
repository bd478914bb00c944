//! How a service authenticates to Keystone.

use educe::Educe;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{host::HostPort, is_default};
use crate::{pattern::NAME, schema::URL};

/// How a service authenticates to Keystone.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(
    rename_all = "camelCase",
    default,
    bound(deserialize = "Credential: Deserialize<'de>")
)]
pub struct KeystoneAccess<Credential = AppCredentialRef> {
    /// Keystone's URL with its version, for instance `https://keystone.openstack.svc.cluster.local:5000/v3`. Without it
    /// the Keystone of the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = URL))]
    pub auth_url: Option<String>,
    /// The region whose endpoints are used.
    #[educe(Default = default_region())]
    #[schemars(length(min = 1, max = 255))]
    pub region: String,
    /// The application credential, from K-ORC. Without it `<service>-keystone-credentials`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_credential_ref: Option<Credential>,
    /// Members of an external Memcached that caches validated tokens, each host:port. Without it the Memcached of the same control
    /// plane.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 16))]
    pub memcached_servers: Vec<HostPort>,
}

/// Removes what only a service that validates tokens uses.
pub(crate) fn of_client(schema: &mut Schema) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.shift_remove("memcachedServers");
    }
}

/// The region of a control plane that names none.
pub fn default_region() -> String {
    "RegionOne".to_owned()
}

/// An application credential, by its Secret in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppCredentialRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub secret_name: String,
}
