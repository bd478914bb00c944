//! The fixed facts of an OpenStack service, and of its components.

use provider_composer::ResourceKind;

use crate::options::Tables;
use crate::release::table::RELEASES;

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
    /// The tags of its images, one for each of the [known releases](RELEASES).
    pub tags: [&'static str; RELEASES.len()],
    /// The options and policy rules that its releases read, if operators check them.
    pub options: Option<Tables>,
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
