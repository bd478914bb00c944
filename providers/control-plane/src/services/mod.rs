//! The OpenStack services: one table of what each is called and needs.

/// An OpenStack service with an API in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
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
    name: "keystone",
    type_: "identity",
    port: 5000,
    path: "/v3",
    database: true,
    messaging: false,
};

/// Images.
pub const GLANCE: Service = Service {
    name: "glance",
    type_: "image",
    port: 9292,
    path: "",
    database: true,
    messaging: false,
};

/// Inventory of resources.
pub const PLACEMENT: Service = Service {
    name: "placement",
    type_: "placement",
    port: 8778,
    path: "",
    database: true,
    messaging: false,
};

/// Compute.
pub const NOVA: Service = Service {
    name: "nova",
    type_: "compute",
    port: 8774,
    path: "/v2.1",
    database: true,
    messaging: true,
};

/// Networks.
pub const NEUTRON: Service = Service {
    name: "neutron",
    type_: "network",
    port: 9696,
    path: "",
    database: true,
    messaging: true,
};

/// Volumes.
pub const CINDER: Service = Service {
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
        format!("{}-keystone-credentials", self.name)
    }
}

/// Secret with the password of Keystone's first user, under `username` and `password`.
pub const ADMIN_CREDENTIALS: &str = "keystone-admin-credentials";
