//! How a service accesses Keystone: with its application credential, to validate tokens and to call other services.

use std::collections::BTreeMap;

use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::parts;
use k8s_openapi::api::apps::v1::StatefulSet;
use provider_composer::{
    Custom, DesiredState, Generated, GeneratedValue, Progress, Reason, Retention,
};
use serde_json::{Value, json};

use crate::cache::{CacheServer, cache};
use crate::config::{Config, Section};
use crate::files::Files;
use crate::graph::MEMCACHED;
use crate::prerequisite::Prerequisite;
use crate::service::Service;
use crate::tls;

/// The default name of the Keystone.
const KEYSTONE: &str = "keystone";
/// The file with the CA certificate of Keystone's endpoint.
const AUTHORITY: &str = "keystone-ca.crt";

/// The key of the Secret's value that encrypts cached tokens.
const KEY: &str = "key";

/// How a service reaches Keystone.
#[derive(Clone, PartialEq, Eq)]
pub struct KeystoneAccess {
    auth_url: String,
    region: String,
    id: String,
    secret: String,
    /// CA certificate of Keystone's endpoint, if the image may not trust it.
    authority: Option<String>,
    /// Where validated tokens are cached. `None` if neither the service nor the control plane has a Memcached.
    tokens: Option<TokenCache>,
}

/// Where validated tokens are cached, and the key that they are encrypted with.
#[derive(Clone, PartialEq, Eq)]
struct TokenCache {
    servers: Vec<CacheServer>,
    key: String,
}

impl KeystoneAccess {
    /// Resolves a service's access to Keystone. If the service names a Memcached, or the control plane has one, validated tokens are
    /// cached there, encrypted with a key that only this service has.
    ///
    /// # Errors
    /// Keystone's address, the application credential or the key doesn't exist yet.
    pub fn resolve(
        service: &Service<'_>,
        access: &parts::KeystoneAccess,
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        // Comes first, so that the key isn't pruned while something else is waited for.
        let tokens = TokenCache::resolve(service, access, desired);
        let client = Self::of_client(service, access);
        Ok(Self {
            tokens: tokens?,
            ..client?
        })
    }

    /// Resolves the access of a service that validates no tokens, but is a client of others only.
    ///
    /// # Errors
    /// Keystone's address or the application credential doesn't exist yet.
    pub fn of_client(service: &Service<'_>, access: &parts::KeystoneAccess) -> Prerequisite<Self> {
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let auth_url = match &access.auth_url {
            Some(url) => Ok(url.clone()),
            None => found(service),
        };
        let secret = match &access.app_credential_ref {
            Some(reference) => reference.secret_name.clone(),
            None => service.definition.keystone_credentials(),
        };
        let values = service.secret(&secret, "the application credential");
        let auth_url = auth_url?;
        let authority = authority(service, &auth_url);
        let values = values?;
        Ok(Self {
            authority: authority?,
            auth_url,
            region: access.region.clone(),
            id: values.line("application_credential_id")?.to_owned(),
            secret: values.line("application_credential_secret")?.to_owned(),
            tokens: None,
        })
    }

    /// Keystone's URL with its version.
    pub fn auth_url(&self) -> &str {
        &self.auth_url
    }

    /// The region whose endpoints are used.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// ID of the application credential.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The CA certificate of the control plane's endpoints, if the image may not trust it.
    pub fn trusted(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// How a service authenticates, as a clouds.yaml has it. It has the secret of the application credential.
    pub fn credential(&self) -> Value {
        json!({
            "auth_url": self.auth_url,
            "application_credential_id": self.id,
            "application_credential_secret": self.secret,
        })
    }

    /// Configures how a service validates tokens
    /// (<https://docs.openstack.org/keystonemiddleware/latest/middlewarearchitecture.html>).
    pub fn configure(&self, service: &Service<'_>, config: &mut Config, files: &mut Files) {
        let section = config.section("keystone_authtoken");
        self.authenticate(service, section, files);
        section
            .set("www_authenticate_uri", &self.auth_url)
            .set("region_name", &self.region)
            .set("service_type", service.definition.type_)
            // Otherwise any user's token would be accepted as a service token.
            .set("service_token_roles", "service")
            .set("service_token_roles_required", true);
        if let Some(tokens) = &self.tokens {
            let servers = tokens.servers.iter();
            section
                .list(
                    "memcached_servers",
                    servers.map(CacheServer::for_python_memcached),
                )
                .set("memcache_security_strategy", "ENCRYPT")
                .secret("memcache_secret_key", &tokens.key);
        }
    }

    /// Sets how a service authenticates to Keystone when it calls another one, in any section that takes the options of
    /// keystoneauth (<https://docs.openstack.org/keystoneauth/latest/plugin-options.html>).
    pub fn authenticate(&self, service: &Service<'_>, section: &mut Section, files: &mut Files) {
        section
            .set("auth_type", "v3applicationcredential")
            .set("auth_url", &self.auth_url)
            .set("application_credential_id", &self.id)
            .secret("application_credential_secret", &self.secret);
        self.trust(service, section, files);
    }

    /// Sets the CA certificate of the control plane's endpoints, if the image may not trust it.
    pub fn trust(&self, service: &Service<'_>, section: &mut Section, files: &mut Files) {
        if let Some(path) = self.authority(service, files) {
            section.set("cafile", path);
        }
    }

    /// The path of the CA certificate of the control plane's endpoints, if the image may not trust it.
    pub fn authority(&self, service: &Service<'_>, files: &mut Files) -> Option<String> {
        files.text(AUTHORITY, self.authority.as_ref()?);
        Some(service.definition.file(AUTHORITY))
    }
}

/// The address of the Keystone of the same namespace, as its status says it.
fn found(service: &Service<'_>) -> Prerequisite<String> {
    let keystone = service.body::<Custom<KeystoneSpec>>(KEYSTONE).optional()?;
    keystone
        .and_then(|keystone| keystone.status.endpoint)
        .map(|endpoint| format!("{endpoint}/v3"))
        .ok_or_else(|| {
            let message = format!("waits for Keystone {KEYSTONE} to have an endpoint");
            Progress::waiting(Reason::WaitingFor("Keystone"), message)
        })
}

/// The CA certificate in the Secret of Keystone's certificate, if the URL is that of a Keystone in the same namespace.
fn authority(service: &Service<'_>, auth_url: &str) -> Prerequisite<Option<String>> {
    let Some((name, rest)) = auth_url
        .strip_prefix("https://")
        .and_then(|host| host.split_once('.'))
    else {
        return Ok(None);
    };
    if !rest.starts_with(&format!("{}.svc", service.namespace)) {
        return Ok(None);
    }
    let keystone = service.body::<Custom<KeystoneSpec>>(name);
    let Some(keystone) = keystone.optional()? else {
        return Ok(None);
    };
    let tls = &keystone.spec.common.tls;
    tls::authority(service.namespace, name, tls, service.observed)
}

impl TokenCache {
    fn resolve(
        service: &Service<'_>,
        access: &parts::KeystoneAccess,
        desired: &mut DesiredState,
    ) -> Prerequisite<Option<Self>> {
        let secret = service.named("token-cache");
        let generated = Generated {
            values: BTreeMap::from([(KEY.to_owned(), GeneratedValue::Password(32))]),
            labels: service.identity(),
            retention: Retention::WhileWanted,
            is_immutable: false,
        };
        desired.generate(service.namespace, &secret, generated);
        let external = &access.memcached_servers;
        let memcached = service.body::<StatefulSet>(MEMCACHED);
        if external.is_empty() && memcached.is_missing() {
            return Ok(None);
        }
        let wanted = parts::Cache {
            servers: external.clone(),
            ..parts::Cache::default()
        };
        let servers = cache(service, &wanted);
        let values = service.secret(&secret, "the key of cached tokens");
        let (servers, values) = (servers?, values?);
        let key = values.line(KEY)?.to_owned();
        Ok(Some(Self { servers, key }))
    }
}
