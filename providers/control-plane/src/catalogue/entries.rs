//! The catalogue itself: services and their endpoints. Keystone's own are made by its bootstrap.

use std::collections::BTreeMap;

use c5c3_api::parts::Exposure;
use c5c3_kinds::korc::{Endpoint, Made, Service};
use provider_composer::{Key, Progress, Reason};
use provider_openstack::{KEYSTONE, ServiceDefinition};

use super::imports::Imports;
use super::korc::Korc;
use super::{Catalogue, first_unready};
use crate::credentials::keystone::{Answer, Change};

/// Composes the services and endpoints.
pub(super) fn compose(
    korc: &mut Korc<'_>,
    imports: &Imports,
    answer: &Result<Answer, Progress>,
) -> Catalogue {
    let may_create = imports.progress.is_ready();
    let enabled: Vec<&ServiceDefinition> = korc
        .recipe
        .enabled()
        .filter(|service| **service != KEYSTONE)
        .collect();
    let (mut progress, mut public) = (Vec::new(), BTreeMap::new());
    for service in enabled {
        let (entry, exposed) = of_service(korc, service, may_create, answer);
        progress.push(entry);
        public.extend(exposed.map(|exposed| (service.node, exposed)));
    }
    Catalogue {
        progress: first_unready(progress),
        public,
    }
}

/// Composes the entry of a service: itself, and its endpoints. Returns the progress of the public endpoint of an exposed API apart:
/// services don't wait for it.
fn of_service(
    korc: &mut Korc<'_>,
    service: &ServiceDefinition,
    may_create: bool,
    answer: &Result<Answer, Progress>,
) -> (Progress, Option<Progress>) {
    let entry = Made::new(
        &korc.cloud,
        Service {
            type_: service.type_,
        },
    );
    let mut progress = vec![korc.want(service.name, &entry, may_create).progress];
    let url = korc.recipe.endpoint(service);
    let exposed = match korc.recipe.exposure(service) {
        Some(exposure) => Some(exposed(korc, service, &exposure, may_create, answer)),
        None => {
            let public = endpoint(korc, service, "public", url.clone(), may_create, answer);
            progress.push(public);
            None
        }
    };
    let internal = endpoint(korc, service, "internal", url, may_create, answer);
    progress.push(internal);
    (first_unready(progress), exposed)
}

/// Composes the public endpoint of an exposed API once the API has answered at its URL. From then on it stays, also while the Gateway is
/// away. A former URL stays until the API answers at the new one.
fn exposed(
    korc: &mut Korc<'_>,
    service: &ServiceDefinition,
    exposure: &Exposure,
    may_create: bool,
    answer: &Result<Answer, Progress>,
) -> Progress {
    let (recipe, observed) = (korc.recipe, korc.observed);
    let text = |key: &Key, pointer: &str| {
        let object = observed.object(key).found()?;
        object.pointer(pointer)?.as_str().map(str::to_owned)
    };
    let api = Key::new(service.kind, recipe.namespace(), service.name);
    let answers = text(&api, "/status/publicEndpoint") == Some(exposure.url());
    let name = format!("{}-public", service.name);
    let key = Key::of::<Made<Endpoint>>(recipe.namespace(), &name);
    let wanted = recipe.public_endpoint(service);
    let present = text(&key, "/spec/resource/url");
    let is_published = answers || present.as_ref() == Some(&wanted);
    let url = match present {
        Some(present) if !answers => present,
        _ => wanted,
    };
    let progress = endpoint(korc, service, "public", url, may_create && answers, answer);
    match is_published {
        true => progress,
        false => Progress::waiting(
            Reason::NotExposed,
            format!("waits for the API to answer at {}", exposure.url()),
        ),
    }
}

/// Composes an endpoint.
fn endpoint(
    korc: &mut Korc<'_>,
    service: &ServiceDefinition,
    interface: &'static str,
    url: String,
    may_create: bool,
    answer: &Result<Answer, Progress>,
) -> Progress {
    let endpoint = Made::new(
        &korc.cloud,
        Endpoint {
            interface,
            url,
            service_ref: service.name,
        },
    );
    let name = format!("{}-{interface}", service.name);
    let state = korc.want(&name, &endpoint, may_create);
    match state.id {
        Some(id) => {
            let placed = place(korc, &name, id, answer);
            first_unready([state.progress, placed])
        }
        None => state.progress,
    }
}

/// Clients that ask for a region find only endpoints that have it, and K-ORC gives them none.
fn place(
    korc: &mut Korc<'_>,
    name: &str,
    endpoint: String,
    answer: &Result<Answer, Progress>,
) -> Progress {
    let regions = match answer {
        Ok(answer) => &answer.regions,
        Err(progress) => return progress.clone(),
    };
    let region = korc.recipe.region().to_owned();
    if regions.get(&endpoint) == Some(&region) {
        return Progress::Ready;
    }
    let message = format!("waits for endpoint {name} to be in region {region}");
    let progress = Progress::waiting(Reason::WaitingFor("Keystone"), message);
    korc.change(Change::Place { endpoint, region });
    progress
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
        let cluster = Cluster::default();
        let observed = ObservedState::new(&cluster, cluster.now());
        let (recipe, mut desired) = (Recipe::of(&subject, &observed), DesiredState::default());
        let mut korc = Korc::new(&recipe, &mut desired);
        let (_, exposed) = of_service(&mut korc, &TOY, true, &Err(Progress::Ready));
        assert_eq!(exposed, None);
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
