//! glance-api.conf, section by section.

use provider_composer::Failure;
use provider_openstack::{Config, Database, Files, KeystoneAccess, Service};

use crate::store::Store;

/// Room for what is on its way to a store, and locks.
pub const SCRATCH: &str = "/var/lib/glance";

/// The configuration of Glance.
///
/// # Errors
/// `extraConfig` says something that can't be.
pub fn glance_api_conf(
    service: &Service<'_>,
    store: &Store,
    database: &Database,
    access: &KeystoneAccess,
    files: &mut Files,
) -> Result<Config, Failure> {
    let mut config = Config::default();
    let methods = match service.common.tls.enabled {
        // Replicas hand a staged image to each other by their addresses, for which no certificate is.
        true => "[web-download,copy-image]",
        false => "[glance-direct,web-download,copy-image]",
    };
    config
        .section("DEFAULT")
        .set("use_stderr", true)
        .set("enabled_import_methods", methods);
    database.configure(config.section("database"));
    access.configure(service, &mut config, files);
    store.configure(&mut config);
    for (section, folder) in [
        ("os_glance_staging_store", "staging"),
        ("os_glance_tasks_store", "tasks"),
    ] {
        config
            .section(section)
            .set("filesystem_store_datadir", format!("{SCRATCH}/{folder}"));
    }
    config
        .section("oslo_concurrency")
        .set("lock_path", format!("{SCRATCH}/lock"));
    config
        .section("oslo_middleware")
        .set("enable_proxy_headers_parsing", true);
    config
        .section("paste_deploy")
        .set("flavor", "keystone")
        .set("config_file", "/etc/glance/glance-api-paste.ini");
    config.merge(&service.common.extra_config)?;
    Ok(config)
}
