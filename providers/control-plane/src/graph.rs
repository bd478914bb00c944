//! The part of the graph that one control plane has.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::control_plane::ControlPlaneSpec;
use provider_composer::{Failure, Reason};
pub use provider_openstack::Node;
pub use provider_openstack::graph::{GRAPH, INFRASTRUCTURE, Step, needed_by};
use provider_openstack::{NEUTRON, SERVICES, ServiceDefinition};

/// The part of the graph that one control plane has.
///
/// It leaves out what is external or disabled, and what depends on that doesn't wait for it: an external MariaDB counts as
/// ready, and Nova without Glance doesn't wait for Glance. Only Keystone can't be left out. It also leaves out databases, message
/// buses and caches that no enabled service uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    wanted: BTreeSet<Node>,
    /// Nodes that aren't wanted any more, and that others of these still need.
    needed: BTreeSet<Node>,
    /// Nodes that aren't wanted any more, and that are deleted.
    removed: BTreeSet<Node>,
}

impl Graph {
    /// The part of the graph that is wanted.
    pub fn of(spec: &ControlPlaneSpec) -> Self {
        let infrastructure = &spec.infrastructure;
        let services = spec
            .services()
            .each_mut()
            .map(|(name, enabled, _)| (name, *enabled));
        let services = BTreeMap::from(services);
        let runs = |name: &str| services.get(name) == Some(&true);
        let cortex = spec.cortex.as_ref().is_some_and(|cortex| cortex.enabled);
        let tempest = spec.tempest.as_ref().is_some_and(|tempest| tempest.enabled);
        let is_enabled = |node: &Node| match node {
            Node::MariaDb => infrastructure.mariadb.external.is_none(),
            Node::RabbitMq => infrastructure.rabbitmq.external.is_none(),
            Node::Valkey => infrastructure.valkey.external.is_none(),
            Node::Memcached => infrastructure.memcached.external.is_none(),
            Node::Catalogue => spec.korc().enabled,
            Node::Ovn => runs(NEUTRON.name),
            Node::Cortex => cortex,
            Node::Tempest => tempest,
            service => runs(service.step().name),
        };
        let nodes = GRAPH.iter().map(|step| step.node);
        let enabled: BTreeSet<Node> = nodes.filter(is_enabled).collect();
        let used: BTreeSet<Node> = enabled
            .iter()
            .flat_map(|node| node.step().connects())
            .collect();
        let is_used = |node: &Node| node.step().phase != INFRASTRUCTURE || used.contains(node);
        Self {
            wanted: enabled.into_iter().filter(is_used).collect(),
            needed: BTreeSet::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Keeps nodes that aren't wanted any more and exist, while others of these need them: unwanted nodes are deleted in the reverse order of
    /// the graph, as those of a control plane that is deleted. Returns all nodes that may exist and aren't wanted.
    pub fn keep_needed(
        &mut self,
        exists: impl Fn(Node) -> bool,
        may_exist: impl Fn(Node) -> bool,
    ) -> BTreeSet<Node> {
        let nodes = GRAPH.iter().map(|step| step.node);
        let unwanted: BTreeSet<Node> = nodes
            .filter(|node| !self.contains(*node) && may_exist(*node))
            .collect();
        // What can't be read isn't deleted, and must not be created.
        let is_needed = |node: &Node| {
            exists(*node) && needed_by(*node).any(|step| unwanted.contains(&step.node))
        };
        (self.needed, self.removed) = unwanted.iter().copied().partition(is_needed);
        unwanted
    }

    /// The nodes that aren't wanted any more, and that are deleted, if they exist: no other node needs them.
    pub fn removed(&self) -> &BTreeSet<Node> {
        &self.removed
    }

    /// Checks that nothing is wanted that can't be without what isn't.
    ///
    /// # Errors
    /// There is no Keystone, which every other service needs.
    pub fn check(&self) -> Result<(), Failure> {
        let dependent = self
            .steps()
            .find(|step| step.phase > Node::Keystone.step().phase);
        match dependent {
            Some(step) if !self.contains(Node::Keystone) => Err(Failure::new(
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
        GRAPH.iter().filter(|step| self.contains(step.node))
    }

    /// Whether a node belongs to it.
    pub fn contains(&self, node: Node) -> bool {
        self.wants(node) || self.needed.contains(&node)
    }

    /// Whether a node is wanted, and not only needed by what is being deleted.
    pub fn wants(&self, node: Node) -> bool {
        self.wanted.contains(&node)
    }

    /// What a node waits for.
    pub fn needs(&self, step: &Step) -> impl Iterator<Item = &'static Step> {
        let needs = step.needs.iter().filter(|node| self.contains(**node));
        needs.map(|node| node.step())
    }
}

/// The definition of a node; none where it has no API in the catalogue.
pub(crate) fn definition(node: Node) -> Option<&'static ServiceDefinition> {
    let mut services = SERVICES.into_iter();
    services.find(|service| service.node == node)
}
