//! Cells: what each has, and how it leaves.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::nova::{self, NovaSpec, NovaStatus};
use c5c3_api::parts;
use c5c3_kinds::{Manifest, cert_manager, gateway, mariadb, rabbitmq};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service as KubernetesService};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use provider_composer::{
    DesiredState, Failure, Key, Lookup, Reason, Resource, SecretValues, label_pairs,
};
use provider_openstack::{
    Component, ComponentDefinition, Database, Messaging, NOVA, NOVA_CONDUCTOR, NOVA_NOVNCPROXY,
    Prerequisite, Service, keep_deployment, user_credentials,
};

use crate::consoles::Consoles;
use crate::{compute, migration};

/// The longest name of a Service.
const LONGEST: usize = 63;

/// What a cell's conductor is, besides the super conductor.
const CONDUCTOR: ComponentDefinition = ComponentDefinition {
    condition: "CellsReady",
    ..NOVA_CONDUCTOR
};

/// A cell, with what it needs.
pub struct Cell<'a> {
    /// What is wanted of it.
    pub spec: &'a nova::Cell,
    /// Its database.
    pub database: Prerequisite<Database>,
    /// CA certificates of its database's server, even while the database isn't ready.
    pub authority: Option<String>,
    /// Its message bus.
    pub bus: Prerequisite<Messaging>,
    /// Certificates of its consoles, if they are to have any.
    pub consoles: Prerequisite<Option<Consoles>>,
    /// The SSH key of its hypervisors.
    pub migration_key: Prerequisite<Option<String>>,
    /// The Secret of its hypervisors.
    pub published: Lookup<SecretValues>,
}

/// Checks what holds for all cells together.
///
/// # Errors
/// Two cells have one name, a name is reserved, or the first cell is another one than before.
pub fn check(nova: &str, spec: &NovaSpec, status: &NovaStatus) -> Result<(), Failure> {
    let invalid = |message| Err(Failure::new(Reason::Invalid, message));
    let mut names = BTreeSet::new();
    for cell in &spec.cells {
        let name = &cell.name;
        if ["cell0", "api"].contains(&name.as_str()) {
            return invalid(format!(
                "cells has {name}, which Nova has in any case: remove it from cells"
            ));
        }
        let service = format!("{nova}-{name}-{}", NOVA_NOVNCPROXY.name);
        if service.len() > LONGEST {
            return invalid(format!(
                "the Service {service} of cell {name} would have {} characters, and Kubernetes allows {LONGEST}: give the cell a \
                 shorter name, or create the Nova under one",
                service.len()
            ));
        }
        if !names.insert(name) {
            return invalid(format!(
                "two cells have the name {name}: give each cell a name of its own"
            ));
        }
    }
    let (Some(first), Some(before)) = (spec.cells.first(), status.cells.first()) else {
        return Ok(());
    };
    if first.name != before.name && first.database.is_none() {
        return invalid(format!(
            "the first cell is {}, and was {}, whose servers are in the database of the first cell: put {} first again",
            first.name, before.name, before.name
        ));
    }
    Ok(())
}

/// Returns the components of all cells.
///
/// # Errors
/// There are no replicas.
pub fn components<'a>(
    service: &'a Service<'a>,
    spec: &'a NovaSpec,
) -> Result<Vec<Component<'a>>, Failure> {
    let mut components = Vec::new();
    for cell in &spec.cells {
        let conductor = cell.conductor.as_ref().unwrap_or(&spec.conductor);
        components.push(service.component(CONDUCTOR, &cell.name, conductor)?);
        components.push(Component {
            expose: cell.consoles.as_ref(),
            ..service.component(NOVA_NOVNCPROXY, &cell.name, &spec.no_vnc_proxy)?
        });
    }
    Ok(components)
}

/// Returns what each cell needs. The first cell has Nova's own database, each other one `<nova>_<cell>` in the same server; every
/// cell has a virtual host of its own in Nova's message bus, since two conductors of one bus would take each other's calls. What
/// a cell names itself wins.
pub fn resolve<'a>(
    service: &Service<'_>,
    spec: &'a NovaSpec,
    desired: &mut DesiredState,
) -> Vec<Cell<'a>> {
    let cells = spec.cells.iter().enumerate();
    let resolved = cells.map(|(index, cell)| {
        let suffix = match (index, &cell.database) {
            (0, None) => "",
            _ => cell.name.as_str(),
        };
        let database = cell.database.clone().unwrap_or_else(|| match index {
            0 => server(spec, Some(&spec.database.database)),
            _ => parts::Database {
                secret_ref: None,
                ..server(spec, None)
            },
        });
        let messaging = cell.messaging.clone().unwrap_or_else(|| parts::Messaging {
            vhost: None,
            secret_ref: None,
            ..spec.messaging.clone()
        });
        if index > 0 {
            passwords(service, &cell.name, &database, &messaging, desired);
        }
        let published = compute::published(service, &cell.name);
        Cell {
            spec: cell,
            authority: Database::authority_of(service, suffix, &database),
            database: Database::resolve(service, suffix, &database, desired),
            bus: Messaging::resolve(service, &cell.name, &messaging, desired),
            consoles: Consoles::resolve(service, &cell.name, desired),
            migration_key: migration::resolve(service, &cell.name, &published, desired),
            published,
        }
    });
    resolved.collect()
}

/// Nova's own database server, and a database in it.
pub fn server(spec: &NovaSpec, database: Option<&str>) -> parts::Database {
    let given = &spec.database;
    parts::Database {
        server: given.server.clone(),
        database: database.map(str::to_owned),
        secret_ref: given.secret_ref.clone(),
    }
}

/// Generates the passwords of a cell that is added, for servers in this cluster. Those of the first cell are the control plane's.
fn passwords(
    service: &Service<'_>,
    cell: &str,
    database: &parts::Database,
    messaging: &parts::Messaging,
    desired: &mut DesiredState,
) {
    if database.server.cluster_ref.is_some() && database.secret_ref.is_none() {
        let user = user_credentials(RotationType::DatabaseUser, &NOVA.database_name(cell));
        desired.generate(service.namespace, &NOVA.database_credentials(cell), user);
    }
    if messaging.cluster_ref.is_some() && messaging.secret_ref.is_none() {
        let user = user_credentials(RotationType::MessagingUser, &NOVA.part(cell));
        desired.generate(service.namespace, &NOVA.bus_credentials(cell), user);
    }
}

/// Checks that no two cells are in one database, nor one in the API's or in cell0's.
///
/// # Errors
/// Two of them are: their servers would be mixed up.
pub fn distinct(own: [(&str, &Database); 2], cells: &[Cell<'_>]) -> Result<(), Failure> {
    let cells = cells.iter();
    let cells =
        cells.filter_map(|cell| Some((cell.spec.name.as_str(), cell.database.as_ref().ok()?)));
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (name, database) in own.into_iter().chain(cells) {
        let place = database.place();
        if let Some((other, _)) = seen.iter().find(|(_, seen)| *seen == place) {
            let message = format!(
                "{other} and {name} have one database, {place}: give each a database of its own"
            );
            return Err(Failure::new(Reason::Invalid, message));
        }
        seen.push((name, place));
    }
    Ok(())
}

/// What Nova's API database was last told of each cell, by name.
pub fn mappings(status: &NovaStatus) -> BTreeMap<String, String> {
    let cells = status.cells.iter();
    let told = cells.filter_map(|cell| Some((cell.name.clone(), cell.mapping.clone()?)));
    told.collect()
}

/// The cells that run and are no longer wanted, by the Deployments of their conductors and by Nova's status.
///
/// # Errors
/// Deployments can't be listed: what isn't known of a cell would be deleted.
pub fn removed(
    service: &Service<'_>,
    spec: &NovaSpec,
    status: &NovaStatus,
) -> Result<BTreeSet<String>, Failure> {
    let labels = service.labels();
    let found = service.keys(Deployment::KIND, &label_pairs(&labels));
    let unknown = |why: String| Failure::transient(Reason::LookupFailed, why);
    let found = found.known().map_err(unknown)?.unwrap_or_default();
    let suffix = format!("-{}", NOVA_CONDUCTOR.name);
    let prefix = format!("{}-", service.name);
    let running = found.iter().filter_map(|key| {
        let cell = key.name.strip_prefix(&prefix)?.strip_suffix(&suffix)?;
        Some(cell.to_owned())
    });
    let known = status.cells.iter().map(|cell| cell.name.clone());
    let wanted = |name: &String| spec.cells.iter().any(|cell| cell.name == *name);
    Ok(running.chain(known).filter(|name| !wanted(name)).collect())
}

/// Leaves all that a cell consists of as it is. [`ServiceContext::run`](provider_openstack::ServiceContext::run) keeps the users that a
/// rotation gave it.
pub fn keep(cell: &str, service: &Service<'_>, desired: &mut DesiredState) {
    let namespace = service.namespace;
    for component in [NOVA_CONDUCTOR.name, NOVA_NOVNCPROXY.name] {
        let name = service.named(&format!("{cell}-{component}"));
        keep_deployment(service, &name, desired);
        desired.keep(Key::of::<KubernetesService>(namespace, &name));
        desired.keep(Key::of::<NetworkPolicy>(namespace, &name));
        desired.keep(Key::of::<PodDisruptionBudget>(namespace, &name));
        desired.keep(Key::of::<Ingress>(namespace, &name));
        desired.keep(Key::of::<Manifest<gateway::HttpRoute>>(namespace, &name));
        desired.keep(Key::of::<Manifest<gateway::BackendTlsPolicy>>(
            namespace, &name,
        ));
        let authority = format!("{name}-authority");
        desired.keep(Key::of::<ConfigMap>(namespace, &authority));
        let certificate = format!("{name}-tls");
        desired.keep(Key::of::<Manifest<cert_manager::Certificate>>(
            namespace,
            &certificate,
        ));
    }
    let name = service.named(cell);
    desired.keep(Key::of::<Manifest<mariadb::Database>>(namespace, &name));
    desired.keep(Key::of::<Manifest<mariadb::User>>(namespace, &name));
    desired.keep(Key::of::<Manifest<mariadb::Grant>>(namespace, &name));
    desired.keep(Key::of::<Manifest<rabbitmq::Vhost>>(namespace, &name));
    desired.keep(Key::of::<Manifest<rabbitmq::User>>(namespace, &name));
    desired.keep(Key::of::<Manifest<rabbitmq::Permission>>(namespace, &name));
    compute::keep(service, cell, desired);
    Consoles::keep(service, cell, desired);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_whose_service_would_have_too_long_a_name_is_refused() {
        let cells = serde_json::json!({ "cells": [{ "name": "c".repeat(20) }] });
        let spec: NovaSpec = serde_json::from_value(cells).unwrap();
        let checked = |length: usize| check(&"n".repeat(length), &spec, &NovaStatus::default());
        assert!(checked(31).is_ok());
        let refused = checked(32).unwrap_err().to_string();
        assert!(
            refused.contains("would have 64 characters, and Kubernetes allows 63"),
            "{refused}"
        );
    }
}
