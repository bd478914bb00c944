//! What a control plane consists of, and what waits for what: stated once, as data.

use std::collections::BTreeSet;

use c5c3_api::cinder::CinderSpec;
use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::cortex::CortexSpec;
use c5c3_api::glance::GlanceSpec;
use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use c5c3_api::parts::DependencyKind;
use c5c3_api::placement::PlacementSpec;
use c5c3_api::tempest::TempestSpec;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{Failure, Key, Reason, Resource, ResourceKind};

use crate::infrastructure::{MARIADB, MEMCACHED, RABBITMQ, VALKEY};
use crate::manifest::mariadb::MariaDb;
use crate::manifest::rabbitmq::RabbitmqCluster;
use crate::manifest::valkey::Valkey;

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

/// A node of the graph: what it is called, and what it waits for.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The part.
    pub node: Node,
    /// What it is called in a status and in a drawing, for instance `keystone`.
    pub name: &'static str,
    /// What it is called in a reason, for instance `MariaDB` in `WaitingForMariaDB`.
    pub word: &'static str,
    /// Its phase, 1 to 7. Nodes of a phase need only nodes of it and of earlier ones.
    pub phase: u8,
    /// What has to be ready before it is made.
    pub needs: &'static [Node],
    /// Other parts that its pods connect to, which it doesn't wait for.
    pub uses: &'static [Node],
    /// The condition that says whether it is ready.
    pub condition: &'static str,
    /// The objects that it consists of, but for Secrets, which outlive it. The first says how it is; a node without any
    /// says itself.
    pub objects: &'static [(ResourceKind, &'static str)],
    /// What others' `dependsOn` calls it.
    pub dependency: Option<DependencyKind>,
}

use Node::{
    Catalogue, Cinder, Cortex, Glance, Keystone, MariaDb as Database, Memcached, Neutron, Nova,
    Ovn, Placement, RabbitMq, Tempest, Valkey as Store,
};

const INFRASTRUCTURE: &str = "InfrastructureReady";

/// Every part that a control plane can have, each after all that it needs.
pub static GRAPH: [Step; 14] = [
    Step {
        node: Database,
        name: "mariadb",
        word: "MariaDB",
        phase: 1,
        needs: &[],
        uses: &[],
        condition: INFRASTRUCTURE,
        objects: &[(MariaDb::KIND, MARIADB)],
        dependency: None,
    },
    Step {
        node: RabbitMq,
        name: "rabbitmq",
        word: "RabbitMQ",
        phase: 1,
        needs: &[],
        uses: &[],
        condition: INFRASTRUCTURE,
        objects: &[
            (RabbitmqCluster::KIND, RABBITMQ),
            (PodDisruptionBudget::KIND, RABBITMQ),
        ],
        dependency: None,
    },
    Step {
        node: Store,
        name: "valkey",
        word: "Valkey",
        phase: 1,
        needs: &[],
        uses: &[],
        condition: INFRASTRUCTURE,
        objects: &[(Valkey::KIND, VALKEY)],
        dependency: None,
    },
    Step {
        node: Memcached,
        name: "memcached",
        word: "Memcached",
        phase: 1,
        needs: &[],
        uses: &[],
        condition: INFRASTRUCTURE,
        objects: &[
            (StatefulSet::KIND, MEMCACHED),
            (Service::KIND, MEMCACHED),
            (PodDisruptionBudget::KIND, MEMCACHED),
        ],
        dependency: None,
    },
    Step {
        node: Keystone,
        name: "keystone",
        word: "Keystone",
        phase: 2,
        needs: &[Database, Memcached],
        uses: &[],
        condition: "KeystoneReady",
        objects: &[(ResourceKind::of::<KeystoneSpec>(), "keystone")],
        dependency: Some(DependencyKind::Keystone),
    },
    Step {
        node: Catalogue,
        name: "catalogue",
        word: "Catalogue",
        phase: 3,
        needs: &[Keystone],
        uses: &[],
        condition: "KORCReady",
        objects: &[],
        dependency: None,
    },
    Step {
        node: Glance,
        name: "glance",
        word: "Glance",
        phase: 4,
        needs: &[Keystone, Catalogue, Database],
        uses: &[Memcached],
        condition: "GlanceReady",
        objects: &[(ResourceKind::of::<GlanceSpec>(), "glance")],
        dependency: Some(DependencyKind::Glance),
    },
    Step {
        node: Placement,
        name: "placement",
        word: "Placement",
        phase: 4,
        needs: &[Keystone, Catalogue, Database],
        uses: &[Memcached],
        condition: "PlacementReady",
        objects: &[(ResourceKind::of::<PlacementSpec>(), "placement")],
        dependency: Some(DependencyKind::Placement),
    },
    Step {
        node: Ovn,
        name: "ovn",
        word: "OVN",
        phase: 5,
        needs: &[],
        uses: &[],
        condition: "OVNReady",
        objects: &[(ResourceKind::of::<OvnClusterSpec>(), "ovn")],
        dependency: Some(DependencyKind::OvnCluster),
    },
    Step {
        node: Nova,
        name: "nova",
        word: "Nova",
        phase: 5,
        needs: &[Keystone, Catalogue, Placement, Glance, RabbitMq, Database],
        uses: &[Memcached, Neutron, Cinder, Cortex],
        condition: "NovaReady",
        objects: &[(ResourceKind::of::<NovaSpec>(), "nova")],
        dependency: Some(DependencyKind::Nova),
    },
    Step {
        node: Neutron,
        name: "neutron",
        word: "Neutron",
        phase: 5,
        needs: &[Keystone, Catalogue, Ovn, RabbitMq, Database],
        uses: &[Memcached, Placement, Nova],
        condition: "NeutronReady",
        objects: &[(ResourceKind::of::<NeutronSpec>(), "neutron")],
        dependency: Some(DependencyKind::Neutron),
    },
    Step {
        node: Cinder,
        name: "cinder",
        word: "Cinder",
        phase: 5,
        needs: &[Keystone, Catalogue, RabbitMq, Database],
        uses: &[Memcached, Glance, Nova],
        condition: "CinderReady",
        objects: &[(ResourceKind::of::<CinderSpec>(), "cinder")],
        dependency: Some(DependencyKind::Cinder),
    },
    Step {
        node: Cortex,
        name: "cortex",
        word: "Cortex",
        phase: 6,
        needs: &[Nova, Cinder],
        uses: &[Keystone, Glance, Placement, Neutron],
        condition: "CortexReady",
        objects: &[(ResourceKind::of::<CortexSpec>(), "cortex")],
        dependency: Some(DependencyKind::Cortex),
    },
    Step {
        node: Tempest,
        name: "tempest",
        word: "Tempest",
        phase: 7,
        needs: &[Nova, Neutron, Cinder, Glance, Keystone],
        uses: &[Placement],
        condition: "TempestReady",
        objects: &[(ResourceKind::of::<TempestSpec>(), "tempest")],
        dependency: None,
    },
];

impl Node {
    /// What is stated of it.
    pub fn step(self) -> &'static Step {
        // The order of the enum is the order of the graph, which a test checks.
        &GRAPH[self as usize]
    }
}

impl Step {
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

    /// How a sentence calls it: `Keystone keystone`.
    pub fn title(&self) -> String {
        match self.objects.first() {
            Some((kind, name)) => format!("{kind} {name}"),
            None => "the service catalogue".to_owned(),
        }
    }
}

/// The part of the graph that one control plane has.
///
/// It leaves out what is external or disabled, and what depends on that doesn't wait for it: an external MariaDB counts as
/// ready, and Nova without Glance doesn't wait for Glance. Only Keystone can't be left out. It also leaves out databases, message
/// buses and caches that no enabled service uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph(BTreeSet<Node>);

impl Graph {
    /// The part of the graph that is wanted.
    pub fn of(spec: &ControlPlaneSpec) -> Self {
        let (services, infrastructure) = (spec.services(), &spec.infrastructure);
        let cortex = spec.cortex.as_ref().is_some_and(|cortex| cortex.enabled);
        let tempest = spec.tempest.as_ref().is_some_and(|tempest| tempest.enabled);
        let is_enabled = |node: &Node| match node {
            Node::MariaDb => infrastructure.mariadb.external.is_none(),
            Node::RabbitMq => infrastructure.rabbitmq.external.is_none(),
            Node::Valkey => infrastructure.valkey.external.is_none(),
            Node::Memcached => infrastructure.memcached.external.is_none(),
            Node::Keystone => services.keystone.service.enabled,
            Node::Catalogue => spec.korc().enabled,
            Node::Glance => services.glance.service.enabled,
            Node::Placement => services.placement.enabled,
            Node::Nova => services.nova.enabled,
            Node::Ovn | Node::Neutron => services.neutron.enabled,
            Node::Cinder => services.cinder.enabled,
            Node::Cortex => cortex,
            Node::Tempest => tempest,
        };
        let nodes = GRAPH.iter().map(|step| step.node);
        let enabled: BTreeSet<Node> = nodes.filter(is_enabled).collect();
        let used: BTreeSet<Node> = enabled
            .iter()
            .flat_map(|node| node.step().connects())
            .collect();
        let is_used = |node: &Node| node.step().condition != INFRASTRUCTURE || used.contains(node);
        Self(enabled.into_iter().filter(is_used).collect())
    }

    /// Checks that nothing is wanted that can't be without what isn't.
    ///
    /// # Errors
    /// There is no Keystone, which every other service needs.
    pub fn check(&self) -> Result<(), Failure> {
        let dependent = self.steps().find(|step| step.phase > Keystone.step().phase);
        match dependent {
            Some(step) if !self.contains(Keystone) => Err(Failure::new(
                Reason::KeystoneDisabled,
                format!(
                    "services.keystone is disabled, and {} can't be without it: enable it, or disable korc and all other \
                     services",
                    step.name
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The nodes, each after all that it needs.
    pub fn steps(&self) -> impl Iterator<Item = &'static Step> {
        GRAPH.iter().filter(|step| self.0.contains(&step.node))
    }

    /// Whether a node belongs to it.
    pub fn contains(&self, node: Node) -> bool {
        self.0.contains(&node)
    }

    /// What a node waits for.
    pub fn needs(&self, step: &Step) -> impl Iterator<Item = &'static Step> {
        let needs = step.needs.iter().filter(|node| self.contains(**node));
        needs.map(|node| node.step())
    }
}

/// The nodes that need one, whether wanted or not.
pub fn needed_by(node: Node) -> impl Iterator<Item = &'static Step> {
    GRAPH.iter().filter(move |step| step.needs.contains(&node))
}
