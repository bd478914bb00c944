//! The API of a service: its pods behind uwsgi, and how far they have come.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, HTTPGetAction, Lifecycle, LifecycleHandler, PodTemplateSpec, Probe,
    SleepAction,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{Composition, Key, Live, Progress, Seen, World};

use crate::front::Front;
use crate::pod::{Program, Source, pod, requirements, selector, spread};
use crate::service::{API, COMPONENT, INSTANCE, Service};
use crate::tls::Certificate;
use crate::uwsgi::{self, READY};
use crate::{files, metrics};

/// How long a pod that goes still answers, in seconds: so long may it take until nobody sends it anything any more.
const DRAIN: i64 = 15;
/// How long requests that have begun may take after that, in seconds.
const GRACE: i64 = 60;
/// Where the certificate is in a pod.
pub const CERTIFICATE: &str = "/etc/tls";
/// What a Deployment says of its progress when its pods are those that are wanted
/// (<https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#complete-deployment>).
const ROLLED: &str = "NewReplicaSetAvailable";
/// How long new pods may take until one more of them is ready, before somebody should be told.
const START: SignedDuration = SignedDuration::from_secs(60);
/// The API of a service.
pub struct Api {
    /// What it sees, besides its certificate. The command is uwsgi's.
    pub program: Program,
    /// What each replica runs besides, every few minutes.
    pub chores: Vec<String>,
    /// Who answers in its place.
    pub front: Option<Front>,
    /// The database that its pods must reach to be ready.
    pub database: String,
    /// Annotations of its pods: a change rolls them.
    pub annotations: BTreeMap<String, String>,
}

/// How far the pods of an API have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Whether it answers.
    pub progress: Progress,
    /// The image that all pods run, when none of another revision is left.
    done: Option<String>,
    annotations: BTreeMap<String, String>,
}

impl Api {
    /// Wants the API's pods.
    pub fn compose(
        &self,
        service: &Service<'_>,
        certificate: Option<&Certificate>,
        world: &World<'_>,
        composition: &mut Composition,
    ) {
        let labels = service.selector(API);
        let mut program = self.program.clone();
        program.command = uwsgi::command(service, self.front.is_some(), certificate.is_some());
        program.command.extend(uwsgi::chores(&self.chores));
        let mut annotations = self.annotations.clone();
        if let Some(certificate) = certificate {
            program = program.mount(
                "tls",
                CERTIFICATE,
                Source::Secret(certificate.secret.clone()),
            );
            annotations.insert("c5c3.io/certificate".to_owned(), certificate.digest.clone());
        }
        let mut pod = pod(service, &program, requirements(service.scale.resources));
        pod.topology_spread_constraints = Some(spread(&service.common.topology, &labels));
        pod.termination_grace_period_seconds = Some(DRAIN + GRACE);
        let port = i32::from(service.about.port);
        // A name is one of the same container's ports, and in front of this one there may be another.
        let probed = match self.front {
            Some(_) => IntOrString::Int(port),
            None => IntOrString::String(API.to_owned()),
        };
        let probe = |path| probe(path, &probed, certificate.is_some());
        let alive = probe(service.about.health);
        let port = vec![ContainerPort {
            name: Some(API.to_owned()),
            container_port: port,
            ..ContainerPort::default()
        }];
        if let Some(container) = pod.containers.first_mut() {
            let front = self.front.as_ref().map(|front| Container {
                ports: Some(port.clone()),
                lifecycle: Some(drain()),
                ..front.container(service, container)
            });
            container.ports = Some(port).filter(|_| front.is_none());
            container.startup_probe = Some(Probe {
                period_seconds: Some(2),
                failure_threshold: Some(90),
                ..alive.clone()
            });
            // A pod that can't reach its database, because its password is wrong for instance, must not take the place of one
            // that can.
            container.readiness_probe = Some(Probe {
                period_seconds: Some(5),
                failure_threshold: Some(2),
                ..probe(READY)
            });
            container.liveness_probe = Some(Probe {
                period_seconds: Some(15),
                failure_threshold: Some(6),
                ..alive
            });
            container.lifecycle = Some(drain());
            pod.containers.extend(front);
        }
        if service.is_monitored() {
            pod.containers.push(Container {
                lifecycle: Some(drain()),
                ..metrics::container(service)
            });
        }
        let deployment = Deployment {
            metadata: service.metadata(API),
            spec: DeploymentSpec {
                replicas: Some(service.replicas(world)),
                revision_history_limit: Some(2),
                progress_deadline_seconds: Some(600),
                selector: selector(&labels),
                strategy: Some(DeploymentStrategy {
                    type_: Some("RollingUpdate".to_owned()),
                    rolling_update: Some(RollingUpdateDeployment {
                        max_surge: Some(IntOrString::Int(1)),
                        max_unavailable: Some(IntOrString::Int(0)),
                    }),
                }),
                template: PodTemplateSpec {
                    metadata: Some(ObjectMeta {
                        labels: Some(labels),
                        annotations: Some(annotations)
                            .filter(|annotations| !annotations.is_empty()),
                        ..ObjectMeta::default()
                    }),
                    spec: Some(pod),
                },
                ..DeploymentSpec::default()
            },
            ..Deployment::default()
        };
        composition.apply(service.namespace, service.name, &deployment);
    }
}

impl Rollout {
    /// Looks at a service's API. Until all its pods are of one revision, the files that the others need stay.
    pub fn of(service: &Service<'_>, world: &World<'_>, composition: &mut Composition) -> Self {
        let seen = world.get::<Deployment>(service.namespace, service.name);
        let done = match &seen {
            Seen::Found(deployment) if is_done(deployment) => image(deployment),
            _ => None,
        };
        match &seen {
            // While its pods change, those of any revision may start again; after that only those of the last one do.
            Seen::Found(deployment) if done.is_some() => {
                for key in files::of(service, deployment) {
                    composition.keep(key);
                }
            }
            _ => keep_files(service, world, composition),
        }
        let annotations = match &seen {
            Seen::Found(deployment) => annotations(deployment),
            _ => BTreeMap::new(),
        };
        Self {
            progress: progress(service, seen, world.now(), composition),
            done,
            annotations,
        }
    }

    /// Leaves the API as it is, with the files that it needs.
    pub fn keep(service: &Service<'_>, world: &World<'_>, composition: &mut Composition) {
        composition.keep(Key::of::<Deployment>(service.namespace, service.name));
        keep_files(service, world, composition);
    }

    /// Whether all pods run this image and no others are left.
    pub fn is_done_with(&self, image: &str) -> bool {
        self.done.as_deref() == Some(image)
    }

    /// Whether it answers. Where it doesn't, the reason may be its database, which nobody else watches.
    pub fn reached(&self, database: &str) -> Progress {
        match &self.progress {
            Progress::Waiting { reason, message } => {
                Progress::waiting(reason, pods_reach(message, database))
            }
            Progress::Failed { reason, message } => {
                Progress::failed(reason, pods_reach(message, database))
            }
            progress => progress.clone(),
        }
    }

    /// An annotation that all pods have, when none of another revision is left.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.done.as_ref()?;
        self.annotations.get(name).map(String::as_str)
    }
}

fn pods_reach(message: &str, database: &str) -> String {
    format!(
        "{message}; a pod is ready once the database {database} takes the user and password that the Secret of \
         spec.database has"
    )
}

fn keep_files(service: &Service<'_>, world: &World<'_>, composition: &mut Composition) {
    for key in files::found(service, world) {
        composition.keep(key);
    }
}

fn progress(
    service: &Service<'_>,
    seen: Seen<Live<Deployment>>,
    now: Timestamp,
    composition: &mut Composition,
) -> Progress {
    let name = service.name;
    let deployment = match seen {
        Seen::Found(deployment) => deployment,
        Seen::Missing => {
            return Progress::waiting("Starting", format!("waits for Deployment {name}"));
        }
        Seen::Unread(message) => return Progress::Unknown { message },
    };
    let status = deployment.body.status.unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let holds = |type_: &str, status: &str| {
        conditions.iter().find(|condition| {
            condition.type_.as_deref() == Some(type_) && condition.status.as_deref() == Some(status)
        })
    };
    let stuck = holds("Progressing", "False").is_some();
    let progresses = holds("Progressing", "True");
    let rolled = progresses.filter(|it| it.reason.as_deref() == Some(ROLLED));
    let rolls = progresses.filter(|_| rolled.is_none());
    let late = rolls.and_then(|it| it.last_update_time.as_ref()?.0.checked_add(START).ok());
    if stuck || late.is_some_and(|late| late <= now) {
        return Progress::failed(
            "NotStarting",
            format!(
                "the API's new pods don't become ready: see `kubectl describe pods -n {} -l \
                 {INSTANCE}={name},{COMPONENT}={API}` for why; older ones, if there are any, go on",
                service.namespace
            ),
        );
    }
    if let Some(late) = late {
        composition.wake_at(late);
    }
    let (ready, wanted) = (status.ready_replicas.unwrap_or(0), service.scale.replicas);
    let message = format!("waits for pods of Deployment {name}: {ready} of {wanted} are ready");
    match holds("Available", "True") {
        Some(_) => Progress::Ready,
        // All of them were.
        None if rolled.is_some() && ready == 0 => Progress::failed("Unavailable", message),
        None => Progress::waiting("Starting", message),
    }
}

fn is_done(deployment: &Live<Deployment>) -> bool {
    let Some(status) = &deployment.body.status else {
        return false;
    };
    let wanted = deployment.body.spec.replicas.unwrap_or(1);
    let current = status.observed_generation >= deployment.metadata.generation;
    let all = [
        status.replicas,
        status.updated_replicas,
        status.available_replicas,
    ];
    current && all.iter().all(|replicas| *replicas == Some(wanted))
}

fn image(deployment: &Live<Deployment>) -> Option<String> {
    let pod = deployment.body.spec.template.spec.as_ref()?;
    pod.containers.first()?.image.clone()
}

fn annotations(deployment: &Live<Deployment>) -> BTreeMap<String, String> {
    let metadata = deployment.body.spec.template.metadata.as_ref();
    metadata
        .and_then(|metadata| metadata.annotations.clone())
        .unwrap_or_default()
}

/// Goes on for a while when its pod goes.
fn drain() -> Lifecycle {
    Lifecycle {
        pre_stop: Some(LifecycleHandler {
            sleep: Some(SleepAction { seconds: DRAIN }),
            ..LifecycleHandler::default()
        }),
        ..Lifecycle::default()
    }
}

fn probe(path: &str, port: &IntOrString, encrypted: bool) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: port.clone(),
            scheme: Some(if encrypted { "HTTPS" } else { "HTTP" }.to_owned()),
            ..HTTPGetAction::default()
        }),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}
