//! The pods of a control plane, what they serve, and what they connect to beyond other parts.

use std::sync::LazyLock;

use provider_openstack::{Egress, METRICS, SERVICES, ServiceDefinition};

use super::super::{MARIADB, MEMCACHED, RABBITMQ, VALKEY};
use super::{INSTANCE, NAME};
use crate::graph::Node;

/// Pods of one part of a control plane.
pub(super) struct Pods {
    /// What they are called.
    pub(super) name: &'static str,
    pub(super) node: Node,
    /// A label that only they have.
    pub(super) label: (&'static str, &'static str),
    /// Ports for the parts that use this one.
    pub(super) serves: Vec<u16>,
    /// Ports for operators and Prometheus.
    pub(super) managed: &'static [u16],
    /// Ports for the agents on hypervisors, which have the addresses of their nodes.
    pub(super) agents: &'static [u16],
    /// What they connect to beyond other parts.
    pub(super) egress: &'static [Egress],
}

impl Pods {
    /// The name of their NetworkPolicy.
    pub(super) fn policy(&self) -> String {
        format!("connections-{}", self.name)
    }
}

/// The pods of a service, whose operator opens its API's ports.
fn of_service(service: &ServiceDefinition) -> Pods {
    Pods {
        serves: service.ports().collect(),
        managed: &[METRICS],
        egress: service.egress,
        ..part(service.name, service.node)
    }
}

/// The pods of a node that connect to other parts only.
fn part(name: &'static str, node: Node) -> Pods {
    Pods {
        name,
        node,
        label: (NAME, name),
        serves: Vec::new(),
        managed: &[],
        agents: &[],
        egress: &[],
    }
}

/// All pods of a control plane, in the order of the graph. Pods of one part connect to each other at any port.
pub(super) static PODS: LazyLock<Vec<Pods>> = LazyLock::new(|| {
    let services = SERVICES.into_iter().map(of_service);
    let mut pods: Vec<Pods> = others().into_iter().chain(services).collect();
    pods.sort_by_key(|pods| pods.node);
    pods
});

/// The pods of what isn't a service of the catalogue.
fn others() -> [Pods; 9] {
    [
        Pods {
            label: (INSTANCE, MARIADB),
            serves: vec![3306],
            // Besides SQL the agent beside each member of a Galera cluster.
            managed: &[3306, 5555],
            egress: &[Egress::ApiServer, Egress::Backups],
            ..part(MARIADB, Node::MariaDb)
        },
        Pods {
            label: (INSTANCE, "openstack-db-maxscale"),
            serves: vec![3306],
            managed: &[3306, 8989],
            ..part("openstack-db-maxscale", Node::MariaDb)
        },
        Pods {
            label: (INSTANCE, "openstack-db-metrics"),
            managed: &[9104],
            ..part("openstack-db-metrics", Node::MariaDb)
        },
        Pods {
            serves: vec![5671, 5672],
            // The management API, and metrics.
            managed: &[15671, 15672, 15691, 15692],
            agents: &[5671, 5672],
            egress: &[Egress::ApiServer],
            ..part(RABBITMQ, Node::RabbitMq)
        },
        Pods {
            label: ("c5c3.io/component", VALKEY),
            serves: vec![6379, 26379],
            managed: &[9121],
            ..part(VALKEY, Node::Valkey)
        },
        Pods {
            label: (INSTANCE, MEMCACHED),
            serves: vec![11211],
            ..part(MEMCACHED, Node::Memcached)
        },
        // OVN's operator opens its databases for itself.
        Pods {
            serves: vec![6641, 6642],
            agents: &[6642],
            ..part("ovn", Node::Ovn)
        },
        Pods {
            serves: vec![8080],
            egress: &[Egress::PostgreSql],
            ..part("cortex", Node::Cortex)
        },
        part("tempest", Node::Tempest),
    ]
}

#[cfg(test)]
mod tests {
    use provider_openstack_fixtures::TOY;

    use super::*;

    #[test]
    fn toy_service_serves_its_ports_and_connects_beyond_other_parts() {
        let pods = of_service(&TOY);
        assert_eq!((pods.name, pods.label), ("toy", (NAME, "toy")));
        assert_eq!((pods.serves, pods.managed), (vec![9999], &[METRICS][..]));
        assert_eq!(pods.egress, [Egress::Web]);
    }
}
