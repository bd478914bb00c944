//! placement.conf, section by section.

use provider_composer::Failure;
use provider_openstack::{Config, Database, Files, KeystoneAccess, Service};

/// The configuration of Placement.
///
/// # Errors
/// `extraConfig` says something that can't be.
pub fn placement_conf(
    service: &Service<'_>,
    database: &Database,
    access: &KeystoneAccess,
    files: &mut Files,
) -> Result<Config, Failure> {
    let mut config = Config::default();
    config.section("DEFAULT").set("use_stderr", true);
    config.section("api").set("auth_strategy", "keystone");
    database.configure(config.section("placement_database"));
    access.configure(service, &mut config, files);
    config
        .section("oslo_middleware")
        .set("enable_proxy_headers_parsing", true);
    config.merge(&service.common.extra_config)?;
    Ok(config)
}
