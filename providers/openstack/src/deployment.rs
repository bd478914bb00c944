//! The pods of a component.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, SleepAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Progress};

use crate::component::Component;
use crate::definition::ComponentKind;
use crate::metrics;
use crate::objects::{container_port, pod_template, tcp_probe};
use crate::pod::{Program, Source, pod, requirements, spread, spread_revision};
use crate::reverse_proxy::ReverseProxy;
use crate::rollout::{Controller, DRAIN, termination};
use crate::service::API;
use crate::tls::{CERTIFICATE, Certificate};
use crate::uwsgi::{self, READY, REQUEST_TIMEOUT, Workers};

/// The variable of oslo.service's option: on SIGTERM its launchers stop servers of RPC, which take no new calls, wait for those that run,
/// and exit after so many seconds, 60 by default (`_graceful_shutdown` and `ProcessLauncher.wait` of oslo.service 4.3). Services of Cinder
/// report no state meanwhile (`Service.stop` of Cinder 27).
const SHUTDOWN: &str = "OS_DEFAULT__GRACEFUL_SHUTDOWN_TIMEOUT";

/// The environment variables of oslo.config for the two parts of the names of the queue manager's queues
/// (<https://docs.openstack.org/oslo.config/latest/reference/drivers.html#environment>).
const HOST_NAME: &str = "OS_OSLO_MESSAGING_RABBIT__HOSTNAME";
const PROCESS_NAME: &str = "OS_OSLO_MESSAGING_RABBIT__PROCESSNAME";

/// The pods of a component.
pub struct Pods {
    /// The component's name.
    pub component: String,
    /// The program, without the certificate. For a WSGI component, the command is ignored.
    pub program: Program,
    /// What it waits for besides the components before it. Until then its pods stay unchanged.
    pub prerequisites: Progress,
    /// The message bus without whose connection no pod is ready.
    pub bus: Option<String>,
    /// Whether what its processes call runs the release, besides the service's own pods. None unless they keep the versions that this had
    /// when they started: an upgrade starts such pods again at its end.
    pub peers: Option<Progress>,
    /// How many requests each replica of a WSGI component serves at once.
    pub workers: Workers,
    /// Additional options of uwsgi.
    pub options: Vec<String>,
    /// Shell commands that each replica of a WSGI component runs every two minutes.
    pub periodic: Vec<String>,
    /// The reverse proxy, if there is one.
    pub reverse_proxy: Option<ReverseProxy>,
}

impl Pods {
    /// Pods with a program.
    pub fn of(component: impl Into<String>, program: Program) -> Self {
        Self {
            component: component.into(),
            program,
            prerequisites: Progress::Ready,
            bus: None,
            peers: None,
            workers: Workers::default(),
            options: Vec::new(),
            periodic: Vec::new(),
            reverse_proxy: None,
        }
    }

    /// Pods that can't be configured yet.
    pub fn waiting(component: impl Into<String>, prerequisites: Progress) -> Self {
        Self {
            prerequisites,
            ..Self::of(component, Program::default())
        }
    }

    /// Applies the Deployment or StatefulSet of the component. A change of an annotation or of the certificate rolls the pods.
    pub(crate) fn compose(
        &self,
        component: &Component<'_>,
        mut annotations: BTreeMap<String, String>,
        certificate: Option<&Certificate>,
        desired: &mut DesiredState,
    ) {
        let (labels, service) = (component.selector(), component.service);
        let mut program = self.program.clone();
        if !service.definition.buses.is_empty() {
            // Two processes with the same name would receive each other's replies. The host name isn't suitable: Kubernetes shortens it to
            // 63 characters, which may remove the part that distinguishes two pods.
            program = program
                .field(HOST_NAME, "metadata.name")
                .variable(PROCESS_NAME, component.container());
        }
        if let ComponentKind::Wsgi { module, port, .. } = component.definition.kind {
            let proxied = self.reverse_proxy.is_some();
            let encrypted = certificate.is_some();
            program.command =
                uwsgi::command(component, (module, port), self.workers, proxied, encrypted);
            program.command.extend(uwsgi::periodic(&self.periodic));
            program.command.extend_from_slice(&self.options);
        }
        let shutdown = component.definition.shutdown();
        if let Some(seconds) = shutdown.filter(|_| !component.is_api()) {
            program = program.variable(SHUTDOWN, seconds.to_string());
        }
        program = metrics::reporting(component, program);
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
        let topology = &service.common.topology;
        pod.topology_spread_constraints = Some(match Controller::of(component) {
            Controller::Deployment => spread_revision(topology, &labels),
            Controller::StatefulSet => spread(topology, &labels),
        });
        // Process 1 ignores SIGTERM until it handles it. A daemon that is told to end while it starts would work until the end of the
        // grace period, which is two hours for cinder-backup, and be killed amid its work.
        pod.share_process_namespace = match component.definition.kind {
            ComponentKind::Daemon { .. } | ComponentKind::Member { .. } => Some(true),
            // Its exporter reads what Linux has of its processes.
            ComponentKind::Proxy { .. } => component.is_monitored().then_some(true),
            ComponentKind::Wsgi { .. } => None,
        };
        pod.termination_grace_period_seconds = Some(termination(&component.definition));
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
                lifecycle: component.is_api().then(drain),
                ..metrics::container(component)
            });
        }
        let template = pod_template(labels, annotations, pod);
        Controller::of(component).compose(component, template, desired);
    }

    /// Gives a container the ports and probes of its kind.
    fn serve(&self, component: &Component<'_>, encrypted: bool, container: &mut Container) {
        let definition = &component.definition;
        let port = definition.port();
        container.ports = port.map(|port| vec![container_port(API, port)]);
        let (started, ready) = match definition.kind {
            ComponentKind::Wsgi { health, port, .. } => {
                // A probe can only name a port of its own container, and the reverse proxy has this one.
                let port = match self.reverse_proxy {
                    Some(_) => IntOrString::Int(i32::from(port)),
                    None => IntOrString::String(API.to_owned()),
                };
                let probe = |path| probe(path, &port, encrypted);
                // A pod that can't access its database, for instance because the password is wrong, must not replace one that can.
                (probe(health), probe(READY))
            }
            ComponentKind::Proxy { port } => {
                let probe = tcp_probe(IntOrString::Int(i32::from(port)));
                (probe.clone(), probe)
            }
            ComponentKind::Daemon { probe: [] } | ComponentKind::Member { probe: [], .. } => return,
            ComponentKind::Daemon { probe } | ComponentKind::Member { probe, .. } => {
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
        // Ten minutes: where all pods of a node start at once, as after a power loss, a process may load that long, and a restart would
        // only make the others slower, too.
        container.startup_probe = Some(Probe {
            period_seconds: Some(2),
            failure_threshold: Some(300),
            ..started
        });
        // Half a minute: longer than a failover of the database or a burst that keeps every worker busy. Pods that fail together would all
        // be taken out of their Service. A command costs the node more than a request: the container runtime enters the pod for it.
        let (period, failures) = match ready.exec {
            Some(_) => (10, 3),
            None => (5, 6),
        };
        container.readiness_probe = Some(Probe {
            period_seconds: Some(period),
            failure_threshold: Some(failures),
            ..ready
        });
        // A request would wait for a free worker, and a restart would end those that keep an API busy. uwsgi replaces a process that is
        // stuck, where requests have a timeout. Where they may take longer, waiting connections, those of probes too, fill uwsgi's queue
        // of 100 although nothing is stuck: there is no probe. The reverse proxy has its own. A proxy that can't be connected to is
        // unready for the same reason, and a restart would end the connections that it has.
        let timeout = self.workers.request_timeout;
        let is_brief = timeout.is_some_and(|seconds| seconds <= REQUEST_TIMEOUT);
        let alive = match definition.kind {
            ComponentKind::Wsgi { port, .. } if is_brief && self.reverse_proxy.is_none() => {
                Some(port)
            }
            _ => None,
        };
        container.liveness_probe = alive.map(|port| Probe {
            period_seconds: Some(15),
            failure_threshold: Some(6),
            ..tcp_probe(IntOrString::Int(i32::from(port)))
        });
    }
}

/// Delays termination, so that clients stop sending requests first.
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
