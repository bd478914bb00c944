//! A clouds.yaml, by which the hypervisor-pool-operator calls Nova, Neutron for a node's chassis, and Placement for its resource
//! provider.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{CLOUDS_AUTHORITY, CLOUDS_FILE};
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::placement::PlacementSpec;
use provider_composer::{Custom, Live, Lookup};
use provider_openstack::{Files, KeystoneAccess, Prerequisite, Service, authority};
use serde_json::json;

/// Where Neutron and Placement are, and what the certificates of all three APIs are checked against.
pub struct Clouds {
    network: Option<String>,
    inventory: Option<String>,
    authorities: BTreeSet<String>,
}

impl Clouds {
    /// Finds Nova's own API, and those of the Neutron and the Placement in its namespace, if there are any.
    ///
    /// # Errors
    /// Something can't be read, or has no certificate yet.
    pub fn resolve(service: &Service<'_>) -> Prerequisite<Self> {
        let namespace = service.namespace;
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let neutron = first(service.list::<Custom<NeutronSpec>>(&[]));
        let placement = first(service.list::<Custom<PlacementSpec>>(&[]));
        let (neutron, placement) = (neutron?, placement?);
        let mut certified = vec![(service.name.to_owned(), service.common.tls.clone())];
        let (mut network, mut inventory) = (None, None);
        if let Some(neutron) = neutron {
            network = neutron.body.status.endpoint;
            certified.push((neutron.metadata.name, neutron.body.spec.common.tls));
        }
        if let Some(placement) = placement {
            inventory = placement.body.status.endpoint;
            certified.push((placement.metadata.name, placement.body.spec.common.tls));
        }
        let certified = certified.iter().filter(|(_, tls)| tls.enabled);
        let authorities: Vec<Prerequisite<Option<String>>> = certified
            .map(|(name, tls)| authority(namespace, name, tls, service.observed))
            .collect();
        let authorities: Vec<Option<String>> =
            authorities.into_iter().collect::<Prerequisite<_>>()?;
        Ok(Self {
            network,
            inventory,
            authorities: authorities.into_iter().flatten().collect(),
        })
    }

    /// Adds a clouds.yaml to the files of a Secret, with the credential by which Nova itself calls others. JSON is YAML too.
    pub fn write(&self, service: &Service<'_>, access: &KeystoneAccess, files: &mut Files) {
        let cloud = json!({
            "auth_type": "v3applicationcredential",
            "auth": access.credential(),
            "region_name": access.region(),
            "interface": "internal",
            "compute_endpoint_override": format!("{}/v2.1", service.endpoint()),
            "network_endpoint_override": self.network,
            "placement_endpoint_override": self.inventory,
        });
        let text = json!({ "clouds": { "nova": cloud } }).to_string();
        files.secret(CLOUDS_FILE, text);
        let authorities = self.authorities.iter().map(String::as_str);
        let authorities: BTreeSet<&str> = authorities.chain(access.trusted()).collect();
        if !authorities.is_empty() {
            let authorities: Vec<&str> = authorities.into_iter().map(str::trim).collect();
            files.text(CLOUDS_AUTHORITY, format!("{}\n", authorities.join("\n")));
        }
    }
}

/// The first of some resources, if there are any.
fn first<T>(found: Lookup<Vec<Live<T>>>) -> Prerequisite<Option<Live<T>>> {
    let found = found.optional()?;
    Ok(found.into_iter().flatten().next())
}
