//! clouds.yaml: how a client finds Keystone and authenticates
//! (<https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html>).

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use provider_composer::{Failure, Reason};
use serde::Serialize;

use super::Line;

/// Key of a clouds.yaml in a Secret, as K-ORC reads it.
pub(crate) const CLOUDS_YAML: &str = "clouds.yaml";
/// Key of the certificates that Keystone's is checked against, as K-ORC reads it.
pub(crate) const CA: &str = "cacert";
/// What the one cloud is called.
pub(crate) const CLOUD: &str = "openstack";

/// Where Keystone is.
pub(crate) struct Site {
    /// Its URL, with the version.
    pub(crate) auth_url: String,
    /// The region whose endpoints are used.
    pub(crate) region: String,
    /// Certificates in PEM that its own is checked against; without it those of the system.
    pub(crate) ca: Option<String>,
}

/// How somebody authenticates.
pub(crate) enum Login<'a> {
    /// With a password, in a project of the domain Default.
    Password {
        user: &'a str,
        password: &'a Line,
        project: &'a str,
    },
    /// With an application credential.
    ApplicationCredential { id: &'a str, secret: &'a Line },
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
    ApplicationCredential {
        auth_url: &'a str,
        application_credential_id: &'a str,
        application_credential_secret: &'a str,
    },
}

impl Site {
    /// A Secret's values with the clouds.yaml of somebody.
    pub(crate) fn clouds(
        &self,
        login: &Login<'_>,
    ) -> Result<BTreeMap<String, ByteString>, Failure> {
        let auth_url = &self.auth_url;
        let (auth_type, auth) = match login {
            Login::Password {
                user,
                password,
                project,
            } => (
                "password",
                Auth::Password {
                    auth_url,
                    username: user,
                    password: password.expose(),
                    project_name: project,
                    user_domain_name: "Default",
                    project_domain_name: "Default",
                },
            ),
            Login::ApplicationCredential { id, secret } => (
                "v3applicationcredential",
                Auth::ApplicationCredential {
                    auth_url,
                    application_credential_id: id,
                    application_credential_secret: secret.expose(),
                },
            ),
        };
        let cloud = Cloud {
            auth_type,
            auth,
            region_name: &self.region,
            endpoint_type: "internal",
            identity_api_version: 3,
        };
        let clouds = Clouds {
            clouds: [(CLOUD, cloud)].into(),
        };
        // The error would quote what it could not write.
        let text = serde_saphyr::to_string(&clouds)
            .map_err(|_| Failure::new(Reason::InternalError, "a clouds.yaml can't be written"))?;
        let mut values = BTreeMap::from([(CLOUDS_YAML.to_owned(), ByteString(text.into_bytes()))]);
        if let Some(ca) = &self.ca {
            values.insert(CA.to_owned(), ByteString(ca.clone().into_bytes()));
        }
        Ok(values)
    }
}
