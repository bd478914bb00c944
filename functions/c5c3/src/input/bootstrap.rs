//! What a site gives the tenants of its control planes on the first day.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use c5c3_api::Cidr;
use c5c3_api::control_plane::{
    AddressRange, ExternalNetwork, ExternalSubnet, FirstNetwork, Flavor, MOST_IMAGES, Quotas,
    ServerImage,
};
use c5c3_api::openstack_cluster::Size;
use c5c3_api::parts::name_of;
use function_protocol::Fatal;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OpenStackPresets;

/// What tenants find on the first day.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BootstrapPreset {
    /// Flavors of every control plane, unless its size has only some of them.
    pub flavors: Vec<Flavor>,
    /// Whether a claim may have flavors of its own beside them.
    pub allow_flavors: bool,
    /// Images of every control plane, unless its size has only some of them. A claim may name others of them.
    #[schemars(length(max = MOST_IMAGES))]
    pub images: Vec<ServerImage>,
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
    /// Names of images of `bootstrap`. Without it all of them. A name that isn't there is skipped, and reported by claims.
    pub images: Option<Vec<String>>,
    /// The most that each project may have, where its claim says nothing else. By default as much as the services' own options say.
    pub quotas: Quotas,
}

impl BootstrapPreset {
    /// Checks what a ControlPlane would be refused for.
    ///
    /// # Errors
    /// There are too many images, or one has a name that isn't valid or that another one has.
    pub(super) fn check(&self) -> Result<(), Fatal> {
        if self.images.len() > MOST_IMAGES {
            return Err(Fatal::new(format!(
                "bootstrap.images of the Composition's input has {} images, and a ControlPlane takes {MOST_IMAGES}: remove some",
                self.images.len()
            )));
        }
        let mut names = BTreeSet::new();
        for image in &self.images {
            let name = &image.name;
            if !image.has_valid_name() {
                return Err(Fatal::new(format!(
                    "bootstrap.images of the Composition's input has the name {name:?}: write lower-case letters, digits, dashes and dots, \
                     at most 253, for instance debian-12"
                )));
            }
            if !names.insert(name) {
                return Err(Fatal::new(format!(
                    "bootstrap.images of the Composition's input has two images {name}: remove one, or give it another name"
                )));
            }
        }
        Ok(())
    }

    /// Those of some names that no image has. None where each is an image's.
    pub fn without(&self, names: &[String]) -> Option<String> {
        let is_unknown = |name: &&String| self.images.iter().all(|image| image.name != **name);
        let unknown: Vec<&str> = names
            .iter()
            .filter(is_unknown)
            .map(String::as_str)
            .collect();
        (!unknown.is_empty()).then(|| unknown.join(", "))
    }
}

impl SizeBootstrap {
    /// Checks what a ControlPlane would be refused for.
    ///
    /// # Errors
    /// A quota is less than no limit.
    pub(super) fn check(&self, size: Size) -> Result<(), Fatal> {
        self.quotas.too_low().map_or(Ok(()), |(field, most)| {
            Err(Fatal::new(format!(
                "sizes.{}.bootstrap.quotas.{field} of the Composition's input is {most}: set -1 for no limit, or 0 or more",
                name_of(size)
            )))
        })
    }
}

impl OpenStackPresets {
    /// What a size has of the flavors and images. It may still name images that the site has no more.
    ///
    /// # Errors
    /// The Composition has no preset for the size, or the size names a flavor that the site doesn't have.
    pub fn size_bootstrap(&self, size: Size) -> Result<&SizeBootstrap, Fatal> {
        let bootstrap = &self.size(size)?.bootstrap;
        let site = &self.bootstrap.flavors;
        let is_unknown = |name: &&String| site.iter().all(|flavor| flavor.name != **name);
        match bootstrap.flavors.iter().flatten().find(is_unknown) {
            None => Ok(bootstrap),
            Some(name) => Err(Fatal::new(format!(
                "sizes.{}.bootstrap.flavors of the Composition's input names {name}, which bootstrap.flavors doesn't have: correct the \
                 name, or add it there",
                name_of(size)
            ))),
        }
    }

    /// Says which images a size names although the site doesn't have them. None where it has all.
    ///
    /// # Errors
    /// The Composition has no preset for the size.
    pub fn unknown_images(&self, size: Size) -> Result<Option<String>, Fatal> {
        let names = self.size(size)?.bootstrap.images.as_deref();
        let unknown = self.bootstrap.without(names.unwrap_or_default());
        Ok(unknown.map(|names| {
            format!(
                "sizes.{}.bootstrap.images of the Composition's input names {names}, which bootstrap.images doesn't have: ask the platform \
                 team to remove the name, or to add the image there",
                name_of(size)
            )
        }))
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
