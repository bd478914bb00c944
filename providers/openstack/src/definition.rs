//! The registry of OpenStack services: the fixed facts of each service.

use c5c3_api::{
    cinder::CinderSpec, glance::GlanceSpec, keystone::KeystoneSpec, neutron::NeutronSpec,
    nova::NovaSpec, placement::PlacementSpec, tempest::TempestSpec,
};
use provider_composer::ResourceKind;

use crate::pod::CONNECTED;

/// The fixed facts of an OpenStack service.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceDefinition {
    /// The name of the service and of its user in Keystone, for instance `glance`.
    pub name: &'static str,
    /// The kind of the resource that its operator reconciles.
    pub kind: ResourceKind,
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
    /// The component that serves the API.
    pub api: ComponentDefinition,
    /// The components besides the API.
    pub components: &'static [ComponentDefinition],
}

/// Something outside a control plane that its pods connect to, at an address that the control plane doesn't know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Kubernetes' API server.
    ApiServer,
    /// The object store of MariaDB's backups.
    Backups,
    /// The object store of volumes' backups, where they are in a bucket.
    VolumeBackups,
    /// Monitors and daemons of Ceph (<https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/>).
    Ceph,
    /// Web servers with public addresses, from which users import images.
    Web,
    /// The identity provider of federated users, where there is one.
    IdentityProvider,
    /// Cortex's PostgreSQL, which is always external.
    PostgreSql,
    /// The consoles of servers on hypervisors, by VNC: libvirt takes the lowest free port from 5900, and 200 servers are more than
    /// a node has.
    Consoles,
}

/// Validates tokens, and calls other services with the user's token and its own.
const SERVICE: &[&str] = &["service"];
/// Calls what other services let only admins call besides: Nova's ports in Neutron and allocations in Placement, the events
/// that Neutron and Cinder send to Nova.
const ADMIN: &[&str] = &["admin", "service"];

/// The fixed facts of a component: pods of one kind that scale together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentDefinition {
    /// The value of the label `app.kubernetes.io/component`, for instance `scheduler`.
    pub name: &'static str,
    /// How its pods serve requests.
    pub kind: ComponentKind,
    /// The condition that reports its availability, for instance `SchedulerReady`.
    pub condition: &'static str,
    /// The components whose pods must all run a new image before this component gets it.
    pub after: &'static [&'static str],
}

/// How a component's pods serve requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// A Python module with a callable `application`, which uwsgi serves.
    Wsgi {
        /// The module, for instance `glance.wsgi.api`.
        module: &'static str,
        /// The path of the health check, which needs no token.
        health: &'static str,
        /// The port of the endpoint.
        port: u16,
    },
    /// A program that listens on a port itself.
    Proxy {
        /// The port of the endpoint.
        port: u16,
    },
    /// A program without an endpoint.
    Daemon {
        /// The command of the readiness probe; empty if there is none. It isn't a liveness probe: the program may be unready because
        /// a dependency, for instance the message bus, is unavailable.
        probe: &'static [&'static str],
    },
    /// A program without an endpoint that others know by its pod's name, of which there is never more than one.
    Member {
        /// The command of the readiness probe, as a daemon's.
        probe: &'static [&'static str],
        /// How long calls that a member works on may take once its pod terminates, in seconds. It takes no new ones, and the next
        /// pod of its name doesn't start before.
        shutdown: u32,
    },
}

impl ComponentDefinition {
    /// The API of a service.
    pub const fn api(module: &'static str, health: &'static str, port: u16) -> Self {
        Self {
            name: "api",
            kind: ComponentKind::Wsgi {
                module,
                health,
                port,
            },
            condition: "APIReady",
            after: &[],
        }
    }

    /// The port of its endpoint, if it has one.
    pub const fn port(&self) -> Option<u16> {
        match self.kind {
            ComponentKind::Wsgi { port, .. } | ComponentKind::Proxy { port } => Some(port),
            ComponentKind::Daemon { .. } | ComponentKind::Member { .. } => None,
        }
    }

    /// How long calls that its pods work on may take once a pod terminates, in seconds, if that isn't the default.
    pub const fn shutdown(&self) -> Option<u32> {
        match self.kind {
            ComponentKind::Member { shutdown, .. } => Some(shutdown),
            ComponentKind::Wsgi { .. }
            | ComponentKind::Proxy { .. }
            | ComponentKind::Daemon { .. } => None,
        }
    }
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

/// The Secret with the application credential of a user in Keystone.
pub fn keystone_credentials(user: &str) -> String {
    format!("{user}-keystone-credentials")
}

/// Joins a name and a suffix, which may be empty.
pub(crate) fn part(name: &str, suffix: &str) -> String {
    match suffix {
        "" => name.to_owned(),
        suffix => format!("{name}-{suffix}"),
    }
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
