//! clouds.yaml, as far as K-ORC and the drivers understand it
//! (<https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html>).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::exchange::{Endpoint, KEYSTONE, NEUTRON, PLACEMENT};

/// The version of Nova's API: compute services by UUID, a limit of migrations, and services of cells that don't answer
/// (<https://docs.openstack.org/nova/latest/reference/api-microversion-history.html>).
const COMPUTE: &str = "compute 2.69";
/// The version of Placement's API: resource providers by their traits, trees of them, and their aggregates with a generation
/// (<https://docs.openstack.org/placement/latest/placement-api-microversion-history.html>).
const INVENTORY: &str = "placement 1.19";

#[derive(Deserialize)]
struct Clouds {
    clouds: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Cloud {
    auth: Auth,
    #[serde(default)]
    verify: Option<bool>,
    compute_endpoint_override: Option<String>,
    network_endpoint_override: Option<String>,
    placement_endpoint_override: Option<String>,
}

#[derive(Deserialize)]
struct Auth {
    auth_url: String,
    username: Option<String>,
    user_id: Option<String>,
    password: Option<String>,
    project_name: Option<String>,
    project_id: Option<String>,
    user_domain_name: Option<String>,
    user_domain_id: Option<String>,
    project_domain_name: Option<String>,
    project_domain_id: Option<String>,
    domain_name: Option<String>,
    domain_id: Option<String>,
    application_credential_id: Option<String>,
    application_credential_name: Option<String>,
    application_credential_secret: Option<String>,
}

/// Where a cloud's services are, and how to authenticate there.
pub(crate) struct Login {
    /// Keystone.
    pub(crate) keystone: Endpoint,
    /// Nova, if the clouds.yaml says where it is.
    pub(crate) nova: Option<Endpoint>,
    /// Neutron, if the clouds.yaml says where it is.
    pub(crate) neutron: Option<Endpoint>,
    /// Placement, if the clouds.yaml says where it is.
    pub(crate) placement: Option<Endpoint>,
    /// What is sent for a token
    /// (<https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management>).
    pub(crate) request: Value,
}

impl Login {
    /// One cloud of a clouds.yaml.
    pub(crate) fn read(clouds: &str, name: &str) -> Result<Self, Error> {
        let cloud = || name.to_owned();
        // What the parser says may quote the text.
        let mut all: Clouds =
            serde_saphyr::from_str(clouds).map_err(|_| Error::NoCloud { cloud: cloud() })?;
        let read = all.clouds.remove(name).map(serde_json::from_value::<Cloud>);
        let Some(Ok(read)) = read else {
            return Err(Error::NoCloud { cloud: cloud() });
        };
        let auth = read.auth;
        if read.verify == Some(false) {
            return Err(Error::Unverified { cloud: cloud() });
        }
        let url = auth.auth_url.trim_end_matches('/');
        let request = auth.request().ok_or(Error::NoLogin { cloud: cloud() })?;
        let url = match url.ends_with("/v3") {
            true => url.to_owned(),
            false => format!("{url}/v3"),
        };
        let endpoint = |service, field, url: &str, version| {
            Endpoint::new(service, url, version).ok_or_else(|| Error::NoUrl {
                cloud: cloud(),
                field,
            })
        };
        let given = |service, field, url: Option<String>, version| {
            url.map(|url| endpoint(service, field, &url, version))
                .transpose()
        };
        Ok(Self {
            keystone: endpoint(KEYSTONE, "auth_url", &url, None)?,
            nova: given(
                "Nova",
                "compute_endpoint_override",
                read.compute_endpoint_override,
                Some(COMPUTE),
            )?,
            neutron: given(
                NEUTRON,
                "network_endpoint_override",
                read.network_endpoint_override,
                None,
            )?,
            placement: given(
                PLACEMENT,
                "placement_endpoint_override",
                read.placement_endpoint_override,
                Some(INVENTORY),
            )?,
            request,
        })
    }
}

impl Login {
    /// Nova at a URL.
    pub(crate) fn nova(url: &str, cloud: &str) -> Result<Endpoint, Error> {
        Endpoint::new("Nova", url, Some(COMPUTE)).ok_or_else(|| Error::NoUrl {
            cloud: cloud.to_owned(),
            field: "the URL of Nova",
        })
    }

    /// Neutron at a URL.
    pub(crate) fn neutron(url: &str, cloud: &str) -> Result<Endpoint, Error> {
        Endpoint::new(NEUTRON, url, None).ok_or_else(|| Error::NoUrl {
            cloud: cloud.to_owned(),
            field: "the URL of Neutron",
        })
    }
}

impl Auth {
    fn request(&self) -> Option<Value> {
        if let Some(secret) = &self.application_credential_secret {
            let credential = match &self.application_credential_id {
                Some(id) => json!({ "id": id, "secret": secret }),
                None => json!({
                    "name": self.application_credential_name.as_ref()?,
                    "secret": secret,
                    "user": self.user()?,
                }),
            };
            return Some(with_application_credential(&credential));
        }
        let mut user = self.user()?;
        user.insert("password".to_owned(), json!(self.password.as_ref()?));
        let mut auth = json!({ "identity": {
            "methods": ["password"],
            "password": { "user": user },
        } });
        auth["scope"] = self.scope()?;
        Some(json!({ "auth": auth }))
    }

    fn user(&self) -> Option<Map<String, Value>> {
        let domain = domain(
            self.user_domain_id.as_ref().or(self.domain_id.as_ref()),
            self.user_domain_name.as_ref().or(self.domain_name.as_ref()),
        );
        named(self.user_id.as_ref(), self.username.as_ref(), domain)
    }

    fn scope(&self) -> Option<Value> {
        let of_project = domain(
            self.project_domain_id.as_ref().or(self.domain_id.as_ref()),
            self.project_domain_name
                .as_ref()
                .or(self.domain_name.as_ref()),
        );
        let project = named(
            self.project_id.as_ref(),
            self.project_name.as_ref(),
            of_project,
        )?;
        Some(json!({ "project": project }))
    }
}

/// The request for a token by an application credential, which has a project of its own.
pub(crate) fn with_application_credential(credential: &Value) -> Value {
    json!({ "auth": { "identity": {
        "methods": ["application_credential"],
        "application_credential": credential,
    } } })
}

fn domain(id: Option<&String>, name: Option<&String>) -> Value {
    match (id, name) {
        (Some(id), _) => json!({ "id": id }),
        (None, Some(name)) => json!({ "name": name }),
        (None, None) => json!({ "id": "default" }),
    }
}

/// Something by its ID, or by its name in a domain.
fn named(id: Option<&String>, name: Option<&String>, domain: Value) -> Option<Map<String, Value>> {
    match (id, name) {
        (Some(id), _) => Some(Map::from_iter([("id".to_owned(), json!(id))])),
        (None, Some(name)) => Some(Map::from_iter([
            ("name".to_owned(), json!(name)),
            ("domain".to_owned(), domain),
        ])),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "
clouds:
  openstack:
    auth_type: password
    auth:
      auth_url: https://keystone.example:5000/
      username: glance
      password: 's3cret: #'
      project_name: service
      user_domain_name: Default
      project_domain_name: Default
";

    #[test]
    fn a_password_is_for_a_project() {
        let login = Login::read(PASSWORD, "openstack").ok().unwrap();
        assert_eq!(login.keystone.url, "https://keystone.example:5000/v3");
        assert_eq!(
            login.request,
            json!({ "auth": {
                "identity": { "methods": ["password"], "password": { "user": {
                    "name": "glance", "domain": { "name": "Default" }, "password": "s3cret: #",
                } } },
                "scope": { "project": { "name": "service", "domain": { "name": "Default" } } },
            } })
        );
    }

    #[test]
    fn an_application_credential_needs_no_scope() {
        let text = r#"{"clouds": {"a": {"auth": {"auth_url": "http://k/v3",
            "application_credential_id": "1", "application_credential_secret": "s"}}}}"#;
        let login = Login::read(text, "a").ok().unwrap();
        assert_eq!(login.keystone.url, "http://k/v3");
        assert_eq!(
            login.request,
            json!({ "auth": { "identity": {
                "methods": ["application_credential"],
                "application_credential": { "id": "1", "secret": "s" },
            } } })
        );
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        let refusal = |text: &str, cloud: &str| Login::read(text, cloud).err().unwrap();
        let other = refusal(PASSWORD, "other");
        assert!(matches!(other, Error::NoCloud { .. }));
        let broken = PASSWORD.replace("auth_type: password", "auth_type: [s3cret");
        let unscoped = PASSWORD.replace("      project_name: service\n", "");
        let unverified = format!("{PASSWORD}    verify: false\n");
        for (text, word) in [
            (broken, "can't be read"),
            (unscoped, "project_name"),
            (unverified, "cacert"),
        ] {
            let message = refusal(&text, "openstack").to_string();
            assert!(message.contains(word), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
