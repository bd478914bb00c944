//! What a site gives the tenants of its control planes on the first day.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use c5c3_api::Cidr;
use c5c3_api::control_plane::{
    AddressRange, ExternalNetwork, ExternalSubnet, FirstNetwork, Flavor, ImageSource, ServerImage,
};
use c5c3_api::openstack_cluster::Size;
use function_protocol::Fatal;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OpenStackPresets, word};

/// What tenants find on the first day.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BootstrapPreset {
    /// Flavors of every control plane, unless its size has only some of them.
    pub flavors: Vec<Flavor>,
    /// Whether a claim may have flavors of its own beside them.
    pub allow_flavors: bool,
    /// Images of every control plane, unless its size has only some of them.
    pub images: Vec<ServerImage>,
    /// Hosts and folders, as https URLs, below which a claim may have images of its own beside them. Without one it may have none.
    pub allowed_image_sources: Vec<ImageSource>,
    /// The network in the tenant's first project, for claims that say nothing of one.
    pub network: Option<FirstNetwork>,
    /// External networks that claims may name as `network.externalNetwork`.
    pub external_networks: BTreeMap<String, ExternalNetworkPreset>,
}

/// What tenants with control planes of a size find on the first day, where it isn't all that the site has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SizeBootstrap {
    /// Names of flavors of `bootstrap`. Without it all of them.
    pub flavors: Option<Vec<String>>,
    /// Names of images of `bootstrap`. Without it all of them.
    pub images: Option<Vec<String>>,
}

/// What has a name.
pub trait Named {
    /// The name.
    fn name(&self) -> &str;
}

impl Named for Flavor {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for ServerImage {
    fn name(&self) -> &str {
        &self.name
    }
}

impl OpenStackPresets {
    /// What a size has of the flavors and images.
    ///
    /// # Errors
    /// The Composition has no preset for the size, or the size names what the site doesn't have.
    pub fn size_bootstrap(&self, size: Size) -> Result<&SizeBootstrap, Fatal> {
        let bootstrap = &self.size(size)?.bootstrap;
        let site = &self.bootstrap;
        known(size, "flavors", bootstrap.flavors.as_deref(), &site.flavors)?;
        known(size, "images", bootstrap.images.as_deref(), &site.images)?;
        Ok(bootstrap)
    }
}

fn known<T: Named>(
    size: Size,
    field: &str,
    names: Option<&[String]>,
    site: &[T],
) -> Result<(), Fatal> {
    let is_unknown = |name: &&String| site.iter().all(|one| one.name() != name.as_str());
    match names.into_iter().flatten().find(is_unknown) {
        None => Ok(()),
        Some(name) => Err(Fatal::new(format!(
            "sizes.{}.bootstrap.{field} of the Composition's input names {name}, which bootstrap.{field} doesn't have: correct the name, \
             or add it there",
            word(size)
        ))),
    }
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
