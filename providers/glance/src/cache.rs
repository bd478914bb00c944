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
        // What is known of the images goes with them. The driver that keeps it in the database never ends to make room when
        // a file isn't known there, for instance because the pod's address has changed.
        .set("image_cache_driver", "sqlite")
        .set("image_cache_max_size", cache.size.bytes());
    config
        .section("paste_deploy")
        .set("flavor", "keystone+caching");
}

/// Shows a program where they are. There is room for those that come until the next time that room is made.
pub fn mount(cache: &ImageCache, program: Program) -> Program {
    program.mount("cache", FOLDER, Source::Room(2 * cache.size.bytes()))
}

/// The command that removes images over the limit, which Glance itself never does.
pub fn prune(file: &str) -> String {
    format!("glance-cache-pruner --config-file {file}; glance-cache-cleaner --config-file {file}")
}
