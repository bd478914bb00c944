//! The cinder-operator's composer: volumes.

mod backends;
mod backup;
mod config;
pub mod locks;

use c5c3_api::cinder::{CinderSpec, CinderStatus};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{
    Composer, DesiredState, Failure, ObservedState, Progress, Reason, Resource, Subject, Use,
};
use provider_openstack::{
    CINDER, CINDER_BACKUP, CINDER_SCHEDULER, CINDER_VOLUME, Component, Database, Files,
    KeystoneAccess, Messaging, Migration, Migrations, Phase, Pods, Prerequisite, Program, Purge,
    Service, ServiceContext, Source, Tables, Workload, all, progress, uses,
};

use backends::Backend;
use backup::Place;
use config::Facts;

/// Its configuration file.
const CONFIG: &str = "cinder.conf";
/// The environment variable of the name by which Cinder knows a program.
const HOST: &str = "OS_DEFAULT__HOST";

/// Composes Cinders.
pub struct Cinder;

impl Composer for Cinder {
    type Spec = CinderSpec;
    type Status = CinderStatus;
    const OPERATOR: &'static str = "cinder-operator";

    fn uses(&self) -> Vec<Use> {
        let composed = [StatefulSet::KIND, CronJob::KIND].map(Use::composes);
        uses()
            .into_iter()
            .chain(Messaging::uses())
            .chain(composed)
            .chain([Use::reads(Pod::KIND)])
            .collect()
    }

    fn compose(
        &self,
        subject: &Subject<CinderSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<CinderStatus, Failure> {
        let Subject { spec, status, .. } = subject;
        let owned = config::owned(spec);
        let service = CINDER.service(&owned, subject, observed, &spec.common, &status.service)?;
        let backends = backends::resolve(&service, spec)?;
        let components = components(&service, spec)?;
        let context = ServiceContext::of(&service, components, desired)?;
        let purge = Purge::of(&context.jobs, &spec.deleted_rows)?;
        let database = Database::resolve(&service, "", &spec.database, desired);
        let bus = Messaging::resolve(&service, "", &spec.messaging, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, desired);
        let backup = spec.backup.as_ref();
        let backup = backup.map(|backup| Place::resolve(&service, backup));
        let parts = all((&database, &bus, &access, &context.policy));
        let workload = parts.map(|(database, bus, access, policy)| {
            let facts = Facts {
                service: &service,
                spec,
                database,
                bus,
                access,
                policy,
            };
            workload(&facts, &backends, backup.as_ref(), &purge, desired)
        });
        if workload.is_err() {
            purge.keep(desired);
        }
        let status = context.run(progress(&database), workload, desired)?;
        desired.conditions.set("MessagingReady", &progress(&bus));
        purge.report(desired);
        backends::publish(&service, &backends, desired);
        let before = &subject.status.service.conditions;
        let backup = backup
            .as_ref()
            .and_then(|place| place.as_ref().ok()?.pool());
        let pools = backends::check_pools(&backends, backup, before, &context.jobs, desired);
        if spec.backends.is_empty() {
            let nowhere = Progress::waiting(
                Reason::NoBackends,
                "spec.backends is empty, and no volume can be created: add a pool in Ceph",
            );
            desired.conditions.note("VolumeReady", &nowhere);
        }
        Ok(CinderStatus {
            service: status,
            backends: backends::report(&backends, &pools, &context),
        })
    }
}

/// The components of Cinder. Each backend has programs of its own, so that none waits for another's Ceph.
fn components<'a>(
    service: &'a Service<'a>,
    spec: &'a CinderSpec,
) -> Result<Vec<Component<'a>>, Failure> {
    let mut components = vec![
        service.api(&spec.api)?,
        service.component(CINDER_SCHEDULER, "", &spec.scheduler)?,
    ];
    for backend in &spec.backends {
        let volume = service.component(CINDER_VOLUME, &backend.name, &spec.volume)?;
        components.push(volume);
    }
    if let Some(backup) = &spec.backup {
        components.push(service.component(CINDER_BACKUP, "", &backup.component)?);
    }
    Ok(components)
}

/// A program of Cinder that sees these files, with its state: where it copies volumes, the images that it converts.
fn program(files: Source, state: Source) -> Program {
    let program = Program::default()
        .mount("config", CINDER.folder, files.clone())
        .mount("state", config::STATE, state);
    locks::mount(program, files)
}

fn workload(
    facts: &Facts<'_>,
    backends: &[Backend<'_>],
    backup: Option<&Prerequisite<Place>>,
    purge: &Purge<'_>,
    desired: &mut DesiredState,
) -> Workload {
    let (service, bus) = (facts.service, facts.bus);
    let mut files = Files::default();
    let config = facts.control(&mut files);
    files.config(CONFIG, &config);
    let control = program(
        files.compose(service, desired).source(),
        Source::EmptyDir { size_limit: None },
    );
    let file = CINDER.file(CONFIG);
    let migration = |name, phase, words: &[&str]| Migration {
        name,
        phase,
        after: &[],
        database: facts.database.place(),
        program: control.clone().reading("cinder-manage", &file, words),
    };
    let tables = Tables {
        names: ".*",
        after_days: facts.spec.deleted_rows.purge_after_days,
    };
    purge.apply(control.clone(), &file, &[tables], desired);
    // Schedulers keep no state, and stand in for each other under one name.
    let scheduler = control
        .clone()
        .reading("cinder-scheduler", &file, &[])
        .variable(HOST, service.named(CINDER_SCHEDULER.name));
    let mut pods = vec![
        Pods {
            options: vec!["--pyargv".to_owned(), format!("--config-file {file}")],
            ..Pods::of("api", control.clone())
        },
        // It starts while the others are older.
        Pods {
            peers: Some(Progress::Ready),
            ..bus.watched(CINDER_SCHEDULER.name, scheduler)
        },
    ];
    pods.extend(backends.iter().map(|backend| backend.pods(facts, desired)));
    pods.extend(backup.map(|place| backup::pods(facts, place, backends, desired)));
    Workload {
        migrations: Migrations(vec![
            migration("db-sync", Phase::Sync, &["db", "sync"]),
            migration(
                "db-online",
                Phase::Contract,
                &["db", "online_data_migrations"],
            ),
        ]),
        pods,
        application_credential: Some(facts.access.id().to_owned()),
        agents: None,
        outdated: None,
    }
}

/// The pods of a component whose members keep their names, by which Cinder knows them.
fn members(
    facts: &Facts<'_>,
    (component, name): (&str, &str),
    files: Files,
    desired: &mut DesiredState,
) -> Pods {
    let files = files.compose(facts.service, desired).source();
    let program = program(files.clone(), Source::Images)
        // os-brick looks for keys only here.
        .mount("ceph", backends::CEPH, files)
        .reading(name, &CINDER.file(CONFIG), &[])
        .field(HOST, "metadata.name");
    facts.bus.watched(component, program)
}
