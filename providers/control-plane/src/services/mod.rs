//! The OpenStack services: what the ControlPlane passes on to each.

mod ceph;
mod cinder;
mod common;
mod cortex;
mod glance;
mod keystone;
mod neutron;
mod nova;
mod passwords;
mod placement;
mod tempest;

use provider_composer::Composition;
use provider_openstack::table::Tags;
use provider_openstack::{SERVICES, ServiceDefinition};

use crate::graph::Node;
use crate::recipe::Recipe;

/// The definition of a node; none where it has no API in the catalogue.
pub(crate) fn definition(node: Node) -> Option<&'static ServiceDefinition> {
    let mut services = SERVICES.into_iter();
    services.find(|service| service.name == node.step().name)
}

impl Recipe<'_> {
    /// Wants a node's objects, as they are with a release.
    pub(crate) fn node(&self, node: Node, tags: &Tags, composition: &mut Composition) {
        match node {
            Node::MariaDb => self.mariadb(composition),
            Node::RabbitMq => self.rabbitmq(composition),
            Node::Valkey => self.valkey(composition),
            Node::Memcached => self.memcached(composition),
            Node::Keystone => self.keystone(tags, composition),
            Node::Catalogue => {}
            Node::Glance => self.glance(tags, composition),
            Node::Placement => self.placement(tags, composition),
            Node::Ovn => self.ovn(composition),
            Node::Nova => self.nova(tags, composition),
            Node::Neutron => self.neutron(tags, composition),
            Node::Cinder => self.cinder(tags, composition),
            Node::Cortex => self.cortex(composition),
            Node::Tempest => self.tempest(tags, composition),
        }
    }
}

/// Secret with the password of Keystone's first user, under `username` and `password`.
pub const ADMIN_CREDENTIALS: &str = "keystone-admin-credentials";
