//! The registry of OpenStack services: the fixed facts of each service.

use c5c3_api::{
    cinder::CinderSpec, custom_resource::dependencies, glance::GlanceSpec, keystone::KeystoneSpec,
    neutron::NeutronSpec, nova::NovaSpec, placement::PlacementSpec, tempest::TempestSpec,
};
use provider_composer::ResourceKind;

use crate::definition::{
    AFTER_CONDUCTORS, CINDER_BACKUP, CINDER_SCHEDULER, CINDER_VOLUME, ComponentDefinition,
    ComponentKind, Egress, GLANCE_API, NEUTRON_OVN_MAINTENANCE_WORKER, NEUTRON_PERIODIC_WORKERS,
    NEUTRON_RPC_SERVER, NOVA_CONDUCTOR, NOVA_METADATA, NOVA_NOVNCPROXY, NOVA_SCHEDULER,
    OptionTables, keystone_credentials, part,
};
use crate::release::table::RELEASES;
use Node::{
    Catalogue, Cinder, Cortex, Glance, Keystone, MariaDb, Memcached, Neutron, Nova, Ovn, Placement,
    RabbitMq,
};

/// A part of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// The database server.
    MariaDb,
    /// The message bus.
    RabbitMq,
    /// The key-value store.
    Valkey,
    /// The cache.
    Memcached,
    /// Identity.
    Keystone,
    /// The service catalogue, by K-ORC.
    Catalogue,
    /// Images.
    Glance,
    /// Inventory of resources.
    Placement,
    /// Virtual networks of the nodes.
    Ovn,
    /// Compute.
    Nova,
    /// Networks.
    Neutron,
    /// Volumes.
    Cinder,
    /// The scheduler.
    Cortex,
    /// Tests.
    Tempest,
}

/// The fixed facts of an OpenStack service.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceDefinition {
    /// The name of the service and of its user in Keystone, for instance `glance`.
    pub name: &'static str,
    /// The kind of the resource that its operator reconciles.
    pub kind: ResourceKind,
    /// Its part of a control plane.
    pub node: Node,
    /// Its phase, 1 to 7. Services of a phase need only parts of it and of earlier ones.
    pub phase: u8,
    /// The parts that have to be ready before it is composed.
    pub needs: &'static [Node],
    /// Other parts that its pods connect to, which it doesn't wait for.
    pub uses: &'static [Node],
    /// The condition of a control plane that reports whether it is ready.
    pub condition: &'static str,
    /// The type in the catalogue, for instance `image` (<https://service-types.openstack.org/>).
    pub type_: &'static str,
    /// The path of the endpoints in the catalogue, for instance `/v3`.
    pub path: &'static str,
    /// The folder of the configuration files in a pod.
    pub folder: &'static str,
    /// The suffixes of the databases in MariaDB: `""` is the database with the service's name, `api` is `nova_api`. Each has its
    /// own user and Secret.
    pub databases: &'static [&'static str],
    /// The suffixes of the virtual hosts in RabbitMQ. Each has its own user and Secret.
    pub buses: &'static [&'static str],
    /// The roles of its user in the project service. None for a service without a user.
    pub roles: &'static [&'static str],
    /// What its pods connect to beyond other parts of a control plane.
    pub egress: &'static [Egress],
    /// The tags of its images, one for each of the [known releases](RELEASES).
    pub tags: [&'static str; RELEASES.len()],
    /// The options and policy rules that its releases read, if operators check them.
    pub options: Option<OptionTables>,
    /// The component that serves the API.
    pub api: ComponentDefinition,
    /// The other components.
    pub components: &'static [ComponentDefinition],
}

impl ServiceDefinition {
    /// The ports of its endpoints, the API's first.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        let components = std::iter::once(&self.api).chain(self.components);
        components.filter_map(ComponentDefinition::port)
    }

    /// The port of the API.
    pub fn port(&self) -> u16 {
        self.api.port().unwrap_or_default()
    }

    /// The path of a configuration file in a pod.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// The name of a database or bus in objects: `nova` for the suffix `""`, `nova-api` for `api`.
    pub fn part(&self, suffix: &str) -> String {
        part(self.name, suffix)
    }

    /// The name of a database and of its user, for instance `nova_api`.
    pub fn database_name(&self, suffix: &str) -> String {
        self.part(suffix).replace('-', "_")
    }

    /// The Secret with user and password of a database.
    pub fn database_credentials(&self, suffix: &str) -> String {
        format!("{}-db-credentials", self.part(suffix))
    }

    /// The Secret with user and password of a message bus.
    pub fn bus_credentials(&self, suffix: &str) -> String {
        format!("{}-rabbitmq-credentials", self.part(suffix))
    }

    /// The Secret with the application credential.
    pub fn keystone_credentials(&self) -> String {
        keystone_credentials(self.name)
    }
}

/// Validates tokens, and calls other services with the user's token and its own.
const SERVICE: &[&str] = &["service"];
/// Also calls what other services allow only admins: Nova creates ports in Neutron and allocations in Placement, Neutron and
/// Cinder send events to Nova.
const ADMIN: &[&str] = &["admin", "service"];

/// The tables of a service, which `lab-tables` writes.
macro_rules! tables {
    ($service:literal) => {
        Some(OptionTables {
            options: include_str!(concat!("../options/", $service, ".options")),
            deprecated: include_str!(concat!("../options/", $service, ".deprecated")),
            rules: include_str!(concat!("../options/", $service, ".rules")),
        })
    };
}

/// Identity. Keystone's bootstrap creates its own catalogue entries.
pub const KEYSTONE: ServiceDefinition = ServiceDefinition {
    name: "keystone",
    kind: ResourceKind::of::<KeystoneSpec>(),
    node: Keystone,
    phase: 2,
    needs: &[MariaDb, Memcached],
    uses: &[],
    condition: "KeystoneReady",
    type_: "identity",
    path: "/v3",
    folder: "/etc/keystone/config",
    databases: &[""],
    buses: &[],
    roles: &[],
    egress: &[Egress::IdentityProvider],
    tags: ["27.1.0", "28.1.0", "29.1.0", "30.0.0"],
    options: tables!("keystone"),
    api: ComponentDefinition::api("keystone.wsgi.api", "/healthcheck", 5000),
    components: &[],
};

/// Images.
pub const GLANCE: ServiceDefinition = ServiceDefinition {
    name: "glance",
    kind: ResourceKind::of::<GlanceSpec>(),
    node: Glance,
    phase: 4,
    needs: &[Keystone, Catalogue, MariaDb],
    uses: &[Memcached],
    condition: "GlanceReady",
    type_: "image",
    path: "",
    folder: "/etc/glance/config",
    databases: &[""],
    buses: &[],
    roles: SERVICE,
    egress: &[Egress::Ceph, Egress::Web],
    tags: ["30.2.0", "31.1.0", "32.0.0", "33.0.0"],
    options: tables!("glance"),
    api: GLANCE_API,
    components: &[],
};

/// Inventory of resources.
pub const PLACEMENT: ServiceDefinition = ServiceDefinition {
    name: "placement",
    kind: ResourceKind::of::<PlacementSpec>(),
    node: Placement,
    phase: 4,
    needs: &[Keystone, Catalogue, MariaDb],
    uses: &[Memcached],
    condition: "PlacementReady",
    type_: "placement",
    path: "",
    folder: "/etc/placement/config",
    databases: &[""],
    buses: &[],
    roles: SERVICE,
    egress: &[],
    tags: ["13.0.1", "14.0.0", "15.0.0", "16.0.0"],
    options: tables!("placement"),
    api: ComponentDefinition::api("placement.wsgi.api", "/", 8778),
    components: &[],
};

/// Compute.
pub const NOVA: ServiceDefinition = ServiceDefinition {
    name: "nova",
    kind: ResourceKind::of::<NovaSpec>(),
    node: Nova,
    phase: 5,
    needs: &[Keystone, Catalogue, Placement, Glance, RabbitMq, MariaDb],
    uses: &[Memcached, Neutron, Cinder, Cortex],
    condition: "NovaReady",
    type_: "compute",
    path: "/v2.1",
    folder: "/etc/nova/config",
    databases: &["", "api", "cell0"],
    buses: &["", "cell1"],
    roles: ADMIN,
    egress: &[Egress::Consoles, Egress::Ceph],
    tags: ["31.3.1", "32.2.1", "33.0.2", "34.0.0"],
    options: tables!("nova"),
    api: ComponentDefinition {
        after: AFTER_CONDUCTORS,
        ..ComponentDefinition::api("nova.wsgi.osapi_compute", "/", 8774)
    },
    components: &[
        NOVA_CONDUCTOR,
        NOVA_SCHEDULER,
        NOVA_METADATA,
        NOVA_NOVNCPROXY,
    ],
};

/// Networks.
pub const NEUTRON: ServiceDefinition = ServiceDefinition {
    name: "neutron",
    kind: ResourceKind::of::<NeutronSpec>(),
    node: Neutron,
    phase: 5,
    needs: &[Keystone, Catalogue, Ovn, RabbitMq, MariaDb],
    uses: &[Memcached, Placement, Nova],
    condition: "NeutronReady",
    type_: "network",
    path: "",
    folder: "/etc/neutron/config",
    databases: &[""],
    buses: &[""],
    roles: ADMIN,
    egress: &[],
    tags: ["26.0.6", "27.0.4", "28.0.2", "29.0.0"],
    options: tables!("neutron"),
    api: ComponentDefinition::api("neutron.wsgi.api", "/healthcheck", 9696),
    components: &[
        NEUTRON_PERIODIC_WORKERS,
        NEUTRON_OVN_MAINTENANCE_WORKER,
        NEUTRON_RPC_SERVER,
    ],
};

/// Volumes.
pub const CINDER: ServiceDefinition = ServiceDefinition {
    name: "cinder",
    kind: ResourceKind::of::<CinderSpec>(),
    node: Cinder,
    phase: 5,
    needs: &[Keystone, Catalogue, RabbitMq, MariaDb],
    uses: &[Memcached, Glance, Nova],
    condition: "CinderReady",
    type_: "volumev3",
    path: "/v3/%(project_id)s",
    folder: "/etc/cinder/config",
    databases: &[""],
    buses: &[""],
    roles: ADMIN,
    egress: &[Egress::Ceph, Egress::VolumeBackups],
    tags: ["26.3.0", "27.0.0", "28.0.0", "29.0.0"],
    options: tables!("cinder"),
    // The API comes last, since it sends to the others what only the new release understands
    // (<https://docs.openstack.org/cinder/latest/admin/upgrades.html>).
    api: ComponentDefinition {
        after: &["scheduler", "volume", "backup"],
        ..ComponentDefinition::api("cinder.wsgi.api", "/healthcheck", 8776)
    },
    components: &[CINDER_SCHEDULER, CINDER_VOLUME, CINDER_BACKUP],
};

/// Tests. It has no API, and isn't in the catalogue.
pub const TEMPEST: ServiceDefinition = ServiceDefinition {
    name: "tempest",
    kind: ResourceKind::of::<TempestSpec>(),
    node: Node::Tempest,
    phase: 7,
    needs: &[Nova, Neutron, Cinder, Glance, Keystone],
    uses: &[Placement],
    condition: "TempestReady",
    type_: "",
    path: "",
    folder: "/etc/tempest/config",
    databases: &[],
    buses: &[],
    // It creates domains, and deletes what is left in any project. No service sends it a user's token.
    roles: &["admin"],
    egress: &[],
    // The version that was released with each, or later: it tests all releases that are maintained
    // (<https://docs.openstack.org/tempest/latest/stable_branch_support_policy.html>).
    tags: ["41.0.0", "45.0.0", "46.2.0", "47.0.0"],
    options: None,
    api: ComponentDefinition {
        name: "run",
        kind: ComponentKind::Daemon { probe: &[] },
        condition: "TestsScheduled",
        after: &[],
    },
    components: &[],
};

/// Every service with an API in the catalogue, Keystone first.
pub static SERVICES: [&ServiceDefinition; 6] =
    [&KEYSTONE, &GLANCE, &PLACEMENT, &NOVA, &NEUTRON, &CINDER];

/// The services that Cortex connects to and doesn't wait for. It waits for Nova and Cinder.
pub(crate) const USED_BY_CORTEX: &[Node] = &[Keystone, Glance, Placement, Neutron];

/// The kinds that `dependsOn` may name.
pub fn dependency_kinds() -> impl Iterator<Item = ResourceKind> {
    dependencies()
        .map(|kind| ResourceKind::namespaced(kind.group, kind.version, kind.kind, kind.plural))
}
