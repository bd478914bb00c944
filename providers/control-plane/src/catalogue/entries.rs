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
        let entry = Made::new(
            &korc.cloud,
            Service {
                type_: service.type_,
            },
        );
        progress.push(korc.want(service.name, &entry, turn)?.progress);
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
    }
    Ok(first_unready(progress))
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
