//! nova.conf of each part of Nova, section by section.

use crate::clouds::Clouds;
use crate::consoles;
use crate::databases::trust;
use crate::ephemeral::Ephemeral;
use crate::pods::CONSOLE_PROXY;
use c5c3_api::nova::{Cell, NovaSpec};
use c5c3_api::parts::{CacheBackend, Exposure};
use provider_openstack::{
    CERTIFICATE, CacheServer, Config, Database, Files, KeystoneAccess, Messaging, NOVA, NOVA_CONF,
    NOVA_NOVNCPROXY, Owned, Policy, Prerequisite, Service, configure_cache, in_cluster,
    owned_options,
};

/// The configuration file.
pub const CONFIG: &str = NOVA_CONF;
/// The folder of what Nova writes.
pub const STATE: &str = "/var/lib/nova";
/// How often each pod of the scheduler looks for hosts that no cell has yet, in seconds. A new hypervisor takes servers after that time.
/// Nova elects all pods, because they have one name. docs/decisions/0049-discovery-of-hosts.md has what that costs.
const DISCOVERY: u32 = 10;

/// The scheduler's filters: Nova's own defaults, and those by which aggregates are kept for projects and flavors
/// (<https://docs.openstack.org/nova/latest/admin/scheduling.html>).
const FILTERS: [&str; 7] = [
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "AggregateMultiTenancyIsolation",
    "AggregateInstanceExtraSpecsFilter",
];

const DISTINCT: &str = "nothing: the operator sets it for each part of Nova";
const URLS: &str = "database";
/// What users set elsewhere.
pub const OWNED: [Owned<'_>; 12] = owned_options! {
    "DEFAULT", "host" => DISTINCT;
    "DEFAULT", "state_path" => DISTINCT;
    "DEFAULT", "transport_url" => "messaging";
    "api_database", "connection" => URLS;
    "database", "connection" => URLS;
    "cache", "backend" => "cache";
    "cache", "memcache_servers" => "cache";
    "filter_scheduler", "external_scheduler_api_url" => "scheduler.externalScheduler";
    "neutron", "metadata_proxy_shared_secret" => "nothing: it is in the Secret <nova>-metadata";
    "oslo_concurrency", "lock_path" => DISTINCT;
    "service_user" => "keystone";
    "upgrade_levels", "compute" => "nothing: it follows from the computes that run";
};

/// What the configuration of every part has, whatever its database and message bus.
pub struct Shared {
    config: Config,
    files: Files,
}

/// What all parts of Nova have in common.
pub struct Facts<'a> {
    /// Nova.
    pub service: &'a Service<'a>,
    /// What is wanted of it.
    pub spec: &'a NovaSpec,
    /// How the hypervisor-pool-operator calls it.
    pub clouds: &'a Prerequisite<Clouds>,
    /// How it authenticates to Keystone.
    pub access: &'a KeystoneAccess,
    /// What every part has.
    pub shared: &'a Shared,
    /// Members of the cache, if there is one.
    pub cache: &'a [CacheServer],
    /// The pool in Ceph with the disks of servers, if they aren't on the hosts.
    pub ephemeral: &'a Prerequisite<Option<Ephemeral>>,
}

/// What the parts outside cells have besides.
pub struct Control<'a> {
    /// The API's database.
    pub api: &'a Database,
    /// The database of cell0.
    pub cell0: &'a Database,
    /// Their message bus.
    pub bus: &'a Messaging,
    /// The secret that Neutron's agents share with the metadata API.
    pub metadata: &'a str,
    /// Who may do what.
    pub policy: &'a Policy,
}

impl Shared {
    /// Writes it once, for all parts.
    pub fn of(service: &Service<'_>, access: &KeystoneAccess) -> Self {
        let (mut config, mut files) = (Config::base(), Files::default());
        config.section("DEFAULT").set("state_path", STATE);
        // Computes are upgraded last.
        config.section("upgrade_levels").set("compute", "auto");
        let service_user = config.section("service_user");
        service_user.set("send_service_user_token", true);
        access.authenticate(service, service_user, &mut files);
        for name in ["placement", "neutron", "cinder"] {
            access.authenticate(service, config.section(name), &mut files);
        }
        access.trust(service, config.section("glance"), &mut files);
        for name in ["placement", "neutron", "glance"] {
            config
                .section(name)
                .set("region_name", access.region())
                .set("valid_interfaces", "internal");
        }
        config
            .section("cinder")
            .set("os_region_name", access.region())
            .set("catalog_info", "volumev3::internalURL");
        Self { config, files }
    }
}

impl Facts<'_> {
    /// Returns the files of the API, the metadata API, the scheduler and the super conductor. The caller adds the CA certificates of the
    /// databases ([`Recipe::trust_databases`](crate::recipe::Recipe::trust_databases)). They have one name in Nova's list of
    /// services, so that pods that are gone leave no entries there.
    pub fn control(&self, control: &Control<'_>) -> Files {
        let mut files = Files::default();
        let mut config = self.common(control.bus, &mut files);
        let service = self.service;
        config
            .section("DEFAULT")
            .set("host", service.name)
            // Nova would start to look for hosts up to a minute late, at random, and servers on new hosts fail until then.
            .set("periodic_fuzzy_delay", 0);
        control
            .api
            .configure(service, config.section("api_database"), &mut files);
        control
            .cell0
            .configure(service, config.section("database"), &mut files);
        self.access.configure(service, &mut config, &mut files);
        config.section("conductor").set("workers", 1);
        config
            .section("scheduler")
            .set("workers", 1)
            .set("discover_hosts_in_cells_interval", DISCOVERY);
        config
            .section("neutron")
            .set("service_metadata_proxy", true)
            .secret("metadata_proxy_shared_secret", control.metadata);
        let filters = config.section("filter_scheduler");
        filters.list("enabled_filters", FILTERS);
        if let Some(url) = self.external_scheduler() {
            filters.set("external_scheduler_api_url", url);
        }
        if !self.cache.is_empty() {
            let backend = self.spec.cache.as_ref().map(|cache| cache.backend);
            let backend: CacheBackend = backend.unwrap_or_default();
            configure_cache(config.section("cache"), backend, self.cache);
        }
        config.merge(&service.extra);
        control.policy.configure(service, &mut config, &mut files);
        files.config(CONFIG, &config);
        files
    }

    /// Returns the files of a cell's conductor, and those of its noVNC proxy, which may have a certificate of consoles. They know
    /// nothing of the API's database: a cell works without it.
    pub fn cell(
        &self,
        name: &str,
        database: &Database,
        bus: &Messaging,
        has_certificate: bool,
    ) -> Files {
        let mut files = Files::default();
        let mut config = self.common(bus, &mut files);
        let service = self.service;
        config
            .section("DEFAULT")
            .set("host", format!("{}-{name}", service.name))
            .set("web", "/usr/share/novnc");
        files.text(CONSOLE_PROXY, include_str!("novncproxy.py"));
        if service.common.tls.enabled {
            config
                .section("DEFAULT")
                .set("ssl_only", true)
                .set("cert", format!("{CERTIFICATE}/tls.crt"))
                .set("key", format!("{CERTIFICATE}/tls.key"));
        }
        database.configure(service, config.section("database"), &mut files);
        config.section("conductor").set("workers", 1);
        config.section("vnc").set("novncproxy_host", "0.0.0.0").set(
            "novncproxy_port",
            NOVA_NOVNCPROXY.port().unwrap_or_default(),
        );
        if has_certificate {
            consoles::configure(config.section("vnc"));
        }
        config.merge(&service.extra);
        files.config(CONFIG, &config);
        files
    }

    /// Returns the files of the tasks that change a cell's database and its mapping in the API's.
    pub fn tasks(&self, api: &Database, database: &Database, bus: Option<&Messaging>) -> Files {
        let (mut files, mut config) = (Files::default(), Config::base());
        if let Some(bus) = bus {
            bus.configure(self.service, &mut config, &mut files);
        }
        config.section("DEFAULT").set("state_path", STATE);
        api.configure(self.service, config.section("api_database"), &mut files);
        database.configure(self.service, config.section("database"), &mut files);
        trust(&mut files, [api.authority(), database.authority()]);
        files.text("cell.py", include_str!("cell.py"));
        files.config(CONFIG, &config);
        files
    }

    /// What every part has, with its message bus.
    pub(crate) fn common(&self, bus: &Messaging, files: &mut Files) -> Config {
        files.merge(&self.shared.files);
        let mut config = self.shared.config.clone();
        bus.configure(self.service, &mut config, files);
        config
    }

    /// The URL of an external scheduler, which only SAP's Nova asks.
    fn external_scheduler(&self) -> Option<&str> {
        let wanted = &self.spec.scheduler.external_scheduler;
        let forked = self.service.common.image.fork.is_some();
        wanted
            .endpoint
            .as_deref()
            .filter(|_| wanted.enabled && forked)
    }

    /// The URL at which browsers find the consoles of a cell's servers.
    pub(crate) fn console(&self, cell: &Cell) -> String {
        let base = cell.consoles.as_ref().map(Exposure::url);
        let base = base.unwrap_or_else(|| {
            let scheme = match self.service.common.tls.enabled {
                true => "https",
                false => "http",
            };
            let (name, cell, proxy) = (self.service.name, &cell.name, NOVA_NOVNCPROXY.name);
            let host = in_cluster(&format!("{name}-{cell}-{proxy}"), self.service.namespace);
            let port = NOVA_NOVNCPROXY.port().unwrap_or_default();
            format!("{scheme}://{host}:{port}")
        });
        format!("{base}/vnc_lite.html")
    }
}

/// The path of the configuration file in a pod.
pub fn path() -> String {
    NOVA.file(CONFIG)
}
