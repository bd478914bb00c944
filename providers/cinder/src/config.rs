//! cinder.conf, section by section.

use c5c3_api::cinder::CinderSpec;
use provider_openstack::{
    CINDER, Config, Database, Files, KeystoneAccess, Messaging, Owned, Policy, Release, Service,
    owned_options,
};

use crate::{CONFIG, locks};

/// Since when Cinder calls Glance as its own user where a user's token doesn't suffice.
const GLANCE_SECTION: Release = Release::new(2025, 2);
/// Since when it can be told Glance's region.
const GLANCE_REGION: Release = Release::new(2026, 1);
/// Folder of images that are converted.
pub const STATE: &str = "/var/lib/cinder";
/// The section under which Cinder lists the options of backends.
pub const LISTED: &str = "backend_defaults";

const IMAGE: &str = "nothing: it is the image's";
const MEMBER: &str = "nothing: each member is known by its pod";
const LOCKS: &str = "nothing: members lock by rows of Cinder's database";
const SHUTDOWN: &str = "nothing: it follows from the pods' termination grace period";
/// What users set elsewhere.
const OWNED: [Owned<'static>; 26] = owned_options! {
    "DEFAULT", "api_paste_config" => IMAGE;
    "DEFAULT", "auth_strategy" => "nothing: requests without a token are refused";
    "DEFAULT", "backup_ceph_conf" => "backup.rbd";
    "DEFAULT", "backup_ceph_pool" => "backup.rbd";
    "DEFAULT", "backup_ceph_user" => "backup.rbd";
    "DEFAULT", "backup_driver" => "backup";
    "DEFAULT", "backup_s3_ca_cert_file" => "backup.s3";
    "DEFAULT", "backup_s3_endpoint_url" => "backup.s3";
    "DEFAULT", "backup_s3_store_access_key" => "backup.s3";
    "DEFAULT", "backup_s3_store_bucket" => "backup.s3";
    "DEFAULT", "backup_s3_store_secret_key" => "backup.s3";
    "DEFAULT", "cinder_internal_tenant_project_id" => "imageVolumeCache.projectId";
    "DEFAULT", "cinder_internal_tenant_user_id" => "imageVolumeCache.userId";
    "DEFAULT", "cluster" => MEMBER;
    "DEFAULT", "default_volume_type" => "defaultVolumeType";
    "DEFAULT", "enabled_backends" => "backends";
    "DEFAULT", "graceful_shutdown_timeout" => SHUTDOWN;
    "DEFAULT", "host" => MEMBER;
    "DEFAULT", "rootwrap_config" => IMAGE;
    "DEFAULT", "transport_url" => "messaging";
    "coordination", "backend_url" => LOCKS;
    "database", "connection" => "database";
    "glance" => "keystone";
    "nova" => "keystone";
    "service_user" => "keystone";
    "privsep_osbrick" => IMAGE;
};
/// What users set elsewhere of backends.
pub const BACKEND: [Owned<'static>; 11] = [
    Owned::option(LISTED, "backend_host", MEMBER),
    Owned::option(LISTED, "image_volume_cache_enabled", "imageVolumeCache"),
    Owned::option(LISTED, "image_volume_cache_max_count", "imageVolumeCache"),
    Owned::option(LISTED, "image_volume_cache_max_size_gb", "imageVolumeCache"),
    Owned::option(LISTED, "rbd_ceph_conf", "rbd.cephSecretRef"),
    Owned::option(LISTED, "rbd_cluster_name", "rbd.cephSecretRef"),
    Owned::option(LISTED, "rbd_pool", "rbd.pool"),
    Owned::option(LISTED, "rbd_secret_uuid", "secretUuid"),
    Owned::option(LISTED, "rbd_user", "rbd.user"),
    Owned::option(LISTED, "volume_backend_name", "the name of the backend"),
    Owned::option(LISTED, "volume_driver", "driver"),
];

/// What users set elsewhere than in extraConfig.
pub fn owned(spec: &CinderSpec) -> Vec<Owned<'_>> {
    let backends = spec.backends.iter();
    let sections = backends.map(|backend| Owned::section(&backend.name, "backends"));
    OWNED.into_iter().chain(BACKEND).chain(sections).collect()
}

/// What the configuration is made from.
pub struct Facts<'a> {
    /// The service.
    pub service: &'a Service<'a>,
    /// What its user wants.
    pub spec: &'a CinderSpec,
    /// Its database.
    pub database: &'a Database,
    /// Its message bus.
    pub bus: &'a Messaging,
    /// How it reaches Keystone.
    pub access: &'a KeystoneAccess,
    /// Its policy rules.
    pub policy: &'a Policy,
}

impl Facts<'_> {
    /// Returns the configuration of the API, the scheduler and tasks.
    pub fn control(&self, files: &mut Files) -> Config {
        let mut config = self.common(files);
        self.policy.configure(self.service, &mut config, files);
        self.finish(&mut config);
        config
    }

    /// Returns what all programs have.
    pub fn common(&self, files: &mut Files) -> Config {
        let Self { service, spec, .. } = self;
        let mut config = Config::base();
        let section = config.section("DEFAULT");
        section
            .set("auth_strategy", "keystone")
            .set("rootwrap_config", "/etc/cinder/rootwrap.conf")
            .set("state_path", STATE)
            .set("glance_catalog_info", "image:glance:internalURL");
        if let Some(type_) = &spec.default_volume_type {
            section.set("default_volume_type", type_);
        }
        if let Some(cache) = &spec.image_volume_cache {
            section
                .set("cinder_internal_tenant_project_id", &cache.project_id)
                .set("cinder_internal_tenant_user_id", &cache.user_id);
        }
        self.database
            .configure(service, config.section("database"), files);
        locks::configure(config.section("coordination"), files);
        self.bus.configure(service, &mut config, files);
        self.access.configure(service, &mut config, files);
        // Tokens of users may expire while Nova and Glance work on what Cinder asked for.
        config
            .section("service_user")
            .set("send_service_user_token", true);
        for name in ["nova", "service_user"] {
            self.access
                .authenticate(service, config.section(name), files);
        }
        config
            .section("nova")
            .set("region_name", self.access.region())
            .set("interface", "internal");
        // Cinder verifies Glance's certificate by this option, also where the section glance has its own.
        if let Some(path) = self.access.authority(service, files) {
            let section = config.section("DEFAULT");
            section.set("glance_ca_certificates_file", path);
        }
        if service.release >= GLANCE_SECTION {
            let section = config.section("glance");
            self.access.authenticate(service, section, files);
            if service.release >= GLANCE_REGION {
                section.set("region_name", self.access.region());
            }
        }
        // The helpers run as the pod's own user, without capabilities. Volumes in Ceph need none.
        for name in ["cinder_sys_admin", "privsep_osbrick"] {
            config.section(name).set("capabilities", "").set(
                "helper_command",
                format!("privsep-helper --config-file {}", CINDER.file(CONFIG)),
            );
        }
        config
    }

    /// Adds the user's options.
    pub fn finish(&self, config: &mut Config) {
        config.merge(&self.service.extra);
    }
}
