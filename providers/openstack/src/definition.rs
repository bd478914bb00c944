//! The fixed facts of components, and the other types of which a service's definition consists.

/// The environment variable with the ports of [`CONNECTED`], as `/proc/net/tcp` has them, separated by `|`.
pub(crate) const CONNECTED_PORTS: &str = "CONNECTED_PORTS";
/// The probe of a program that has a connection to one of the ports of [`Program::connects`](crate::Program::connects)
/// (<https://docs.kernel.org/networking/proc_net_tcp.html>).
pub const CONNECTED: &[&str] = &[
    "sh",
    "-c",
    "grep -qE \" [0-9A-F]+:($CONNECTED_PORTS) 01 \" /proc/net/tcp /proc/net/tcp6",
];

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
        /// How long requests, and what they have begun, may take once a pod terminates, in seconds, if that isn't the default. Other
        /// pods serve meanwhile.
        shutdown: Option<u32>,
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
                shutdown: None,
            },
            condition: "APIReady",
            after: &[],
        }
    }

    /// A program that is ready while it has a connection, and that waits for no other component.
    pub const fn connected(name: &'static str, condition: &'static str) -> Self {
        Self {
            name,
            kind: ComponentKind::Daemon { probe: CONNECTED },
            condition,
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
            ComponentKind::Wsgi { shutdown, .. } => shutdown,
            ComponentKind::Proxy { .. } | ComponentKind::Daemon { .. } => None,
        }
    }
}

/// A destination outside a control plane that its pods connect to, at an address that the ControlPlane doesn't have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Kubernetes' API server.
    ApiServer,
    /// The object store of MariaDB's backups.
    Backups,
    /// The object store of volumes' backups, where they are in a bucket.
    VolumeBackups,
    /// Monitors and daemons of Ceph (<https://docs.ceph.com/en/tentacle/rados/configuration/network-config-ref/>).
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

/// What all known releases of a service read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionTables {
    /// Its options.
    pub options: &'static str,
    /// The options that it deprecates for removal.
    pub deprecated: &'static str,
    /// Its policy rules.
    pub rules: &'static str,
}

/// A condition of a Nova that has told hypervisors to run another release than before, until that is complete: whether nova-compute of all
/// hosts runs it.
pub const COMPUTES_UPGRADED: &str = "ComputesUpgraded";
/// The condition of a Nova that says whether nova-compute on all hypervisors has the present configuration. It isn't there where no
/// HypervisorShare reports one.
pub const COMPUTES_CONFIGURED: &str = "ComputesConfigured";

/// Serves images. An upload is one request, and an import goes on after its request: Glance waits for both before it ends (`drain_workers`
/// in glance/common/wsgi_app.py). What is interrupted leaves an image that stays in `saving` or `importing`.
pub const GLANCE_API: ComponentDefinition = ComponentDefinition {
    name: "api",
    kind: ComponentKind::Wsgi {
        module: "glance.wsgi.api",
        health: "/healthcheck",
        port: 9292,
        shutdown: Some(60 * 60),
    },
    condition: "APIReady",
    after: &[],
};

/// Nova's conductors run a new image before its other components.
pub(crate) const AFTER_CONDUCTORS: &[&str] = &["conductor"];

/// Accesses the databases for Nova's other components. Each cell has one of its own.
pub const NOVA_CONDUCTOR: ComponentDefinition =
    ComponentDefinition::connected("conductor", "ConductorReady");

/// Chooses a host for each server.
pub const NOVA_SCHEDULER: ComponentDefinition = ComponentDefinition {
    after: AFTER_CONDUCTORS,
    ..ComponentDefinition::connected("scheduler", "SchedulerReady")
};

/// Serves the metadata of servers to Neutron's agents.
pub const NOVA_METADATA: ComponentDefinition = ComponentDefinition {
    name: "metadata",
    condition: "MetadataReady",
    after: AFTER_CONDUCTORS,
    ..ComponentDefinition::api("nova.wsgi.metadata", "/", 8775)
};

/// Shows the consoles of a cell's servers.
pub const NOVA_NOVNCPROXY: ComponentDefinition = ComponentDefinition {
    name: "novncproxy",
    kind: ComponentKind::Proxy { port: 6080 },
    condition: "CellsReady",
    after: AFTER_CONDUCTORS,
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
pub const NEUTRON_OVN_MAINTENANCE_WORKER: ComponentDefinition =
    ComponentDefinition::connected("ovn-maintenance-worker", "OVNMaintenanceWorkerReady");

/// Answers agents over the message bus. Those of OVN talk to its databases instead and need none.
pub const NEUTRON_RPC_SERVER: ComponentDefinition =
    ComponentDefinition::connected("rpc-server", "RPCServerReady");

/// Chooses a backend for each volume.
pub const CINDER_SCHEDULER: ComponentDefinition =
    ComponentDefinition::connected("scheduler", "SchedulerReady");

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
