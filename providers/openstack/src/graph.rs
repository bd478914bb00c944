//! What a control plane consists of, and what waits for what. Services state it in their definitions.

use std::sync::LazyLock;

use c5c3_api::cortex::CortexSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::mariadb::MariaDb;
use c5c3_kinds::rabbitmq::RabbitmqCluster;
use c5c3_kinds::valkey::Valkey;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{Key, Resource, ResourceKind};

use crate::registry::{Node, SERVICES, ServiceDefinition, TEMPEST, USED_BY_CORTEX};

/// The MariaDB of a control plane.
pub const MARIADB: &str = "openstack-db";
/// The RabbitmqCluster of a control plane.
pub const RABBITMQ: &str = "openstack-rabbitmq";
/// The Valkey of a control plane.
pub const VALKEY: &str = "openstack-valkey";
/// The StatefulSet, Service and PodDisruptionBudget of a control plane's Memcached.
pub const MEMCACHED: &str = "openstack-memcached";

/// The phase of databases, message buses and caches.
pub const INFRASTRUCTURE: u8 = 1;

/// A node of the graph: its names, and what it waits for.
#[derive(Clone, Debug)]
pub struct Step {
    /// The part.
    pub node: Node,
    /// The name in a status and in a drawing, for instance `keystone`.
    pub name: &'static str,
    /// The name in a reason, for instance `MariaDB` in `WaitingForMariaDB`.
    pub word: &'static str,
    /// Its phase, 1 to 7. Nodes of a phase need only nodes of it and of earlier ones.
    pub phase: u8,
    /// What has to be ready before it is composed.
    pub needs: &'static [Node],
    /// Other parts that its pods connect to, which it doesn't wait for.
    pub uses: &'static [Node],
    /// The condition that reports whether it is ready.
    pub condition: &'static str,
    /// The objects that it consists of, but for Secrets, which outlive it. The first reports the state of the node.
    pub objects: Vec<(ResourceKind, &'static str)>,
}

/// Every part that a control plane can have, each after all that it needs.
pub static GRAPH: LazyLock<Vec<Step>> =
    LazyLock::new(|| graph(SERVICES.into_iter().chain([&TEMPEST])));

/// The graph with these services.
pub fn graph<'s>(services: impl IntoIterator<Item = &'s ServiceDefinition>) -> Vec<Step> {
    let services = services.into_iter().map(Step::of);
    let mut steps: Vec<Step> = others().into_iter().chain(services).collect();
    steps.sort_by_key(|step| step.node);
    steps
}

/// The parts without a definition.
fn others() -> [Step; 7] {
    [
        infrastructure(
            Node::MariaDb,
            "mariadb",
            "MariaDB",
            vec![(Manifest::<MariaDb>::KIND, MARIADB)],
        ),
        infrastructure(
            Node::RabbitMq,
            "rabbitmq",
            "RabbitMQ",
            vec![
                (Manifest::<RabbitmqCluster>::KIND, RABBITMQ),
                (PodDisruptionBudget::KIND, RABBITMQ),
            ],
        ),
        infrastructure(
            Node::Valkey,
            "valkey",
            "Valkey",
            vec![(Valkey::KIND, VALKEY)],
        ),
        infrastructure(
            Node::Memcached,
            "memcached",
            "Memcached",
            vec![
                (StatefulSet::KIND, MEMCACHED),
                (Service::KIND, MEMCACHED),
                (PodDisruptionBudget::KIND, MEMCACHED),
            ],
        ),
        Step {
            node: Node::Catalogue,
            name: "catalogue",
            word: "Catalogue",
            phase: 3,
            needs: &[Node::Keystone],
            uses: &[],
            condition: "KORCReady",
            objects: Vec::new(),
        },
        Step {
            node: Node::Ovn,
            name: "ovn",
            word: "OVN",
            phase: 5,
            needs: &[],
            uses: &[],
            condition: "OVNReady",
            objects: vec![(ResourceKind::of::<OvnClusterSpec>(), "ovn")],
        },
        Step {
            node: Node::Cortex,
            name: "cortex",
            word: "Cortex",
            phase: 6,
            needs: &[Node::Nova, Node::Cinder],
            uses: USED_BY_CORTEX,
            condition: "CortexReady",
            objects: vec![(ResourceKind::of::<CortexSpec>(), "cortex")],
        },
    ]
}

fn infrastructure(
    node: Node,
    name: &'static str,
    word: &'static str,
    objects: Vec<(ResourceKind, &'static str)>,
) -> Step {
    Step {
        node,
        name,
        word,
        phase: INFRASTRUCTURE,
        needs: &[],
        uses: &[],
        condition: "InfrastructureReady",
        objects,
    }
}

impl Node {
    /// Returns the step of this node.
    pub fn step(self) -> &'static Step {
        // The order of the enum is the order of the graph, which a test checks.
        &GRAPH[self as usize]
    }
}

impl Step {
    fn of(service: &ServiceDefinition) -> Self {
        Self {
            node: service.node,
            name: service.name,
            word: service.kind.kind,
            phase: service.phase,
            needs: service.needs,
            uses: service.uses,
            condition: service.condition,
            objects: vec![(service.kind, service.name)],
        }
    }

    /// The parts that its pods connect to.
    pub fn connects(&self) -> impl Iterator<Item = Node> {
        self.needs.iter().chain(self.uses).copied()
    }

    /// The objects that it consists of, in a control plane's namespace.
    pub fn keys(&self, namespace: &str) -> impl Iterator<Item = Key> {
        let each = self.objects.iter();
        each.map(move |(kind, name)| Key::new(*kind, namespace, name))
    }

    /// Whether a control plane is ready without it: Nova schedules without Cortex, which no operator of this version runs.
    pub fn is_optional(&self) -> bool {
        self.node == Node::Cortex
    }

    /// Returns its name in a sentence, for instance `Keystone keystone`.
    pub fn title(&self) -> String {
        match self.objects.first() {
            Some((kind, name)) => format!("{kind} {name}"),
            None => "the service catalogue".to_owned(),
        }
    }
}

/// The nodes that need one, whether wanted or not.
pub fn needed_by(node: Node) -> impl Iterator<Item = &'static Step> {
    GRAPH.iter().filter(move |step| step.needs.contains(&node))
}
