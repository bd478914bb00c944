//! keystone.conf, section by section.

use c5c3_api::keystone::KeystoneSpec;
use provider_openstack::{
    CacheServer, Config, Database, Files, Owned, Service, configure_cache, owned_options,
};

/// Where the keys of tokens are.
pub const FERNET_KEYS: &str = "/var/lib/keystone/fernet-keys";
/// Where the keys of credentials are.
pub const CREDENTIAL_KEYS: &str = "/var/lib/keystone/credential-keys";

const CREDENTIALS: &str = "nothing: credential keys are the operator's alone";
/// What users set elsewhere.
pub const OWNED: [Owned; 7] = owned_options! {
    "cache", "backend" => "cache.backend";
    "cache", "memcache_servers" => "cache.servers or cache.clusterRef";
    "credential" => CREDENTIALS;
    "database", "connection" => "database";
    "fernet_receipts" => "fernet";
    "fernet_tokens" => "fernet";
    "token", "provider" => "nothing: the keys that are kept are fernet's";
};

/// Loggers that say more than is of use, and how much they may. The one of the keys warns at each token that the folder of
/// a mounted Secret can be listed by everybody in the container.
const LOGGERS: [&str; 8] = [
    "keystone.common.fernet_utils=ERROR",
    "dogpile=INFO",
    "iso8601=WARN",
    "oslo_policy=INFO",
    "requests=WARN",
    "sqlalchemy=WARN",
    "stevedore=WARN",
    "urllib3=WARN",
];

/// The configuration of Keystone.
pub fn keystone_conf(
    service: &Service<'_>,
    spec: &KeystoneSpec,
    database: &Database,
    cache: &[CacheServer],
    files: &mut Files,
) -> Config {
    let mut config = Config::base();
    config
        .section("DEFAULT")
        .list("default_log_levels", LOGGERS);
    database.configure(service, config.section("database"), files);
    configure_cache(config.section("cache"), spec.cache.backend, cache);
    config
        .section("auth")
        .list("methods", methods(spec.federation.enabled));
    config
        .section("federation")
        .each("trusted_dashboard", &spec.federation.trusted_dashboards);
    config
        .section("token")
        .set("provider", "fernet")
        // Seconds. Keys are kept as long as tokens live, whatever is given here.
        .set("expiration", 3600)
        .set("allow_expired_window", 172_800);
    for section in ["fernet_tokens", "fernet_receipts"] {
        config
            .section(section)
            .set("key_repository", FERNET_KEYS)
            .set("max_active_keys", spec.fernet.max_active_keys);
    }
    config
        .section("credential")
        .set("provider", "fernet")
        .set("key_repository", CREDENTIAL_KEYS);
    config.merge(&service.extra);
    config
}

/// How users may prove who they are. Those of other identity providers need a proxy before Keystone that speaks with them.
fn methods(federation: bool) -> impl Iterator<Item = &'static str> {
    let own = ["password", "token", "totp", "application_credential"];
    let others = ["mapped", "openid", "saml2"];
    own.into_iter()
        .chain(others.into_iter().filter(move |_| federation))
}
