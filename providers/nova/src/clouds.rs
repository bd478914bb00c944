//! A clouds.yaml, by which the hypervisor-pool-operator calls Nova, Neutron for a node's chassis, and Placement for its resource
//! provider.

use std::collections::BTreeSet;

use c5c3_api::hypervisor::{CLOUDS_AUTHORITY, CLOUDS_FILE};
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::placement::PlacementSpec;
use provider_composer::{Custom, Live, Lookup, ObservedState, Progress};
use provider_openstack::{Awaited, Files, KeystoneAccess, Service, authority};
use serde_json::json;

/// How Nova, Neutron and Placement are called.
pub struct Clouds {
    text: String,
    authorities: BTreeSet<String>,
}

impl Clouds {
    /// Finds Nova's own API, and those of the Neutron and the Placement in its namespace, if there are any.
    ///
    /// # Errors
    /// Something can't be read, or has no certificate yet.
    pub fn resolve(
        service: &Service<'_>,
        access: &KeystoneAccess,
        observed: &ObservedState<'_>,
    ) -> Awaited<Self> {
        let namespace = service.namespace;
        let neutron = first(observed.list::<Custom<NeutronSpec>>(namespace, &[]))?;
        let placement = first(observed.list::<Custom<PlacementSpec>>(namespace, &[]))?;
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
        let mut authorities: BTreeSet<String> =
            access.trusted().map(str::to_owned).into_iter().collect();
        for (name, tls) in certified.iter().filter(|(_, tls)| tls.enabled) {
            authorities.extend(authority(namespace, name, tls, observed)?);
        }
        let cloud = json!({
            "auth_type": "v3applicationcredential",
            "auth": access.credential(),
            "region_name": access.region(),
            "interface": "internal",
            "compute_endpoint_override": format!("{}/v2.1", service.endpoint()),
            "network_endpoint_override": network,
            "placement_endpoint_override": inventory,
        });
        Ok(Self {
            text: json!({ "clouds": { "nova": cloud } }).to_string(),
            authorities,
        })
    }

    /// Adds it to the files of a Secret. JSON is YAML too.
    pub fn write(&self, files: &mut Files) {
        files.secret(CLOUDS_FILE, self.text.as_str());
        if !self.authorities.is_empty() {
            let authorities: Vec<&str> = self.authorities.iter().map(|text| text.trim()).collect();
            files.text(CLOUDS_AUTHORITY, format!("{}\n", authorities.join("\n")));
        }
    }
}

/// The first of some resources, if there are any.
fn first<T>(found: Lookup<Vec<Live<T>>>) -> Awaited<Option<Live<T>>> {
    match found {
        Lookup::Found(found) => Ok(found.into_iter().next()),
        Lookup::Missing => Ok(None),
        Lookup::Unknown(message) => Err(Progress::Unknown { message }),
    }
}
