//! What a control plane offers its users from the first day: flavors, images, networks and quotas.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{quotas::Quotas, server_image::ServerImage};
use crate::{cidr::Cidr, list, nova::TRAIT, parts::is_default, pattern::NAME, rule::Rule};

/// Nova can't change a flavor.
pub(crate) const FLAVORS_STAY: Rule = Rule::new(
    "oldSelf.all(old, self.all(flavor, flavor.name != old.name || flavor == old))",
    "a flavor can't be changed: add one with another name, and remove this one",
);

/// The most images of servers that a control plane has.
pub const MOST_IMAGES: usize = 64;

/// An address of IPv4.
const ADDRESS: &str = r"^([0-9]{1,3}\.){3}[0-9]{1,3}$";

/// What a control plane offers its users from the first day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// Sizes of servers. One that is removed is deleted in Nova; servers that have it stay as they are.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 64),
        transform = list::by_name,
        extend("x-kubernetes-validations" = [FLAVORS_STAY])
    )]
    pub flavors: Vec<Flavor>,
    /// Images of servers, which K-ORC downloads and checks. One that is removed stays in Glance.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = MOST_IMAGES), transform = list::by_name)]
    pub images: Vec<ServerImage>,
    /// What `global.network.externalNetwork` consists of. Without it a network of that name must exist in Neutron.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_network: Option<ExternalNetwork>,
    /// A network in the tenant's first project, which needs `access`. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<FirstNetwork>,
    /// The most that each project may have, unless an administrator gives it other quotas. What isn't said is the service's default.
    /// `extraConfig` of a service wins.
    #[serde(skip_serializing_if = "is_default")]
    pub quotas: Quotas,
}

/// A size of servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Flavor {
    /// Its name, for instance m1.small.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Virtual processors.
    #[schemars(range(min = 1, max = 1024))]
    pub vcpus: u32,
    /// Memory, in MB (2^20 bytes).
    #[serde(rename = "ramMB")]
    #[schemars(range(min = 1, max = 67_108_864))]
    pub ram: u32,
    /// Root disk, in GB (2^30 bytes). With 0 it is as large as the image, or a volume.
    #[serde(rename = "diskGB", default)]
    #[schemars(range(min = 0, max = 1_048_576))]
    pub disk: u32,
    /// Whether every project may use it.
    #[serde(default = "yes")]
    pub public: bool,
    /// Traits in Placement without which a host doesn't get its servers, for instance CUSTOM_TIER_PREMIUM.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 255), regex(pattern = TRAIT)))]
    pub traits: Vec<String>,
}

fn yes() -> bool {
    true
}

/// A network that routers and floating IPs reach the outside by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalNetwork {
    /// The physical network, one of `global.network.physicalNetworks`.
    #[schemars(length(min = 1, max = 64))]
    pub physical_network: String,
    /// Its VLAN. Without it packets have no tag.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// Whether servers of every project may be connected to it, and not only routers.
    #[serde(default)]
    pub shared: bool,
    /// Its addresses.
    pub subnet: ExternalSubnet,
}

/// Addresses of an external network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalSubnet {
    /// All addresses.
    pub cidr: Cidr,
    /// The address of the router to the outside.
    #[schemars(with = "String", length(max = 15), regex(pattern = ADDRESS))]
    pub gateway: Ipv4Addr,
    /// Those that this control plane assigns. No two control planes may have one in common.
    #[schemars(length(min = 1, max = 32))]
    pub allocation_pools: Vec<AddressRange>,
}

/// A range of addresses, both ends included.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct AddressRange {
    /// The first.
    #[schemars(with = "String", length(max = 15), regex(pattern = ADDRESS))]
    pub start: Ipv4Addr,
    /// The last.
    #[schemars(with = "String", length(max = 15), regex(pattern = ADDRESS))]
    pub end: Ipv4Addr,
}

impl AddressRange {
    /// Whether an address is in both ranges.
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A network in the tenant's first project, with a router to the external network if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstNetwork {
    /// Its addresses, for instance 192.168.0.0/24.
    pub cidr: Cidr,
}
