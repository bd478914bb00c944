//! From the observed state to running components: the part of a composer that all services share.

mod roll;

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::parts::ServiceStatus;
use jiff::Timestamp;
use provider_composer::{DesiredState, Failure, Progress};

use crate::component::Component;
use crate::dependency::dependencies;
use crate::deployment::Pods;
use crate::jobs::Jobs;
use crate::migration::{Migrations, Schema};
use crate::policy::Policy;
use crate::prerequisite::Prerequisite;
use crate::rollout::{Controller, Rollout, former_part};
use crate::service::{API, Service};
use crate::tls::Certificate;
use crate::unshared::is_data_shared;
use crate::users;

/// Annotation of pods: the ID of their application credential.
const APPLICATION_CREDENTIAL: &str = "c5c3.io/application-credential";
/// Annotation of pods that were started again at the end of an upgrade: the release.
const PEERS: &str = "c5c3.io/peers";

/// The observed state of a service: its Jobs, components and dependencies.
pub struct ServiceContext<'a> {
    /// Its Jobs.
    pub jobs: Jobs<'a>,
    /// Its policy rules.
    pub policy: Prerequisite<Policy>,
    service: &'a Service<'a>,
    components: Vec<ComponentState<'a>>,
    dependencies: Progress,
}

/// A component and its progress.
struct ComponentState<'a> {
    component: Component<'a>,
    rollout: Rollout,
    certificate: Prerequisite<Option<Certificate>>,
    exposed: Option<Progress>,
    monitored: Option<Progress>,
}

/// The pods and migrations of a service.
pub struct Workload {
    /// The pods of its components.
    pub pods: Vec<Pods>,
    /// The migrations of its databases.
    pub migrations: Migrations,
    /// ID of its application credential.
    pub application_credential: Option<String>,
    /// What agents on hypervisors wait for until they have the present configuration. They have users of message buses, but not of
    /// databases.
    pub agents: Option<Progress>,
    /// What else, beside pods, Jobs and agents, still has an earlier configuration, as another system does until it is told.
    pub outdated: Option<Progress>,
}

impl<'a> ComponentState<'a> {
    fn of(component: Component<'a>, desired: &mut DesiredState) -> Result<Self, Failure> {
        component.connect(desired);
        component.autoscale(desired)?;
        let certificate = Certificate::resolve(&component, desired);
        Ok(Self {
            exposed: component.expose(&certificate, desired),
            rollout: Rollout::of(&component, desired),
            monitored: component.monitor(desired),
            certificate,
            component,
        })
    }
}

impl<'a> ServiceContext<'a> {
    /// Observes a service and composes the endpoints of its components.
    ///
    /// # Errors
    /// A policy rule or the autoscaling isn't valid, or dependencies form a cycle.
    pub fn of(
        service: &'a Service<'a>,
        components: Vec<Component<'a>>,
        desired: &mut DesiredState,
    ) -> Result<Self, Failure> {
        let policy = Policy::resolve(service)?;
        let components = components.into_iter();
        let components = components.map(|one| ComponentState::of(one, desired));
        Ok(Self {
            components: components.collect::<Result<_, _>>()?,
            jobs: Jobs::of(service),
            policy,
            service,
            dependencies: dependencies(service)?,
        })
    }

    /// Whether the service may start: it is installed, or its dependencies are ready.
    pub fn may_start(&self) -> bool {
        self.service.installed.is_some() || self.dependencies.is_ready()
    }

    /// Whether all pods of all components run the desired image.
    pub fn is_rolled(&self) -> bool {
        let mut all = self.components.iter();
        all.all(|one| one.rollout.is_done_with(&self.service.image))
    }

    /// Whether all pods run the desired image, and all that they call runs the release.
    fn is_followed(&self, workload: &Workload) -> bool {
        let pods = workload.pods.iter();
        let mut peers = pods.filter_map(|pods| pods.peers.as_ref());
        self.is_rolled() && peers.all(Progress::is_ready)
    }

    /// Whether nothing runs an older release any more, and no process takes what it calls for older.
    fn is_complete(&self, workload: &Workload) -> bool {
        let release = self.service.release.to_string();
        let keeps_versions = |one: &ComponentState<'_>| {
            let mut pods = workload.pods.iter();
            pods.any(|pods| pods.peers.is_some() && pods.component == one.component.name)
        };
        let mut components = self.components.iter();
        let is_started_again = components.all(|one| {
            !keeps_versions(one) || one.rollout.annotation(PEERS) == Some(release.as_str())
        });
        self.is_followed(workload) && is_started_again
    }

    /// The release whose upgrade starts pods again at its end, from then on.
    fn peers(&self, rollout: &Rollout, pods: &Pods, workload: &Workload) -> Option<String> {
        pods.peers.as_ref()?;
        let release = self.service.release.to_string();
        let has_started = rollout.template_annotation(PEERS) == Some(release.as_str());
        let starts = self.service.upgrades() && self.is_followed(workload);
        (has_started || starts).then_some(release)
    }

    /// Whether a component is known to run nothing, or pods of another image than the desired one.
    pub fn is_behind(&self, component: &str) -> bool {
        let mut all = self.components.iter();
        let found = all.find(|one| one.component.name == component);
        found.is_some_and(|one| {
            !one.rollout.progress.is_unknown() && !one.rollout.has(&self.service.image)
        })
    }

    /// The availability of a component. A component without a certificate waits for it.
    pub fn availability(&self, component: &str) -> Progress {
        let mut all = self.components.iter();
        let found = all.find(|one| one.component.name == component);
        let state = found.map(|one| (&one.certificate, &one.rollout.progress));
        match state {
            None => Progress::Ready,
            Some((Err(pending), rolled)) if !rolled.is_ready() => pending.clone(),
            Some((_, rolled)) => rolled.clone(),
        }
    }

    /// Migrates the service's databases, rolls out its components, and reports their progress. While a prerequisite isn't ready,
    /// running components stay unchanged.
    ///
    /// # Errors
    /// The release is older than the database schema.
    pub fn run(
        &self,
        database: Progress,
        workload: Prerequisite<Workload>,
        desired: &mut DesiredState,
    ) -> Result<ServiceStatus, Failure> {
        let service = self.service;
        if !service.common.depends_on.is_empty() {
            let started = match self.may_start() {
                true => Progress::Ready,
                false => self.dependencies.clone(),
            };
            desired.conditions.set("DependenciesReady", &started);
        }
        let workload = match &service.extra.pending {
            Some(pending) => Err(pending.clone()),
            None => workload,
        };
        let workload = workload.and_then(|workload| match self.may_start() {
            true => Ok(workload),
            false => Err(self.dependencies.clone()),
        });
        let schema = match &workload {
            Ok(workload) => {
                let (complete, migrations) = (self.is_complete(workload), &workload.migrations);
                let schema = migrations.compose(&self.jobs, complete, desired)?;
                self.jobs.keep_running_migrations(desired);
                schema
            }
            Err(pending) => {
                if [&database, pending].into_iter().any(is_data_shared) {
                    // A migration that hasn't begun would change the other resource's database.
                    self.jobs.keep_running_migrations(desired);
                    self.jobs.keep_done(desired);
                } else {
                    self.jobs.keep_migrations(desired);
                }
                Schema {
                    progress: match service.installed {
                        Some(_) => Progress::Ready,
                        None => pending.clone(),
                    },
                    serves: false,
                    release: service.installed,
                }
            }
        };
        let database = match database {
            Progress::Ready => schema.progress.clone(),
            pending => pending,
        };
        desired.conditions.set("DatabaseReady", &database);
        let workload = workload.and_then(|workload| match schema.serves {
            true => Ok(workload),
            false => Err(schema.progress.clone()),
        });
        self.roll(&workload, desired);
        let outdated = self.jobs.outdated_run(desired);
        let outdated = outdated.or_else(|| former_part(service, desired));
        let outdated = outdated.or_else(|| workload.as_ref().ok()?.outdated.clone());
        let settled = outdated.is_none() && self.is_settled(desired);
        let agents = workload.as_ref().ok();
        let agents = agents.and_then(|workload| workload.agents.as_ref());
        let mut retire = |type_: RotationType| {
            let agents = agents.filter(|_| type_ == RotationType::MessagingUser);
            let all = users::retire(service, type_, settled, agents, desired)?;
            // No condition of a component reports a Job of a CronJob, the pods of a part that isn't wanted any more, or agents; all may take
            // hours.
            let waits = outdated.as_ref().or(agents);
            if let Some(waits) = waits.filter(|_| all.numbers.len() > 1) {
                desired.conditions.note(users::replaced(type_), waits);
            }
            Some(all)
        };
        Ok(ServiceStatus {
            database_users: retire(RotationType::DatabaseUser),
            messaging_users: retire(RotationType::MessagingUser),
            endpoint: Some(service.endpoint()),
            public_endpoint: self.public_endpoint(),
            release: schema.release.map(|release| release.to_string()),
            application_credential: self.application_credential().map(str::to_owned),
            ..ServiceStatus::default()
        })
    }

    /// URL of the API for its users, once a pod is ready and the Gateway or the Ingress controller, if there is one, serves it.
    fn public_endpoint(&self) -> Option<String> {
        let mut all = self.components.iter();
        let api = all.find(|one| one.component.definition.name == API)?;
        let exposed = api.exposed.as_ref().is_none_or(Progress::is_ready);
        (api.rollout.has_ready_pod && exposed).then(|| self.service.public_endpoint())
    }

    /// Whether every pod and Job, besides Jobs of CronJobs, has the configuration that is composed now, and those before are gone.
    fn is_settled(&self, desired: &mut DesiredState) -> bool {
        let mut components = self.components.iter();
        let is_composed = components.all(|one| {
            let key = Controller::of(&one.component).key(&one.component);
            desired.objects.contains_key(&key)
        });
        if !is_composed || users::are_kept(desired) || !self.jobs.are_settled(desired) {
            return false;
        }
        let each = self.components.iter().map(|one| one.rollout.settles());
        let settles: Option<Vec<Timestamp>> = each.collect();
        let Some(settles) = settles.map(|all| all.into_iter().max()) else {
            return false;
        };
        match settles.filter(|moment| *moment > self.service.observed.now()) {
            Some(moment) => {
                desired.requeue_at(moment);
                false
            }
            None => true,
        }
    }

    /// The ID of the application credential, if all pods of all components use the same.
    fn application_credential(&self) -> Option<&str> {
        let each = self.components.iter();
        let mut ids = each.map(|one| one.rollout.annotation(APPLICATION_CREDENTIAL));
        let first = ids.next()??;
        ids.all(|id| id == Some(first)).then_some(first)
    }
}
