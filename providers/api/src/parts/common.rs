//! What every OpenStack service has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    dependency::Dependency, exposure::Exposure, image::Image, is_default, monitoring::Monitoring,
    policy::PolicyOverrides, reference::SecretKeyRef, tls::Tls, topology::Topology,
};
use crate::{list, schema::LINES};

/// An OpenStack release by its date, for instance 2025.2.
pub(crate) const RELEASE: &str = r"^20[0-9]{2}\.[12]$";

/// What oslo.config accepts as the name of a section or an option.
const OPTION: &str = r"^[A-Za-z0-9][-A-Za-z0-9_.]*$";

/// What every OpenStack service has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Common {
    /// OpenStack release, for instance 2025.2. Without it the one that the image's tag is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = RELEASE))]
    pub release: Option<String>,
    /// The container image. Without it the release's.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
    /// Encryption of the API's endpoint.
    pub tls: Tls,
    /// How the API is reached from outside the cluster. Without it, only from within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expose: Option<Exposure>,
    /// Where pods run.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
    /// What Prometheus scrapes.
    pub monitoring: Monitoring,
    /// Who may do what, where it differs from the service's own rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_overrides: Option<PolicyOverrides>,
    /// Options of the service's configuration by section, for what no field here says. They are merged last.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_config: ExtraConfig,
    /// Options like those of `extraConfig` whose values are in Secrets, such as passwords. A section and an option stand in one of
    /// both.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_option)]
    pub extra_config_secrets: Vec<SecretOption>,
    /// What the service waits for before it starts.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_dependency)]
    pub depends_on: Vec<Dependency>,
}

/// Options of a configuration file: values by option, by section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExtraConfig(pub BTreeMap<String, BTreeMap<String, String>>);

/// An option of a configuration file whose value is in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretOption {
    /// The section of the option, for instance `ldap`.
    #[schemars(length(min = 1, max = 253), regex(pattern = OPTION))]
    pub section: String,
    /// The name of the option, for instance `password`.
    #[schemars(length(min = 1, max = 253), regex(pattern = OPTION))]
    pub option: String,
    /// Where its value is. The value is one line of text.
    pub secret_key_ref: SecretKeyRef,
}

/// An option that a user gives a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenOption<'a> {
    /// The field that gives it.
    pub field: &'static str,
    /// Its section.
    pub section: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl Common {
    /// The options that the user gives, wherever their values are.
    pub fn given_options(&self) -> impl Iterator<Item = GivenOption<'_>> {
        given_options(&self.extra_config, &self.extra_config_secrets)
    }
}

/// The options of both fields.
pub(crate) fn given_options<'a>(
    extra: &'a ExtraConfig,
    secrets: &'a [SecretOption],
) -> impl Iterator<Item = GivenOption<'a>> {
    let shown = extra.0.iter().flat_map(|(section, options)| {
        options.keys().map(move |name| GivenOption {
            field: "extraConfig",
            section,
            name,
        })
    });
    let secret = secrets.iter().map(|given| GivenOption {
        field: "extraConfigSecrets",
        section: &given.section,
        name: &given.option,
    });
    shown.chain(secret)
}

impl JsonSchema for ExtraConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ExtraConfig".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "maxProperties": 256,
            "additionalProperties": {
                "type": "object",
                "maxProperties": 256,
                "additionalProperties": { "type": "string", "maxLength": 4096, "pattern": LINES },
            },
        })
    }
}
