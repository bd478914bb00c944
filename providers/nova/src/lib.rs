//! The nova-operator's composer: compute.

mod agents;
mod cells;
mod clouds;
mod compute;
mod config;
mod consoles;
mod databases;
mod entry;
mod ephemeral;
mod migration;
mod options;
mod pods;
mod recipe;
mod report;
mod upgrade;
mod workload;

use std::collections::BTreeMap;

use c5c3_api::hypervisor::HypervisorShareSpec;
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::{NovaSpec, NovaStatus};
use c5c3_api::placement::PlacementSpec;
use c5c3_kinds::{Manifest, cert_manager};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{
    Composer, Custom, DesiredState, Failure, Generated, GeneratedValue, ObservedState, Resource,
    Retention, Subject, Use,
};
use provider_openstack::{
    CacheServer, Component, Cron, KeystoneAccess, Messaging, NOVA, NOVA_CONDUCTOR, NOVA_METADATA,
    NOVA_SCHEDULER, Prerequisite, Service, ServiceContext, all, cache, note_purged, progress, uses,
};

use clouds::Clouds;
use config::{Control, Facts, OWNED, Shared};
use databases::Databases;
use recipe::Recipe;

/// Key of the secret that Neutron's agents share with the metadata API, in the Secret `<nova>-metadata`.
const SECRET: &str = "secret";

/// Composes Novas.
pub struct Nova;

impl Composer for Nova {
    type Spec = NovaSpec;
    type Status = NovaStatus;
    const OPERATOR: &'static str = "nova-operator";

    fn uses(&self) -> Vec<Use> {
        let scheduled = Use::composes(CronJob::KIND);
        uses()
            .into_iter()
            .chain(Messaging::uses())
            .chain([
                scheduled,
                Use::composes(Manifest::<cert_manager::Issuer>::KIND),
                Use::reads(Custom::<NeutronSpec>::KIND),
                Use::reads(Custom::<PlacementSpec>::KIND),
                Use::reads(Custom::<HypervisorShareSpec>::KIND),
                Use::reads(Pod::KIND),
            ])
            .collect()
    }

    fn compose(
        &self,
        subject: &Subject<NovaSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<NovaStatus, Failure> {
        let (spec, status) = (&subject.spec, &subject.status);
        cells::check(subject.name(), spec, status)?;
        let cron = Cron::of_field("deletedRows.schedule", &spec.deleted_rows.schedule)?;
        let service = NOVA.service(&OWNED, subject, observed, &spec.common, &status.service)?;
        options::check(&service.extra)?;
        let components = components(&service, spec)?;
        let context = ServiceContext::of(&service, components, desired)?;
        let databases = Databases::resolve(&service, spec, desired);
        let bus = Messaging::resolve(&service, "", &spec.messaging, desired);
        let cells = cells::resolve(&service, spec, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, desired);
        let cache = servers(&service, spec);
        let metadata = metadata(&service, desired);
        let clouds = Clouds::resolve(&service);
        let disks = ephemeral::decide(&service, spec, status);
        let ephemeral = ephemeral::resolve(disks, &service, spec);
        if let Ok(databases) = &databases {
            cells::distinct(
                [("apiDatabase", &databases.api), ("cell0", &databases.cell0)],
                &cells,
            )?;
        }
        upgrade::check(&service, &cells)?;
        desired.conditions.set("MessagingReady", &progress(&bus));

        let mut nova = Recipe {
            service: &service,
            context: &context,
            spec,
            status,
            cells: &cells,
            removed: cells::removed(&service, spec, status)?,
            continued: entry::continued(&subject.metadata.annotations),
            states: Vec::new(),
            mappings: cells::mappings(status),
            computes: upgrade::unread(),
            outdated_cells: Vec::new(),
        };
        let parts = all((
            &databases,
            &bus,
            &access,
            &cache,
            &metadata,
            &context.policy,
        ));
        let workload = parts.and_then(|(databases, bus, access, cache, metadata, policy)| {
            let shared = Shared::of(&service, access);
            let facts = Facts {
                service: &service,
                clouds: &clouds,
                spec,
                access,
                shared: &shared,
                cache,
                ephemeral: &ephemeral,
            };
            let control = Control {
                api: &databases.api,
                cell0: &databases.cell0,
                bus,
                metadata,
                policy,
            };
            nova.workload(&facts, &control, desired)
        });
        if let Err(pending) = &workload {
            nova.keep(pending, desired);
        }
        let are_agents_current = workload
            .as_ref()
            .is_ok_and(|workload| workload.agents.is_none());
        let mut service_status = context.run(progress(&databases), workload, desired)?;
        if !are_agents_current {
            // The former application credential is revoked once the status has the present one.
            service_status
                .application_credential
                .clone_from(&status.service.application_credential);
        }
        let archived = databases::archived(&context.jobs, &cron, desired);
        note_purged(&archived, desired);
        nova.external_scheduler(desired);
        nova.unsupported(desired);
        ephemeral::report(disks, &service, spec, &ephemeral, desired);
        ephemeral::check(
            &ephemeral,
            &status.service.conditions,
            &context.jobs,
            desired,
        );
        let cells = nova.report(desired);
        Ok(NovaStatus {
            service: service_status,
            disks: Some(disks),
            cells,
        })
    }
}

/// The components of Nova, conductors first.
fn components<'a>(
    service: &'a Service<'a>,
    spec: &'a NovaSpec,
) -> Result<Vec<Component<'a>>, Failure> {
    let mut components = vec![
        service.component(NOVA_CONDUCTOR, "", &spec.conductor)?,
        service.component(NOVA_SCHEDULER, "", &spec.scheduler.component)?,
        service.component(NOVA_METADATA, "", &spec.metadata)?,
        service.api(&spec.api)?,
    ];
    components.extend(cells::components(service, spec)?);
    Ok(components)
}

/// The members of the cache; none where no cache is wanted.
fn servers(service: &Service<'_>, spec: &NovaSpec) -> Prerequisite<Vec<CacheServer>> {
    match &spec.cache {
        Some(wanted) => cache(service, wanted),
        None => Ok(Vec::new()),
    }
}

/// The secret that Neutron's agents prove themselves with to the metadata API. It is generated once.
fn metadata(service: &Service<'_>, desired: &mut DesiredState) -> Prerequisite<String> {
    let name = service.named(NOVA_METADATA.name);
    let generated = Generated {
        values: BTreeMap::from([(SECRET.to_owned(), GeneratedValue::Password(32))]),
        labels: service.identity(),
        retention: Retention::WhileWanted,
        is_immutable: false,
    };
    desired.generate(service.namespace, &name, generated);
    let values = service.secret(&name, "the secret of the metadata API")?;
    Ok(values.line(SECRET)?.to_owned())
}
