//! The pods of a control plane, what they serve, and what they connect to beyond other parts.

use provider_openstack::METRICS;

use super::super::{MARIADB, MEMCACHED, RABBITMQ, VALKEY};
use super::{INSTANCE, NAME};
use crate::graph::Node;

/// Pods of one part of a control plane.
pub(super) struct Pods {
    /// What they are called, and their NetworkPolicy.
    pub(super) name: &'static str,
    pub(super) node: Node,
    /// A label that only they have.
    pub(super) label: (&'static str, &'static str),
    /// Ports for the parts that use this one.
    pub(super) serves: &'static [u16],
    /// Ports for operators and Prometheus.
    pub(super) managed: &'static [u16],
    /// Ports for the agents on hypervisors, which have the addresses of their nodes.
    pub(super) agents: &'static [u16],
    /// What they connect to beyond other parts.
    pub(super) beyond: &'static [Beyond],
}

/// Something outside a control plane that its pods connect to, at an address that the control plane doesn't know.
#[derive(Clone, Copy)]
pub(super) enum Beyond {
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

/// A service of OpenStack, whose operator opens its API's port.
pub(super) const fn service(name: &'static str, node: Node, serves: &'static [u16]) -> Pods {
    Pods {
        name,
        node,
        label: (NAME, name),
        serves,
        managed: &[METRICS],
        agents: &[],
        beyond: &[],
    }
}

/// All pods of a control plane. Pods of one part connect to each other at any port.
pub(super) static PODS: [Pods; 15] = [
    Pods {
        name: MARIADB,
        node: Node::MariaDb,
        label: (INSTANCE, MARIADB),
        serves: &[3306],
        // Besides SQL the agent beside each member of a Galera cluster.
        managed: &[3306, 5555],
        agents: &[],
        beyond: &[Beyond::ApiServer, Beyond::Backups],
    },
    Pods {
        name: "openstack-db-maxscale",
        node: Node::MariaDb,
        label: (INSTANCE, "openstack-db-maxscale"),
        serves: &[3306],
        managed: &[3306, 8989],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: "openstack-db-metrics",
        node: Node::MariaDb,
        label: (INSTANCE, "openstack-db-metrics"),
        serves: &[],
        managed: &[9104],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: RABBITMQ,
        node: Node::RabbitMq,
        label: (NAME, RABBITMQ),
        serves: &[5671, 5672],
        // The management API, and metrics.
        managed: &[15671, 15672, 15691, 15692],
        agents: &[5671, 5672],
        beyond: &[Beyond::ApiServer],
    },
    Pods {
        name: VALKEY,
        node: Node::Valkey,
        label: ("c5c3.io/component", VALKEY),
        serves: &[6379, 26379],
        managed: &[9121],
        agents: &[],
        beyond: &[],
    },
    Pods {
        name: MEMCACHED,
        node: Node::Memcached,
        label: (INSTANCE, MEMCACHED),
        serves: &[11211],
        managed: &[],
        agents: &[],
        beyond: &[],
    },
    Pods {
        beyond: &[Beyond::IdentityProvider],
        ..service("keystone", Node::Keystone, &[5000])
    },
    Pods {
        beyond: &[Beyond::Ceph, Beyond::Web],
        ..service("glance", Node::Glance, &[9292])
    },
    service("placement", Node::Placement, &[8778]),
    Pods {
        agents: &[6642],
        // OVN's operator opens its databases for itself.
        managed: &[],
        ..service("ovn", Node::Ovn, &[6641, 6642])
    },
    Pods {
        beyond: &[Beyond::Consoles],
        ..service("nova", Node::Nova, &[8774, 8775, 6080])
    },
    service("neutron", Node::Neutron, &[9696]),
    Pods {
        beyond: &[Beyond::Ceph, Beyond::VolumeBackups],
        ..service("cinder", Node::Cinder, &[8776])
    },
    Pods {
        managed: &[],
        beyond: &[Beyond::PostgreSql],
        ..service("cortex", Node::Cortex, &[8080])
    },
    Pods {
        managed: &[],
        ..service("tempest", Node::Tempest, &[])
    },
];
