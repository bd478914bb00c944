//! From what is there to a running API: the part of a recipe that is the same for every service.

use std::collections::BTreeMap;

use c5c3_api::parts::ServiceStatus;
use provider_composer::{Composition, Failure, Progress, ResourceKind, World};

use crate::api::{Api, Rollout};
use crate::awaited::{Awaited, progress};
use crate::dependency::dependencies;
use crate::front::Front;
use crate::jobs::Jobs;
use crate::migration::{self, Migrations, Schema};
use crate::pod::Program;
use crate::policy::Policy;
use crate::service::Service;
use crate::tls::Certificate;

/// Annotation of pods: the application credential that they run with.
const APPLICATION_CREDENTIAL: &str = "c5c3.io/application-credential";

/// What there is of a service, and what it waits for before it starts.
pub struct Ground<'a> {
    /// Its Jobs.
    pub jobs: Jobs<'a>,
    /// Who may do what.
    pub policy: Awaited<Policy>,
    service: &'a Service<'a>,
    rollout: Rollout,
    certificate: Awaited<Option<Certificate>>,
    exposed: Option<Progress>,
    monitored: Option<Progress>,
    dependencies: Progress,
}

/// What a service runs.
pub struct Workload {
    /// What its API sees.
    pub program: Program,
    /// What each replica runs besides its API, every few minutes: commands as a shell reads them.
    pub chores: Vec<String>,
    /// Who answers in its API's place.
    pub front: Option<Front>,
    /// How its database comes to the release.
    pub migrations: Migrations,
    /// ID of the application credential that it runs with.
    pub application_credential: Option<String>,
}

impl<'a> Ground<'a> {
    /// Looks at what there is of a service, and exposes its API.
    ///
    /// # Errors
    /// A policy rule isn't valid, autoscaling's bounds exclude each other, or dependencies go in a circle.
    pub fn of(
        service: &'a Service<'a>,
        subject: ResourceKind,
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Result<Self, Failure> {
        let policy = Policy::resolve(service, world)?;
        service.expose(composition);
        service.autoscale(composition)?;
        let certificate = Certificate::resolve(service, world, composition);
        let exposed = service.let_in(&certificate, world, composition);
        Ok(Self {
            jobs: Jobs::of(service, world),
            policy,
            service,
            rollout: Rollout::of(service, world, composition),
            certificate,
            exposed,
            monitored: service.monitor(world, composition),
            dependencies: dependencies(service, subject, world)?,
        })
    }

    /// Whether the service may start: it runs already, or what it depends on is there.
    pub fn may_start(&self) -> bool {
        self.service.installed.is_some() || self.dependencies.is_ready()
    }

    /// Runs a service: migrates its database, rolls its API, and says how far that has come. While something is awaited,
    /// what runs stays as it is.
    ///
    /// # Errors
    /// The release can't be reached any more.
    pub fn run(
        &self,
        database: Progress,
        workload: Awaited<Workload>,
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Result<ServiceStatus, Failure> {
        let service = self.service;
        if !service.common.depends_on.is_empty() {
            let started = match self.may_start() {
                true => Progress::Ready,
                false => self.dependencies.clone(),
            };
            composition.conditions.set("DependenciesReady", &started);
        }
        let workload = workload.and_then(|workload| match self.may_start() {
            true => Ok(workload),
            false => Err(self.dependencies.clone()),
        });
        let (mut api, schema) = match workload {
            Ok(workload) => {
                let database = workload.migrations.database.clone();
                let schema =
                    workload
                        .migrations
                        .compose(service, &self.jobs, &self.rollout, composition)?;
                let id = workload.application_credential;
                let annotations = id.map(|id| (APPLICATION_CREDENTIAL.to_owned(), id));
                let annotations: BTreeMap<String, String> = annotations.into_iter().collect();
                (
                    Ok(Api {
                        program: workload.program,
                        chores: workload.chores,
                        front: workload.front,
                        database,
                        annotations,
                    }),
                    schema,
                )
            }
            Err(awaited) => {
                self.jobs.keep(&migration::TASKS, composition);
                let schema = Schema {
                    progress: match service.installed {
                        Some(_) => Progress::Ready,
                        None => awaited.clone(),
                    },
                    serves: false,
                    release: service.installed,
                };
                (Err(awaited), schema)
            }
        };
        let database = match database {
            Progress::Ready => schema.progress.clone(),
            awaited => awaited,
        };
        composition.conditions.set("DatabaseReady", &database);
        if api.is_ok() && !schema.serves {
            api = Err(schema.progress.clone());
        }
        let reached = match (&api, &self.certificate) {
            (Ok(api), Ok(certificate)) => {
                api.compose(service, certificate.as_ref(), world, composition);
                self.rollout.reached(&api.database)
            }
            (api, certificate) => {
                Rollout::keep(service, world, composition);
                match api {
                    Err(awaited) => awaited.clone(),
                    Ok(_) => progress(certificate),
                }
            }
        };
        composition.conditions.set("APIReady", &reached);
        if let Some(exposed) = &self.exposed {
            composition.conditions.set("Exposed", exposed);
        }
        if let Some(monitored) = &self.monitored {
            composition.conditions.note("Monitored", monitored);
        }
        Ok(ServiceStatus {
            endpoint: Some(service.endpoint()),
            release: schema.release.map(|release| release.to_string()),
            application_credential: self
                .rollout
                .annotation(APPLICATION_CREDENTIAL)
                .map(str::to_owned),
            ..ServiceStatus::default()
        })
    }
}
