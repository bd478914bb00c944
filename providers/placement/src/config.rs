//! placement.conf, section by section.

use provider_openstack::{Config, Database, Files, KeystoneAccess, Owned, Service, owned_options};

/// What users set elsewhere.
pub const OWNED: [Owned; 2] = owned_options! {
    "api", "auth_strategy" => "nothing: every request needs a token";
    "placement_database", "connection" => "database";
};

/// The configuration of Placement.
pub fn placement_conf(
    service: &Service<'_>,
    database: &Database,
    access: &KeystoneAccess,
    files: &mut Files,
) -> Config {
    let mut config = Config::base();
    config.section("api").set("auth_strategy", "keystone");
    database.configure(service, config.section("placement_database"), files);
    access.configure(service, &mut config, files);
    config.merge(&service.extra);
    config
}
