//! The catalogue itself: services and their endpoints. Keystone's own are made by its bootstrap.

use provider_composer::{Failure, Progress, Reason};
use provider_openstack::{KEYSTONE, ServiceDefinition};

use super::first_unready;
use super::imports::Imports;
use super::korc::Korc;
use crate::credentials::keystone::{Answer, Change};
use crate::manifest::korc::{Endpoint, Made, Service};

/// Composes the services and endpoints.
pub(super) fn compose(
    korc: &mut Korc<'_>,
    imports: &Imports,
    answer: &Result<Answer, Progress>,
) -> Result<Progress, Failure> {
    let turn = imports.progress.is_ready();
    let enabled: Vec<&ServiceDefinition> = korc
        .recipe
        .enabled()
        .filter(|service| **service != KEYSTONE)
        .collect();
    let mut progress = Vec::new();
    for service in enabled {
        progress.extend(of_service(korc, service, turn, answer)?);
    }
    Ok(first_unready(progress))
}

/// Composes the entry of a service: itself, and its endpoints.
fn of_service(
    korc: &mut Korc<'_>,
    service: &ServiceDefinition,
    turn: bool,
    answer: &Result<Answer, Progress>,
) -> Result<Vec<Progress>, Failure> {
    let entry = Made::new(
        &korc.cloud,
        Service {
            type_: service.type_,
        },
    );
    let mut progress = vec![korc.want(service.name, &entry, turn)?.progress];
    let interfaces = [
        ("public", korc.recipe.public_endpoint(service)),
        ("internal", korc.recipe.endpoint(service)),
    ];
    for (interface, url) in interfaces {
        let endpoint = Made::new(
            &korc.cloud,
            Endpoint {
                interface,
                url,
                service_ref: service.name,
            },
        );
        let name = format!("{}-{interface}", service.name);
        let state = korc.want(&name, &endpoint, turn)?;
        progress.push(state.progress);
        if let Some(id) = state.id {
            progress.push(place(korc, &name, id, answer)?);
        }
    }
    Ok(progress)
}

/// Clients that ask for a region find only endpoints that have it, and K-ORC gives them none.
fn place(
    korc: &mut Korc<'_>,
    name: &str,
    endpoint: String,
    answer: &Result<Answer, Progress>,
) -> Result<Progress, Failure> {
    let regions = match answer {
        Ok(answer) => &answer.regions,
        Err(progress) => return Ok(progress.clone()),
    };
    let region = korc.recipe.region().to_owned();
    if regions.get(&endpoint) == Some(&region) {
        return Ok(Progress::Ready);
    }
    let progress = Progress::waiting(
        Reason::WaitingFor("Keystone"),
        format!("waits for endpoint {name} to be in region {region}"),
    );
    korc.change(Change::Place { endpoint, region })?;
    Ok(progress)
}

#[cfg(test)]
mod tests {
    use provider_composer::{DesiredState, ObservedState};
    use provider_composer_testing::Cluster;
    use provider_openstack_fixtures::TOY;
    use serde_json::{Value, json};

    use super::*;
    use crate::recipe::{ControlPlane, Recipe};

    #[test]
    fn toy_service_has_an_entry_with_its_type_port_and_path() {
        let subject: ControlPlane = serde_json::from_value(json!({
            "metadata": { "name": "production", "namespace": "openstack" },
            "spec": { "openStackRelease": "2025.2" },
        }))
        .unwrap();
        let (recipe, cluster) = (Recipe::of(&subject), Cluster::default());
        let observed = ObservedState::new(&cluster, cluster.now());
        let mut desired = DesiredState::default();
        let mut korc = Korc::new(&recipe, &observed, &mut desired);
        let composed = of_service(&mut korc, &TOY, true, &Err(Progress::Ready));
        assert_eq!(composed.unwrap().len(), 3);
        let each = desired.objects.iter();
        let each = each.map(|(key, object)| (key.name.as_str(), &object["spec"]["resource"]));
        let url = "https://toy.openstack.svc.cluster.local:9999/v1";
        let endpoint = |interface: &str| -> Value {
            json!({ "interface": interface, "url": url, "serviceRef": "toy" })
        };
        assert_eq!(
            each.collect::<Vec<_>>(),
            [
                ("toy-internal", &endpoint("internal")),
                ("toy-public", &endpoint("public")),
                ("toy", &json!({ "type": "toy" })),
            ]
        );
    }
}
