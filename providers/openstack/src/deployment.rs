//! The Deployment of a component, and how far its rollout has come.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler,
    PodTemplateSpec, Probe, SleepAction, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason};

use crate::component::Component;
use crate::definition::ComponentKind;
use crate::pod::{Program, Source, pod, requirements, selector, spread};
use crate::reverse_proxy::ReverseProxy;
use crate::service::{API, COMPONENT, INSTANCE, Service};
use crate::tls::Certificate;
use crate::uwsgi::{self, READY, Workers};
use crate::{files, messaging, metrics};

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

/// What the pods of a component run.
pub struct Pods {
    /// The component's name.
    pub component: String,
    /// What the container sees, besides its certificate. The command of an API is uwsgi's.
    pub program: Program,
    /// What it waits for besides the components before it; until then what runs stays as it is.
    pub awaited: Progress,
    /// How many requests each replica of an API serves at once.
    pub workers: Workers,
    /// More of uwsgi's options, for an API that needs some of its own.
    pub options: Vec<String>,
    /// What each replica of an API runs besides, every two minutes: commands as a shell reads them.
    pub periodic: Vec<String>,
    /// The reverse proxy of an API, if it has one.
    pub reverse_proxy: Option<ReverseProxy>,
}

/// How far the pods of a component have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Whether the component is available.
    pub progress: Progress,
    /// The image that its Deployment has.
    image: Option<String>,
    /// Whether all pods are of that revision.
    done: bool,
    annotations: BTreeMap<String, String>,
}

impl Pods {
    /// What the pods of a component run.
    pub fn of(component: impl Into<String>, program: Program) -> Self {
        Self {
            component: component.into(),
            program,
            awaited: Progress::Ready,
            workers: Workers::default(),
            options: Vec::new(),
            periodic: Vec::new(),
            reverse_proxy: None,
        }
    }

    /// The pods of a component of which it isn't known yet what they run.
    pub fn waiting(component: impl Into<String>, awaited: Progress) -> Self {
        Self {
            awaited,
            ..Self::of(component, Program::default())
        }
    }

    /// Applies the Deployment of the component. A change of the annotation or of the certificate rolls the pods.
    pub(crate) fn compose(
        &self,
        component: &Component<'_>,
        annotation: Option<(&str, &str)>,
        certificate: Option<&Certificate>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        let (labels, service) = (component.selector(), component.service);
        let mut program = self.program.clone();
        if !service.definition.buses.is_empty() {
            program = messaging::name_queues(program, &component.container());
        }
        if let ComponentKind::Wsgi { module, port, .. } = component.definition.kind {
            let proxied = self.reverse_proxy.is_some();
            let encrypted = certificate.is_some();
            program.command =
                uwsgi::command(component, (module, port), self.workers, proxied, encrypted);
            program.command.extend(uwsgi::periodic(&self.periodic));
            program.command.extend_from_slice(&self.options);
        }
        let annotation = annotation.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut annotations: BTreeMap<String, String> = annotation.into_iter().collect();
        if let Some(certificate) = certificate {
            program = program.mount(
                "tls",
                CERTIFICATE,
                Source::Secret(certificate.secret.clone()),
            );
            annotations.insert("c5c3.io/certificate".to_owned(), certificate.digest.clone());
        }
        let resources = requirements(component.scale.resources);
        let mut pod = pod((service, &component.container()), &program, resources);
        pod.topology_spread_constraints = Some(spread(&service.common.topology, &labels));
        pod.termination_grace_period_seconds = Some(DRAIN + GRACE);
        if let Some(container) = pod.containers.first_mut() {
            let proxy = self.reverse_proxy.as_ref();
            let proxy = proxy.map(|proxy| proxy.container(service, container));
            self.serve(component, certificate.is_some(), container);
            let ports = container.ports.clone();
            if proxy.is_some() {
                container.ports = None;
            }
            let lifecycle = ports.is_some().then(drain);
            container.lifecycle = lifecycle.clone();
            pod.containers.extend(proxy.map(|proxy| Container {
                ports,
                lifecycle,
                ..proxy
            }));
        }
        if component.is_monitored() {
            pod.containers.push(Container {
                lifecycle: Some(drain()),
                ..metrics::container(service)
            });
        }
        let deployment = Deployment {
            metadata: component.metadata(),
            spec: DeploymentSpec {
                replicas: Some(component.replicas(observed)),
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
        desired.apply(service.namespace, &component.object, &deployment);
    }

    /// Gives a container the ports and probes of its kind.
    fn serve(&self, component: &Component<'_>, encrypted: bool, container: &mut Container) {
        let definition = &component.definition;
        container.ports = definition.port().map(|port| {
            vec![ContainerPort {
                name: Some(API.to_owned()),
                container_port: i32::from(port),
                ..ContainerPort::default()
            }]
        });
        let (alive, ready) = match definition.kind {
            ComponentKind::Wsgi { health, port, .. } => {
                // A probe's named port must be one of the same container, and a reverse proxy has this one.
                let port = match self.reverse_proxy {
                    Some(_) => IntOrString::Int(i32::from(port)),
                    None => IntOrString::String(API.to_owned()),
                };
                let probe = |path| probe(path, &port, encrypted);
                // A pod that can't reach its database, because its password is wrong for instance, must not take the place
                // of one that can.
                (probe(health), probe(READY))
            }
            ComponentKind::Proxy { port } => {
                let probe = Probe {
                    tcp_socket: Some(TCPSocketAction {
                        port: IntOrString::Int(i32::from(port)),
                        ..TCPSocketAction::default()
                    }),
                    timeout_seconds: Some(5),
                    ..Probe::default()
                };
                (probe.clone(), probe)
            }
            ComponentKind::Daemon { probe: [] } => return,
            ComponentKind::Daemon { probe } => {
                let command = probe.iter().map(|word| (*word).to_owned());
                let probe = Probe {
                    exec: Some(ExecAction {
                        command: Some(command.collect()),
                    }),
                    timeout_seconds: Some(5),
                    ..Probe::default()
                };
                (probe.clone(), probe)
            }
        };
        container.startup_probe = Some(Probe {
            period_seconds: Some(2),
            failure_threshold: Some(90),
            ..alive.clone()
        });
        container.readiness_probe = Some(Probe {
            period_seconds: Some(5),
            failure_threshold: Some(2),
            ..ready
        });
        container.liveness_probe = Some(Probe {
            period_seconds: Some(15),
            failure_threshold: Some(6),
            ..alive
        })
        .filter(|_| !matches!(definition.kind, ComponentKind::Daemon { .. }));
    }
}

impl Rollout {
    /// The rollout of a component. Until all its pods are of one revision, the files of every revision are kept.
    pub fn of(
        component: &Component<'_>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Self {
        let service = component.service;
        let seen = observed.get::<Deployment>(service.namespace, &component.object);
        let (done, image, annotations) = match &seen {
            Lookup::Found(deployment) => (
                is_done(deployment),
                image(deployment),
                annotations(deployment),
            ),
            _ => (false, None, BTreeMap::new()),
        };
        match &seen {
            // While its pods change, those of any revision may start again; after that only those of the last one do.
            Lookup::Found(deployment) if done => {
                for key in files::of(service, deployment) {
                    desired.keep(key);
                }
            }
            _ => keep_files(service, observed, desired),
        }
        Self {
            progress: progress(component, seen, observed.now(), desired),
            image,
            done,
            annotations,
        }
    }

    /// Leaves the component as it is, with the files that it needs.
    pub fn keep(
        component: &Component<'_>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        let service = component.service;
        desired.keep(Key::of::<Deployment>(service.namespace, &component.object));
        keep_files(service, observed, desired);
    }

    /// Whether the Deployment has this image, though some pods may not yet.
    pub fn has(&self, image: &str) -> bool {
        self.image.as_deref() == Some(image)
    }

    /// Whether all pods run this image.
    pub fn is_done_with(&self, image: &str) -> bool {
        self.done && self.has(image)
    }

    /// Whether it is available. Where it isn't, the reason may be a database, which nothing else watches.
    pub fn reached(&self, databases: &str) -> Progress {
        let progress = self.progress.clone();
        progress.explained(|message| pods_reach(message, databases))
    }

    /// An annotation that all pods have, once they are of one revision.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        let value = self.annotations.get(name).filter(|_| self.done);
        value.map(String::as_str)
    }
}

fn pods_reach(message: &str, database: &str) -> String {
    format!(
        "{message}; a pod is ready once the database {database} takes the user and password that the Secret of \
         spec.database has"
    )
}

fn keep_files(service: &Service<'_>, observed: &ObservedState<'_>, desired: &mut DesiredState) {
    for key in files::found(service, observed) {
        desired.keep(key);
    }
}

fn progress(
    component: &Component<'_>,
    seen: Lookup<Live<Deployment>>,
    now: Timestamp,
    desired: &mut DesiredState,
) -> Progress {
    let (name, service) = (&component.object, component.service);
    let deployment = match seen {
        Lookup::Found(deployment) => deployment,
        Lookup::Missing => {
            return Progress::waiting(Reason::Starting, format!("waits for Deployment {name}"));
        }
        Lookup::Unknown(message) => return Progress::Unknown { message },
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
            Reason::NotStarting,
            format!(
                "new pods of Deployment {name} don't become ready: see `kubectl describe pods -n {} -l \
                 {INSTANCE}={},{COMPONENT}={}` for why; older ones, if there are any, keep running",
                service.namespace, service.name, component.name
            ),
        );
    }
    if let Some(late) = late {
        desired.requeue_at(late);
    }
    let (ready, wanted) = (status.ready_replicas.unwrap_or(0), component.scale.replicas);
    let message = format!("waits for pods of Deployment {name}: {ready} of {wanted} are ready");
    match holds("Available", "True") {
        Some(_) => Progress::Ready,
        // All of them were.
        None if rolled.is_some() && ready == 0 => Progress::failing(Reason::Unavailable, message),
        None => Progress::waiting(Reason::Starting, message),
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
