//! Images that each replica keeps by itself (<https://docs.openstack.org/glance/latest/admin/cache.html>).

use c5c3_api::glance::ImageCache;
use provider_openstack::{Config, Program, Source};

/// Where they are.
const FOLDER: &str = "/var/lib/cache";

/// Says it in Glance's configuration.
pub fn configure(cache: &ImageCache, config: &mut Config) {
    config
        .section("DEFAULT")
        .set("image_cache_dir", FOLDER)
        // What is known of the images goes with them. The driver that keeps it in the database never ends to delete images when
        // a file isn't known there, for instance because the pod's address has changed.
        .set("image_cache_driver", "sqlite")
        .set("image_cache_max_size", cache.size.bytes());
    config
        .section("paste_deploy")
        .set("flavor", "keystone+caching");
}

/// Shows a program where they are. The volume has space for those that are added until the next time that others are removed.
pub fn mount(cache: &ImageCache, program: Program) -> Program {
    let size_limit = Some(2 * cache.size.bytes());
    program.mount("cache", FOLDER, Source::EmptyDir { size_limit })
}

/// The command that removes images over the limit, which Glance itself never does.
pub fn prune(file: &str) -> String {
    format!("glance-cache-pruner --config-file {file}; glance-cache-cleaner --config-file {file}")
}
