//! glance-api.conf, section by section.

use c5c3_api::glance::ImageCache;
use provider_openstack::{Config, Database, Files, KeystoneAccess, Owned, Service, owned_options};

use crate::cache;
use crate::store::{self, Store};

/// Folder of images that are on their way to a store, and of locks.
pub const STATE: &str = "/var/lib/glance";

/// Hosts that users may not have images fetched from: the pod itself, the metadata services of clouds, the API server. Glance
/// compares names and single addresses; which addresses a name may lead to is up to a NetworkPolicy.
const LOCAL: [&str; 12] = [
    "localhost",
    "127.0.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "169.254.169.254",
    "fd00:ec2::254",
    "metadata.google.internal",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];
const ON_ITS_WAY: &str = "nothing: what is on its way to a store has a place of its own";
/// What users set elsewhere.
pub const OWNED: [Owned<'_>; 14] = owned_options! {
    "DEFAULT", "enabled_backends" => "storage";
    "DEFAULT", "image_cache_dir" => "cache";
    "DEFAULT", "image_cache_driver" => "cache";
    "DEFAULT", "image_cache_max_size" => "cache";
    "DEFAULT", "worker_self_reference_url" => "nothing: each replica is told its own";
    "database", "connection" => "database";
    "file" => "storage";
    "glance_store" => "storage";
    "os_glance_staging_store" => ON_ITS_WAY;
    "os_glance_tasks_store" => ON_ITS_WAY;
    "oslo_concurrency", "lock_path" => "nothing: only there can be written";
    "paste_deploy", "config_file" => "nothing: it is the image's";
    "rbd" => "storage";
    "s3" => "storage";
};

/// The configuration of Glance.
pub fn glance_api_conf(
    service: &Service<'_>,
    cache: Option<&ImageCache>,
    stores: &[Store],
    database: &Database,
    access: &KeystoneAccess,
    files: &mut Files,
) -> Config {
    let mut config = Config::base();
    let methods = match service.common.tls.enabled {
        // Replicas hand a staged image to each other by their addresses, for which no certificate is.
        true => "[web-download,copy-image]",
        false => "[glance-direct,web-download,copy-image]",
    };
    config
        .section("DEFAULT")
        .set("enabled_import_methods", methods);
    config
        .section("import_filtering_opts")
        .set("allowed_schemes", "[http,https]")
        .set("allowed_ports", "[80,443]")
        .set("disallowed_hosts", format!("[{}]", LOCAL.join(",")));
    database.configure(service, config.section("database"), files);
    access.configure(service, &mut config, files);
    store::configure(stores, service, &mut config, files);
    for (section, folder) in [
        ("os_glance_staging_store", "staging"),
        ("os_glance_tasks_store", "tasks"),
    ] {
        config
            .section(section)
            .set("filesystem_store_datadir", format!("{STATE}/{folder}"));
    }
    config
        .section("oslo_concurrency")
        .set("lock_path", format!("{STATE}/lock"));
    config
        .section("paste_deploy")
        .set("flavor", "keystone")
        .set("config_file", "/etc/glance/glance-api-paste.ini");
    if let Some(cache) = cache {
        cache::configure(cache, &mut config);
    }
    config.merge(&service.extra);
    config
}
