//! What is asked and called of Neutron where K-ORC has no field for it: networks on a physical network, and routers that outlive
//! their objects. A driver understands this.

mod model;

use c5c3_api::Cidr;
use c5c3_api::control_plane::{AddressRange, ExternalNetwork, ExternalSubnet};
use serde::{Deserialize, Serialize};

use super::keystone;

pub use model::Model;

/// The driver that is meant.
pub const SYSTEM: &str = "neutron";

/// How to get at a Neutron, or at another service of a cloud. It can't be printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Its Keystone.
    pub keystone: keystone::Access,
    /// The URL of its API.
    pub url: String,
}

/// What is asked. The answer is an [`Answer`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// Which Neutron.
    pub access: Access,
    /// What of it.
    pub question: Question,
}

/// What is asked of a Neutron.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// The external networks of a name.
    External {
        /// The name.
        name: String,
    },
    /// The networks and routers of a name in a project.
    Project {
        /// The project's ID.
        project: String,
        /// The name.
        name: String,
    },
}

/// What is found in a Neutron.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The networks.
    pub networks: Vec<Network>,
    /// The routers; none where external networks are asked for.
    pub routers: Vec<Router>,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Its ID.
    pub id: String,
    /// Its physical network, where it has one.
    pub physical_network: Option<String>,
    /// Its VLAN, where it has one.
    pub vlan: Option<u16>,
    /// Its subnets.
    pub subnets: Vec<Subnet>,
}

/// Addresses of a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subnet {
    /// Its ID.
    pub id: String,
    /// All addresses, as Neutron writes them.
    pub cidr: String,
    /// Those that are assigned, in a subnet of an external network; those of IPv6 are left out.
    pub pools: Vec<AddressRange>,
}

/// A router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Router {
    /// Its ID.
    pub id: String,
    /// The IDs of the subnets that it is connected to.
    pub subnets: Vec<String>,
}

/// Something that is changed in a Neutron.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which Neutron.
    pub access: Access,
    /// What is changed.
    pub change: Change,
}

/// A change. None deletes anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// An external network is created, without its subnet.
    CreateExternalNetwork {
        /// Its name.
        name: String,
        /// What it consists of.
        network: ExternalNetwork,
    },
    /// An external network gets its subnet.
    CreateExternalSubnet {
        /// The network's ID.
        network: String,
        /// The subnet's name.
        name: String,
        /// Its addresses.
        subnet: ExternalSubnet,
        /// Whether servers get addresses of it.
        dhcp: bool,
    },
    /// A subnet assigns other addresses.
    SetPools {
        /// The subnet's ID.
        subnet: String,
        /// The addresses.
        pools: Vec<AddressRange>,
    },
    /// A network is created in a project.
    CreateNetwork {
        /// The project's ID.
        project: String,
        /// Its name.
        name: String,
    },
    /// A network of a project gets a subnet.
    CreateSubnet {
        /// The project's ID.
        project: String,
        /// The network's ID.
        network: String,
        /// The subnet's name.
        name: String,
        /// Its addresses.
        cidr: Cidr,
    },
    /// A router to an external network is created in a project.
    CreateRouter {
        /// The project's ID.
        project: String,
        /// Its name.
        name: String,
        /// The ID of the external network.
        external: String,
    },
    /// A router is connected to a subnet.
    Connect {
        /// The router's ID.
        router: String,
        /// The subnet's ID.
        subnet: String,
    },
}
