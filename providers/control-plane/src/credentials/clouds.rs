//! clouds.yaml: how a client finds Keystone and authenticates
//! (<https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html>).

use std::collections::BTreeMap;

use provider_composer::{Failure, Reason};
use serde::Serialize;

/// Key of a clouds.yaml in a Secret, as K-ORC reads it.
pub(crate) const CLOUDS_YAML: &str = "clouds.yaml";
/// Key of the certificates that Keystone's is checked against, as K-ORC reads it.
pub(crate) const CA: &str = "cacert";
/// What the one cloud, or the first, is called.
pub(crate) const CLOUD: &str = "openstack";
/// The cloud that K-ORC uses Cinder and Nova by. K-ORC reads the catalogue of a cloud once and keeps it for half the life of a token, so
/// they must be in it when the cloud is first used. The catalogue has all services before any of them runs.
pub(crate) const VOLUMES: &str = "volumes";
/// The domain of Keystone's first user and of the services' users.
pub(crate) const DEFAULT: &str = "Default";

/// Where Keystone is.
pub(crate) struct Site {
    /// Its URL, with the version.
    pub(crate) auth_url: String,
    /// The region whose endpoints are used.
    pub(crate) region: String,
    /// Which endpoints are used: `public` or `internal`.
    pub(crate) interface: &'static str,
    /// Certificates in PEM that its own is checked against; without it those of the system.
    pub(crate) ca: Option<String>,
}

/// How somebody authenticates.
#[derive(Clone, Copy)]
pub(crate) enum Login<'a> {
    /// With a password, in a project of the user's domain.
    Password {
        user: &'a str,
        password: &'a str,
        domain: &'a str,
        project: &'a str,
    },
    /// With a password, in the user's domain itself.
    Domain {
        user: &'a str,
        password: &'a str,
        domain: &'a str,
    },
    /// With an application credential.
    ApplicationCredential { id: &'a str, secret: &'a str },
}

#[derive(Serialize)]
struct Clouds<'a> {
    clouds: BTreeMap<&'a str, Cloud<'a>>,
}

#[derive(Serialize)]
struct Cloud<'a> {
    auth_type: &'a str,
    auth: Auth<'a>,
    region_name: &'a str,
    endpoint_type: &'a str,
    identity_api_version: u8,
    /// Distinguishes the cloud for K-ORC, which knows clouds by their content and not by their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_api_version: Option<u8>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Auth<'a> {
    Password {
        auth_url: &'a str,
        username: &'a str,
        password: &'a str,
        project_name: &'a str,
        user_domain_name: &'a str,
        project_domain_name: &'a str,
    },
    Domain {
        auth_url: &'a str,
        username: &'a str,
        password: &'a str,
        user_domain_name: &'a str,
        domain_name: &'a str,
    },
    ApplicationCredential {
        auth_url: &'a str,
        application_credential_id: &'a str,
        application_credential_secret: &'a str,
    },
}

impl Site {
    /// A Secret's values with the clouds.yaml of somebody, who has these clouds.
    pub(crate) fn clouds(
        &self,
        logins: &[(&str, Login<'_>)],
    ) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let clouds = logins.iter();
        let clouds = Clouds {
            clouds: clouds
                .map(|(name, login)| (*name, self.cloud(name, login)))
                .collect(),
        };
        // The error would quote what it could not write.
        let text = serde_saphyr::to_string(&clouds)
            .map_err(|_| Failure::new(Reason::InternalError, "a clouds.yaml can't be written"))?;
        let mut values = BTreeMap::from([(CLOUDS_YAML.to_owned(), text.into_bytes())]);
        if let Some(ca) = &self.ca {
            values.insert(CA.to_owned(), ca.clone().into_bytes());
        }
        Ok(values)
    }

    fn cloud<'a>(&'a self, name: &str, login: &'a Login<'_>) -> Cloud<'a> {
        let auth_url = &self.auth_url;
        let (auth_type, auth) = match login {
            Login::Password {
                user,
                password,
                domain,
                project,
            } => (
                "password",
                Auth::Password {
                    auth_url,
                    username: user,
                    password,
                    project_name: project,
                    user_domain_name: domain,
                    project_domain_name: domain,
                },
            ),
            Login::Domain {
                user,
                password,
                domain,
            } => (
                "password",
                Auth::Domain {
                    auth_url,
                    username: user,
                    password,
                    user_domain_name: domain,
                    domain_name: domain,
                },
            ),
            Login::ApplicationCredential { id, secret } => (
                "v3applicationcredential",
                Auth::ApplicationCredential {
                    auth_url,
                    application_credential_id: id,
                    application_credential_secret: secret,
                },
            ),
        };
        Cloud {
            auth_type,
            auth,
            region_name: &self.region,
            endpoint_type: self.interface,
            identity_api_version: 3,
            volume_api_version: (name == VOLUMES).then_some(3),
        }
    }
}
