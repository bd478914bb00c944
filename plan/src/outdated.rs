//! Options of users that a release renames, removes or deprecates.

use std::collections::BTreeMap;

use c5c3_api::control_plane::Overrides;
use c5c3_api::parts::Common;
use provider_openstack::{SERVICES, ServiceDefinition, outdated_options};
use serde::Deserialize;

use crate::manifest::Manifest;
use crate::outcome::Plan;

impl Plan {
    /// What to change about options of services before or after their next upgrade, each with the resources that users give them in:
    /// ControlPlanes, and services without one.
    pub fn outdated_options(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for operated in self.given() {
            let resource = &operated.resource;
            for change in outdated(resource) {
                found.entry(change).or_default().push(resource.title());
            }
        }
        found
    }
}

fn outdated(resource: &Manifest) -> Vec<String> {
    let services = SERVICES.iter();
    let changes = services.filter_map(|service| {
        let common = match resource.kind() {
            "ControlPlane" => of_control_plane(resource, service),
            kind if service.name.eq_ignore_ascii_case(kind) => {
                Common::deserialize(resource.spec()).ok()
            }
            _ => None,
        };
        Some(outdated_options(service, &common?))
    });
    changes.flatten().collect()
}

/// Release and options of a service of a ControlPlane.
fn of_control_plane(resource: &Manifest, service: &ServiceDefinition) -> Option<Common> {
    let said = &resource.spec()["services"][service.name];
    if said["enabled"] == false {
        return None;
    }
    let overrides = Overrides::deserialize(said).ok()?;
    Some(Common {
        release: Some(resource.text("/spec/openStackRelease").to_owned()),
        image: overrides.image,
        extra_config: overrides.extra_config,
        extra_config_secrets: overrides.extra_config_secrets,
        ..Common::default()
    })
}
