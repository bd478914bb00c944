//! What a site gives the tenants of its control planes on the first day.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use c5c3_api::Cidr;
use c5c3_api::control_plane::{
    AddressRange, ExternalNetwork, ExternalSubnet, FirstNetwork, Flavor,
};
use function_protocol::Fatal;
use schemars::JsonSchema;
use serde::Deserialize;

/// What tenants find on the first day.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BootstrapPreset {
    /// Flavors of every control plane.
    pub flavors: Vec<Flavor>,
    /// Whether a claim may have flavors of its own beside them.
    pub allow_flavors: bool,
    /// The network in the tenant's first project, for claims that say nothing of one.
    pub network: Option<FirstNetwork>,
    /// External networks that claims may name as `network.externalNetwork`.
    pub external_networks: BTreeMap<String, ExternalNetworkPreset>,
}

/// An external network of a site.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalNetworkPreset {
    /// The physical network that hypervisors are wired to.
    pub physical_network: String,
    /// Its VLAN. Without it packets have no tag.
    pub vlan: Option<u16>,
    /// Whether servers may be connected to it, and not only routers.
    #[serde(default)]
    pub shared: bool,
    /// All addresses.
    pub cidr: Cidr,
    /// The address of the router to the outside.
    pub gateway: Ipv4Addr,
    /// The addresses of each claim, by `<namespace>/<name>`: all are on one wire, so none may be another's.
    #[serde(default)]
    pub allocation_pools: BTreeMap<String, Vec<AddressRange>>,
}

impl ExternalNetworkPreset {
    /// The network with the addresses of a claim. None where the claim has no addresses.
    ///
    /// # Errors
    /// Two claims have an address in common.
    pub fn of(&self, name: &str, claim: &str) -> Result<Option<ExternalNetwork>, Fatal> {
        let Some(pools) = self.allocation_pools.get(claim) else {
            return Ok(None);
        };
        let others = self
            .allocation_pools
            .iter()
            .filter(|(other, _)| *other != claim);
        for (other, theirs) in others {
            let taken = theirs.iter().find(|range| {
                let mut own = pools.iter();
                own.any(|pool| pool.overlaps(**range))
            });
            if let Some(range) = taken {
                return Err(Fatal::new(format!(
                    "bootstrap.externalNetworks.{name} of the Composition's input gives addresses of {} to {} to both {claim} and \
                     {other}: give each claim addresses of its own",
                    range.start, range.end
                )));
            }
        }
        Ok(Some(ExternalNetwork {
            physical_network: self.physical_network.clone(),
            vlan: self.vlan,
            shared: self.shared,
            subnet: ExternalSubnet {
                cidr: self.cidr,
                gateway: self.gateway,
                allocation_pools: pools.clone(),
            },
        }))
    }
}
