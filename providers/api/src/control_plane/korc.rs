//! The service catalogue of a control plane, which K-ORC fills.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{list, pattern::NAME};

/// The service catalogue of a control plane, which K-ORC fills.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Korc {
    /// Whether K-ORC creates services, endpoints and users. Otherwise the catalogue is someone else's, and services
    /// wait for their credentials only.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Which of the things that Keystone's bootstrap creates are imported, to be referred to.
    #[educe(Default = vec![
        BootstrapResource::Domains,
        BootstrapResource::Projects,
        BootstrapResource::Roles,
    ])]
    #[schemars(length(max = 4), transform = list::set)]
    pub bootstrap_resources: Vec<BootstrapResource>,
    /// The clouds.yaml that K-ORC works with. Without it one is created from Keystone's bootstrap password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_credentials_ref: Option<CloudCredentialsRef>,
}

/// What Keystone's bootstrap creates.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum BootstrapResource {
    /// The domain Default.
    Domains,
    /// The projects service and admin.
    Projects,
    /// The roles.
    Roles,
    /// The user admin.
    Users,
}

/// A clouds.yaml, and one cloud in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudCredentialsRef {
    /// Name of the cloud.
    #[schemars(length(min = 1, max = 256))]
    pub cloud_name: String,
    /// Secret with clouds.yaml, in the control plane's namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub secret_name: String,
}
