//! The OpenStack services: what the ControlPlane passes on to each.

mod ceph;
mod certificates;
mod cinder;
mod common;
mod cortex;
mod exposure;
mod glance;
mod keystone;
mod neutron;
mod nova;
mod passwords;
mod placement;
mod pools;
mod tempest;

use provider_composer::DesiredState;
use provider_openstack::table::Tags;

use crate::graph::Node;
use crate::infrastructure::Sizes;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants a node's objects, as they are with a release.
    pub(crate) fn node(&self, node: Node, tags: &Tags, sizes: &Sizes, desired: &mut DesiredState) {
        match node {
            Node::MariaDb => self.mariadb(sizes, desired),
            Node::RabbitMq => {
                self.rabbitmq(sizes, desired);
                self.rabbitmq_monitor(desired);
            }
            Node::Valkey => self.valkey(desired),
            Node::Memcached => self.memcached(desired),
            Node::Keystone => self.keystone(tags, desired),
            Node::Catalogue => {}
            Node::Glance => self.glance(tags, desired),
            Node::Placement => self.placement(tags, desired),
            Node::Ovn => self.ovn(sizes, desired),
            Node::Nova => self.nova(tags, desired),
            Node::Neutron => self.neutron(tags, desired),
            Node::Cinder => self.cinder(tags, desired),
            Node::Cortex => self.cortex(desired),
            Node::Tempest => self.tempest(tags, desired),
        }
    }
}
