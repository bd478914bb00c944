//! What any OpenStack service of a control plane has.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    list,
    parts::{
        ApiComponent, Exposure, ExtraConfig, GivenOption, Image, PolicyOverrides, SecretOption,
        given_options, is_default,
    },
};

/// What may be said of any service, and is passed on to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    /// The container image, where it isn't the release's.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
    /// Who may do what, where it differs from the service's own rules. A rule given here wins over a global one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_overrides: Option<PolicyOverrides>,
    /// Options of the service's configuration by section, for what no field says. They are merged last.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_config: ExtraConfig,
    /// Options like those of `extraConfig` whose values are in Secrets, such as passwords. A section and an option stand in one of
    /// both.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_option)]
    pub extra_config_secrets: Vec<SecretOption>,
    /// How the API is reached from outside the cluster: the catalogue's public endpoint is there. Without it, only from
    /// within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expose: Option<Exposure>,
}

impl Overrides {
    /// The options that the user gives, wherever their values are.
    pub fn given_options(&self) -> impl Iterator<Item = GivenOption<'_>> {
        given_options(&self.extra_config, &self.extra_config_secrets)
    }
}

/// A service that is one Deployment.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default = "Service::default")]
#[schemars(default)]
pub struct Service<const REPLICAS: u32> {
    /// Whether the service runs.
    #[educe(Default = true)]
    pub enabled: bool,
    /// The API.
    #[serde(flatten)]
    pub api: ApiComponent<REPLICAS>,
    /// What else may be said of any service.
    #[serde(flatten)]
    pub overrides: Overrides,
}
