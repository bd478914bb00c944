//! The registry of OpenStack services: the fixed facts of each service.

use c5c3_api::{
    cinder::CinderSpec, cortex::CortexSpec, glance::GlanceSpec, keystone::KeystoneSpec,
    neutron::NeutronSpec, nova::NovaSpec, ovn_cluster::OvnClusterSpec, parts::DependencyKind,
    placement::PlacementSpec, tempest::TempestSpec,
};
use provider_composer::ResourceKind;

use crate::definition::{ComponentDefinition, ComponentKind, Egress, ServiceDefinition};
use crate::options::Tables;
use crate::pod::CONNECTED;

/// Validates tokens, and calls other services with the user's token and its own.
const SERVICE: &[&str] = &["service"];
/// Calls what other services let only admins call besides: Nova's ports in Neutron and allocations in Placement, the events
/// that Neutron and Cinder send to Nova.
const ADMIN: &[&str] = &["admin", "service"];

/// The tables of a service, which `lab-tables` writes.
macro_rules! tables {
    ($service:literal) => {
        Some(Tables {
            options: include_str!(concat!("../options/", $service, ".options")),
            rules: include_str!(concat!("../options/", $service, ".rules")),
        })
    };
}

/// Identity. Keystone's bootstrap creates its own catalogue entries.
pub const KEYSTONE: ServiceDefinition = ServiceDefinition {
    name: "keystone",
    kind: ResourceKind::of::<KeystoneSpec>(),
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
    type_: "image",
    path: "",
    folder: "/etc/glance/config",
    databases: &[""],
    buses: &[],
    roles: SERVICE,
    egress: &[Egress::Ceph, Egress::Web],
    tags: ["30.2.0", "31.1.0", "32.0.0", "33.0.0"],
    options: tables!("glance"),
    api: ComponentDefinition::api("glance.wsgi.api", "/healthcheck", 9292),
    components: &[],
};

/// Inventory of resources.
pub const PLACEMENT: ServiceDefinition = ServiceDefinition {
    name: "placement",
    kind: ResourceKind::of::<PlacementSpec>(),
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
    type_: "compute",
    path: "/v2.1",
    folder: "/etc/nova/config",
    databases: &["", "api", "cell0"],
    buses: &["", "cell1"],
    roles: ADMIN,
    egress: &[Egress::Consoles],
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

/// Nova's conductors run a new image before its other components.
const AFTER_CONDUCTORS: &[&str] = &["conductor"];

/// Accesses the databases for Nova's other components. Each cell has one of its own.
pub const NOVA_CONDUCTOR: ComponentDefinition = ComponentDefinition {
    name: "conductor",
    kind: ComponentKind::Daemon { probe: CONNECTED },
    condition: "ConductorReady",
    after: &[],
};

/// Chooses a host for each server.
pub const NOVA_SCHEDULER: ComponentDefinition = ComponentDefinition {
    name: "scheduler",
    kind: ComponentKind::Daemon { probe: CONNECTED },
    condition: "SchedulerReady",
    after: AFTER_CONDUCTORS,
};

/// Serves the metadata of servers to Neutron's agents.
pub const NOVA_METADATA: ComponentDefinition = ComponentDefinition {
    name: "metadata",
    kind: ComponentKind::Wsgi {
        module: "nova.wsgi.metadata",
        health: "/",
        port: 8775,
    },
    condition: "MetadataReady",
    after: AFTER_CONDUCTORS,
};

/// Shows the consoles of a cell's servers.
pub const NOVA_NOVNCPROXY: ComponentDefinition = ComponentDefinition {
    name: "novncproxy",
    kind: ComponentKind::Proxy { port: 6080 },
    condition: "CellsReady",
    after: AFTER_CONDUCTORS,
};

/// Networks.
pub const NEUTRON: ServiceDefinition = ServiceDefinition {
    name: "neutron",
    kind: ResourceKind::of::<NeutronSpec>(),
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

/// Runs the periodic tasks of Neutron's plugins. Since 2025.1 the API, which uwsgi serves, can't
/// (<https://docs.openstack.org/neutron/latest/admin/config-neutron-server-processes.html>).
pub const NEUTRON_PERIODIC_WORKERS: ComponentDefinition = ComponentDefinition {
    name: "periodic-workers",
    kind: ComponentKind::Daemon { probe: &[] },
    condition: "PeriodicWorkersReady",
    after: &[],
};

/// Compares Neutron's database with OVN's, and corrects OVN's.
pub const NEUTRON_OVN_MAINTENANCE_WORKER: ComponentDefinition = ComponentDefinition {
    name: "ovn-maintenance-worker",
    kind: ComponentKind::Daemon { probe: CONNECTED },
    condition: "OVNMaintenanceWorkerReady",
    after: &[],
};

/// Answers agents over the message bus. Those of OVN talk to its databases instead and need none.
pub const NEUTRON_RPC_SERVER: ComponentDefinition = ComponentDefinition {
    name: "rpc-server",
    kind: ComponentKind::Daemon { probe: CONNECTED },
    condition: "RPCServerReady",
    after: &[],
};

/// Volumes.
pub const CINDER: ServiceDefinition = ServiceDefinition {
    name: "cinder",
    kind: ResourceKind::of::<CinderSpec>(),
    type_: "volumev3",
    path: "/v3/%(project_id)s",
    folder: "/etc/cinder/config",
    databases: &[""],
    buses: &[""],
    roles: ADMIN,
    egress: &[Egress::Ceph, Egress::VolumeBackups],
    tags: ["26.3.0", "27.0.0", "28.0.0", "29.0.0"],
    options: tables!("cinder"),
    // The API comes last, since it sends to the others what only the new release knows
    // (<https://docs.openstack.org/cinder/latest/admin/upgrades.html>).
    api: ComponentDefinition {
        after: &["scheduler", "volume", "backup"],
        ..ComponentDefinition::api("cinder.wsgi.api", "/healthcheck", 8776)
    },
    components: &[CINDER_SCHEDULER, CINDER_VOLUME, CINDER_BACKUP],
};

/// Chooses a backend for each volume.
pub const CINDER_SCHEDULER: ComponentDefinition = ComponentDefinition {
    name: "scheduler",
    kind: ComponentKind::Daemon { probe: CONNECTED },
    condition: "SchedulerReady",
    after: &[],
};

/// Works on the volumes of a backend. Each backend has one of its own.
pub const CINDER_VOLUME: ComponentDefinition = ComponentDefinition {
    name: "volume",
    kind: ComponentKind::Member {
        probe: CONNECTED,
        // A copy of an image. Servers wait for a backend with one member meanwhile.
        shutdown: 15 * 60,
    },
    condition: "VolumeReady",
    after: &["scheduler"],
};

/// Copies volumes to and from where backups are.
pub const CINDER_BACKUP: ComponentDefinition = ComponentDefinition {
    name: "backup",
    kind: ComponentKind::Member {
        probe: CONNECTED,
        // A backup of a large volume. With one replica other backups and restores are refused meanwhile. By default Gardener deletes a
        // machine after as long, whatever runs on it.
        shutdown: 2 * 60 * 60,
    },
    condition: "BackupReady",
    after: &["scheduler", "volume"],
};

/// Tests. It has no API, and isn't in the catalogue.
pub const TEMPEST: ServiceDefinition = ServiceDefinition {
    name: "tempest",
    kind: ResourceKind::of::<TempestSpec>(),
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

/// The kind that `dependsOn` calls so.
pub(crate) const fn kind(kind: DependencyKind) -> ResourceKind {
    match kind {
        DependencyKind::Keystone => KEYSTONE.kind,
        DependencyKind::Glance => GLANCE.kind,
        DependencyKind::Placement => PLACEMENT.kind,
        DependencyKind::Nova => NOVA.kind,
        DependencyKind::Neutron => NEUTRON.kind,
        DependencyKind::Cinder => CINDER.kind,
        DependencyKind::Cortex => CORTEX,
        DependencyKind::OvnCluster => OVN,
    }
}

/// The kinds that `dependsOn` may name.
pub(crate) fn kinds() -> impl Iterator<Item = ResourceKind> {
    let services = SERVICES.into_iter().map(|service| service.kind);
    services.chain([CORTEX, OVN])
}

const CORTEX: ResourceKind = ResourceKind::of::<CortexSpec>();
const OVN: ResourceKind = ResourceKind::of::<OvnClusterSpec>();
