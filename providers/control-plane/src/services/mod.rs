//! The OpenStack services: one table of what each is called and needs, and what is passed on to each.

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

use crate::graph::Node;
use crate::recipe::Recipe;

/// An OpenStack service with an API in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// What it is in the graph.
    pub node: Node,
    /// Its name, its user's in Keystone and its resource's, for instance `glance`.
    pub name: &'static str,
    /// Its type in the catalogue, for instance `image` (<https://service-types.openstack.org/>).
    pub type_: &'static str,
    /// Port of its API.
    pub port: u16,
    /// What comes after the port in its endpoints.
    pub path: &'static str,
    /// Whether it keeps data in MariaDB.
    pub database: bool,
    /// Whether its parts talk to each other through RabbitMQ.
    pub messaging: bool,
}

/// Identity. Its own entries of the catalogue are made by its bootstrap.
pub const KEYSTONE: Service = Service {
    node: Node::Keystone,
    name: "keystone",
    type_: "identity",
    port: 5000,
    path: "/v3",
    database: true,
    messaging: false,
};

/// Images.
pub const GLANCE: Service = Service {
    node: Node::Glance,
    name: "glance",
    type_: "image",
    port: 9292,
    path: "",
    database: true,
    messaging: false,
};

/// Inventory of resources.
pub const PLACEMENT: Service = Service {
    node: Node::Placement,
    name: "placement",
    type_: "placement",
    port: 8778,
    path: "",
    database: true,
    messaging: false,
};

/// Compute.
pub const NOVA: Service = Service {
    node: Node::Nova,
    name: "nova",
    type_: "compute",
    port: 8774,
    path: "/v2.1",
    database: true,
    messaging: true,
};

/// Networks.
pub const NEUTRON: Service = Service {
    node: Node::Neutron,
    name: "neutron",
    type_: "network",
    port: 9696,
    path: "",
    database: true,
    messaging: true,
};

/// Volumes.
pub const CINDER: Service = Service {
    node: Node::Cinder,
    name: "cinder",
    type_: "volumev3",
    port: 8776,
    path: "/v3/%(project_id)s",
    database: true,
    messaging: true,
};

/// All of them, Keystone first.
pub const ALL: &[Service] = &[KEYSTONE, GLANCE, PLACEMENT, NOVA, NEUTRON, CINDER];

impl Service {
    /// Secret with its user and password in MariaDB.
    pub fn database_credentials(&self) -> String {
        format!("{}-db-credentials", self.name)
    }

    /// Secret with its user and password in RabbitMQ.
    pub fn messaging_credentials(&self) -> String {
        format!("{}-rabbitmq-credentials", self.name)
    }

    /// Secret with its application credential.
    pub fn keystone_credentials(&self) -> String {
        keystone_credentials(self.name)
    }

    /// The service of a node, if it has an API in the catalogue.
    pub(crate) fn of(node: Node) -> Option<&'static Self> {
        ALL.iter().find(|service| service.node == node)
    }
}

/// Secret with a service's application credential.
pub(crate) fn keystone_credentials(name: &str) -> String {
    format!("{name}-keystone-credentials")
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
