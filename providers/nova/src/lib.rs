//! The nova-operator's composer: compute.

mod cells;
mod compute;
mod config;
mod databases;

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::nova::{CellStatus, NovaSpec, NovaStatus};
use k8s_openapi::api::batch::v1::CronJob;
use provider_composer::{
    Composer, DesiredState, Failure, Generated, GeneratedValue, Key, ObservedState, Progress,
    Reason, Resource, Retention, Subject, Use,
};
use provider_openstack::{
    Awaited, Component, Files, KeystoneAccess, Messaging, Migrations, NOVA, NOVA_CONDUCTOR,
    NOVA_METADATA, NOVA_NOVNCPROXY, NOVA_SCHEDULER, Pods, Program, Release, Scale, Service,
    ServiceContext, Source, Values, Workers, Workload, all, cache, progress, uses,
};

use cells::{Cell, State, scale};
use config::{Control, Facts};
use databases::Databases;

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
            .chain([scheduled])
            .collect()
    }

    fn compose(
        &self,
        subject: &Subject<NovaSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<NovaStatus, Failure> {
        let (spec, status) = (&subject.spec, &subject.status);
        cells::check(spec, status)?;
        let installed = status.service.release.as_deref();
        let service = Service::of(&NOVA, &config::OWNED, subject, installed, &spec.common)?;
        let kind = Subject::<NovaSpec>::KIND;
        let components = components(&service, spec)?;
        let context = ServiceContext::of(&service, components, kind, observed, desired)?;
        let databases = Databases::resolve(&service, spec, observed, desired);
        let bus = Messaging::resolve(&service, "", &spec.messaging, observed, desired);
        let cells = cells::resolve(&service, spec, observed, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, observed, desired);
        let cache = servers(&service, spec, observed);
        let metadata = metadata(&service, observed, desired);
        if let Ok(databases) = &databases {
            cells::distinct(
                [("apiDatabase", &databases.api), ("cell0", &databases.cell0)],
                &cells,
            )?;
        }
        desired.conditions.set("MessagingReady", &progress(&bus));

        let mut nova = Recipe {
            service: &service,
            context: &context,
            spec,
            status,
            cells: &cells,
            states: Vec::new(),
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
            let facts = Facts {
                service: &service,
                spec,
                access,
                cache,
                authorities: databases::authorities(databases, &cells),
            };
            let control = Control {
                api: &databases.api,
                cell0: &databases.cell0,
                bus,
                metadata,
                policy,
            };
            nova.workload(&facts, &control, observed, desired)
        });
        if workload.is_err() {
            nova.keep(observed, desired);
        }
        let service_status = context.run(progress(&databases), workload, observed, desired)?;
        nova.external_scheduler(desired);
        let cells = nova.report(desired);
        Ok(NovaStatus {
            service: service_status,
            cells,
        })
    }
}

/// The components of Nova, conductors first.
fn components<'a>(
    service: &'a Service<'a>,
    spec: &'a NovaSpec,
) -> Result<Vec<Component<'a>>, Failure> {
    let scheduler = Scale {
        replicas: spec.scheduler.replicas,
        autoscaling: None,
        resources: &spec.scheduler.resources,
    };
    let mut components = vec![
        Component::of(service, NOVA_CONDUCTOR, "", scale(&spec.conductor))?,
        Component::of(service, NOVA_SCHEDULER, "", scheduler)?,
        Component::of(service, NOVA_METADATA, "", scale(&spec.metadata))?,
        service.api(scale(&spec.api))?,
    ];
    components.extend(cells::components(service, spec)?);
    Ok(components)
}

/// The members of the cache; none where no cache is wanted.
fn servers(
    service: &Service<'_>,
    spec: &NovaSpec,
    observed: &ObservedState<'_>,
) -> Awaited<Vec<String>> {
    match &spec.cache {
        Some(wanted) => cache(service, wanted, observed),
        None => Ok(Vec::new()),
    }
}

/// The secret that Neutron's agents prove themselves with to the metadata API. It is generated once.
fn metadata(
    service: &Service<'_>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Awaited<String> {
    let name = service.named(NOVA_METADATA.name);
    let generated = Generated {
        values: BTreeMap::from([(SECRET.to_owned(), GeneratedValue::Password(32))]),
        labels: service.identity(),
        retention: Retention::WhileWanted,
    };
    desired.generate(service.namespace, &name, generated);
    let values = Values::read(
        observed,
        service.namespace,
        &name,
        "the secret of the metadata API",
    )?;
    Ok(values.required(SECRET)?.to_owned())
}

/// A program of Nova that sees these files.
fn daemon(files: Source) -> Program {
    Program::default()
        .mount("config", NOVA.folder, files)
        .mount("state", config::STATE, Source::Scratch)
}

/// A program of Nova that is started with the configuration file.
fn program(name: &str, files: Source) -> Program {
    let command = [name.to_owned(), "--config-file".to_owned(), config::path()];
    daemon(files).command(command)
}

/// How an API serves requests at once: by threads, or by processes where Eventlet patches threads, as releases before 2026.1 do
/// unless they are told otherwise (<https://docs.openstack.org/nova/latest/admin/concurrency.html>).
fn workers(release: Release) -> Workers {
    match release < Release::new(2026, 1) {
        true => Workers {
            processes: 2,
            threads: 1,
        },
        false => Workers::default(),
    }
}

/// Nova, as the steps of its recipe look at it.
struct Recipe<'a> {
    service: &'a Service<'a>,
    context: &'a ServiceContext<'a>,
    spec: &'a NovaSpec,
    status: &'a NovaStatus,
    cells: &'a [Cell<'a>],
    /// How far each cell has come, those that are being removed last.
    states: Vec<(String, Progress)>,
}

impl Recipe<'_> {
    /// What Nova runs, and how its databases come to the release.
    ///
    /// # Errors
    /// The release that runs isn't ready for an upgrade.
    fn workload(
        &mut self,
        facts: &Facts<'_>,
        control: &Control<'_>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Awaited<Workload> {
        let (service, jobs) = (self.service, &self.context.jobs);
        let mut files = facts.control(control);
        let tasks = files.compose(service, desired).source();
        databases::check_upgrade(service, jobs, &tasks, control, desired)?;
        let mut migrations = databases::migrations(service, facts, control, desired);
        let tables = databases::tables(&migrations, service, jobs);

        // The pods outside cells read all mappings once, when they start.
        let mut mappings = BTreeMap::new();
        let mut awaited = Progress::Ready;
        let cell0 = facts.tasks(control.api, control.cell0, None);
        let cell0 = cell0.compose(service, desired);
        let mapped = cells::map("cell0", &cell0, control.api, &tables, jobs, desired);
        hold(&mut awaited, &mapped);
        mappings.insert("cell0".to_owned(), cell0.name.clone());

        let mut pods = Vec::new();
        for cell in self.cells {
            let name = &cell.spec.name;
            let entered = cell.enter(facts, control.api, &tables, jobs, desired);
            let reached = match &entered {
                Ok(State { synced, mapped, .. }) if !synced.is_ready() || mapped.is_ready() => {
                    synced.clone()
                }
                Ok(State { mapped, .. }) => mapped.clone(),
                Err(awaited) => awaited.clone(),
            };
            if self.waits_for(name) {
                hold(&mut awaited, &reached);
            }
            if let Ok(state) = &entered
                && state.mapped.is_ready()
            {
                mappings.insert(state.name.clone(), state.mapping.clone());
            }
            pods.extend(self.cell(facts, cell, entered, desired));
            if service.installed.is_some_and(|it| it != service.release) {
                migrations.extend(databases::cell_migration(
                    service, facts, control, cell, desired,
                ));
            }
            self.states.push((name.clone(), reached));
        }
        for name in cells::removed(service, self.spec, self.status, observed) {
            let deleted = cells::delete(&name, &cell0, service, jobs, desired);
            if !deleted.is_ready() {
                mappings.insert(name.clone(), "removed".to_owned());
                self.states.push((name, deleted));
            }
        }
        let mappings = mappings.iter();
        let mappings: Vec<String> = mappings
            .map(|(name, mapping)| format!("{name} {mapping}\n"))
            .collect();
        files.text("cells", mappings.concat());
        pods.extend(self.control(control, &files, &awaited, desired));
        databases::archive(self.spec, jobs, tasks, desired);
        Ok(Workload {
            pods,
            migrations: Migrations(migrations),
            application_credential: Some(facts.access.id().to_owned()),
        })
    }

    /// Whether the pods outside cells wait for a cell: for those that they knew before, and for all before they first start.
    fn waits_for(&self, cell: &str) -> bool {
        let known = self
            .status
            .cells
            .iter()
            .any(|known| known.name == cell && known.status.as_deref() == Some("Ready"));
        known || self.service.installed.is_none()
    }

    /// What the pods outside cells run.
    fn control(
        &self,
        control: &Control<'_>,
        files: &Files,
        awaited: &Progress,
        desired: &mut DesiredState,
    ) -> Vec<Pods> {
        let files = files.compose(self.service, desired).source();
        let pods = |component: &str, program: Program| Pods {
            awaited: awaited.clone(),
            workers: workers(self.service.release),
            ..Pods::of(component, program)
        };
        let daemon_of = |component: &str| {
            let program = program(&format!("nova-{component}"), files.clone());
            pods(component, control.bus.watched(program))
        };
        let api = daemon(files.clone())
            .variable("OS_NOVA_CONFIG_DIR", NOVA.folder)
            .variable(
                "OS_NOVA_CONFIG_FILES",
                format!("/etc/nova/api-paste.ini;{}", config::CONFIG),
            );
        vec![
            daemon_of(NOVA_CONDUCTOR.name),
            daemon_of(NOVA_SCHEDULER.name),
            pods(NOVA_METADATA.name, api.clone()),
            pods(NOVA.api.name, api),
        ]
    }

    /// What the pods of a cell run, and what its hypervisors run. Hypervisors get a new image after everything else.
    fn cell(
        &self,
        facts: &Facts<'_>,
        cell: &Cell<'_>,
        entered: Awaited<State>,
        desired: &mut DesiredState,
    ) -> Vec<Pods> {
        let (service, name) = (self.service, &cell.spec.name);
        let [conductor, proxy] =
            [NOVA_CONDUCTOR.name, NOVA_NOVNCPROXY.name].map(|part| format!("{name}-{part}"));
        let (Ok(database), Ok(bus), Ok(state)) = (&cell.database, &cell.bus, &entered) else {
            compute::keep(service, name, desired);
            let awaited = progress(&entered);
            return vec![
                Pods::waiting(conductor, awaited.clone()),
                Pods::waiting(proxy, awaited),
            ];
        };
        match self.context.is_rolled() || service.installed.is_none() {
            true => compute::publish(facts, name, bus, desired),
            false => compute::keep(service, name, desired),
        }
        let files = facts.cell(name, database, bus);
        let files = files.compose(service, desired).source();
        let pods = |component, program| Pods {
            awaited: state.synced.clone(),
            ..Pods::of(component, program)
        };
        vec![
            pods(
                conductor,
                bus.watched(program("nova-conductor", files.clone())),
            ),
            pods(proxy, program("nova-novncproxy", files)),
        ]
    }

    /// Leaves what isn't known yet as it is: the Secrets of hypervisors, cells that are being removed, the CronJob.
    fn keep(&mut self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        for cell in self.cells {
            compute::keep(self.service, &cell.spec.name, desired);
        }
        for cell in cells::removed(self.service, self.spec, self.status, observed) {
            cells::keep(&cell, self.service, desired);
            let progress = Progress::waiting(
                Reason::Removing,
                "is removed once Nova's databases can be reached",
            );
            self.states.push((cell, progress));
        }
        let (namespace, name) = (
            self.service.namespace,
            databases::archive_name(self.service),
        );
        desired.keep(Key::of::<CronJob>(namespace, &name));
    }

    /// Sets `CellsReady`, and says how each cell is.
    fn report(mut self, desired: &mut DesiredState) -> Vec<CellStatus> {
        let entered: BTreeSet<String> = self.states.iter().map(|(name, _)| name.clone()).collect();
        for cell in self
            .cells
            .iter()
            .filter(|cell| !entered.contains(&cell.spec.name))
        {
            let progress = Progress::waiting(Reason::Starting, "waits for Nova's databases");
            self.states.push((cell.spec.name.clone(), progress));
        }
        for (name, state) in &mut self.states {
            for component in [NOVA_CONDUCTOR.name, NOVA_NOVNCPROXY.name] {
                if state.is_ready() {
                    *state = self.context.availability(&format!("{name}-{component}"));
                }
            }
        }
        desired.conditions.set("CellsReady", &sum(&self.states));
        let states = self.states.into_iter();
        states
            .map(|(name, state)| CellStatus {
                name,
                status: Some(said(&state).to_owned()),
                compute_nodes: None,
            })
            .collect()
    }

    /// Says that nobody asks an external scheduler, where the image is of upstream's Nova, which has no option for it.
    fn external_scheduler(&self, desired: &mut DesiredState) {
        if self.spec.scheduler.external_scheduler.enabled {
            let progress = match self.service.common.image.fork {
                Some(_) => Progress::Ready,
                None => Progress::waiting(
                    Reason::NotInImage,
                    "upstream's Nova asks no external scheduler: use an image of SAP's Nova and set image.fork to sap, or set \
                     scheduler.externalScheduler.enabled to false",
                ),
            };
            desired.conditions.note("ExternalSchedulerReady", &progress);
        }
    }
}

/// Keeps the first that isn't ready.
fn hold(first: &mut Progress, next: &Progress) {
    if first.is_ready() {
        *first = next.clone();
    }
}

/// What is said of a cell.
fn said(progress: &Progress) -> &str {
    match progress.is_ready() {
        true => "Ready",
        false => progress.message(),
    }
}

/// How all cells are, each by its name.
fn sum(states: &[(String, Progress)]) -> Progress {
    let mut unready = states.iter().filter(|(_, state)| !state.is_ready());
    let Some((_, first)) = unready.next() else {
        return Progress::Ready;
    };
    let each = states.iter();
    let each: Vec<String> = each
        .map(|(name, state)| format!("{name}: {}", said(state)))
        .collect();
    let message = each.join("; ");
    first.clone().explained(|_| message)
}
