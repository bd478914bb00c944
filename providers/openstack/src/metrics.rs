//! Metrics of a component: an exporter reads those of an API from uwsgi, and those of other programs from Linux and from oslo.messaging.

use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::{Endpoint, ServiceMonitor};
use k8s_openapi::api::core::v1::{
    Container, ResourceRequirements, Service as KubernetesService, ServicePort, ServiceSpec,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason};

use crate::component::Component;
use crate::objects::{amounts, container_port, selector, service_port};
use crate::pod::{Program, Source, container as contained};
use crate::release::Release;
use crate::service::NAME;

/// Port of the metrics, the same as that of <https://github.com/timonwong/uwsgi_exporter>.
pub const PORT: u16 = 9117;
/// Port within a pod that uwsgi says on how it is.
const SAID: u16 = 1717;
/// What the container, its port and the Service are called.
const METRICS: &str = "metrics";
/// Label of a Service that doesn't lead to the API: the port that it leads to.
const LEADS_TO: &str = "c5c3.io/port";
/// What the container needs: as much as it may have, so that a pod that is guaranteed what it needs stays so.
const RESOURCES: [(&str, &str); 2] = [("cpu", "50m"), ("memory", "64Mi")];
/// The exporter of an API, and that of other programs. A change of the first one replaces the pods of all APIs that are monitored.
const OF_UWSGI: &str = concat!(
    include_str!("metrics/uwsgi.py"),
    "\n\n",
    include_str!("metrics/server.py")
);
const OF_PROCESSES: &str = concat!(
    include_str!("metrics/processes.py"),
    "\n\n",
    include_str!("metrics/server.py")
);
/// The volume with the socket that a program reports its calls to, its folder, and the socket.
const CALLS: &str = "calls";
const FOLDER: &str = "/run/calls";
const SOCKET: &str = "/run/calls/socket";
/// The first release whose calls are reported as they are: before, oslo.messaging gives all of them the labels of the first one
/// (<https://bugs.launchpad.net/oslo.messaging/+bug/2106547>).
const REPORTS_CALLS: Release = Release::new(2025, 2);
/// The environment variables of oslo.config for the options by which oslo.messaging reports calls (oslo_messaging/_metrics/client.py). Its
/// thread that sends reports would hold up the program's end for ten seconds by default.
const REPORTING: [(&str, &str); 3] = [
    ("OS_OSLO_MESSAGING_METRICS__METRICS_ENABLED", "true"),
    ("OS_OSLO_MESSAGING_METRICS__METRICS_SOCKET_FILE", SOCKET),
    (
        "OS_OSLO_MESSAGING_METRICS__METRICS_THREAD_STOP_TIMEOUT",
        "1",
    ),
];

impl Component<'_> {
    /// Applies the Service and the ServiceMonitor, if monitoring is enabled, and returns their progress. The service itself doesn't
    /// depend on prometheus-operator.
    pub(crate) fn monitor(&self, desired: &mut DesiredState) -> Option<Progress> {
        if !self.is_monitored() {
            return None;
        }
        let namespace = self.service.namespace;
        let name = format!("{}-{METRICS}", self.object);
        // A separate Service, so that the metrics aren't exposed with the API.
        let service = KubernetesService {
            metadata: self.service.labelled(&self.name, LEADS_TO, METRICS),
            spec: Some(ServiceSpec {
                cluster_ip: Some("None".to_owned()),
                selector: Some(self.selector()),
                ports: Some(vec![ServicePort {
                    target_port: Some(IntOrString::String(METRICS.to_owned())),
                    ..service_port(METRICS, PORT)
                }]),
                ..ServiceSpec::default()
            }),
            ..KubernetesService::default()
        };
        desired.apply(namespace, &name, &service);

        let key = Key::of::<Manifest<ServiceMonitor>>(namespace, &self.object);
        if let Lookup::Unknown(why) = self.service.observed.object(&key) {
            desired.keep(key);
            let message = format!(
                "Prometheus isn't told where the metrics are: {why}; they are at Service {name}, port {PORT}, and the \
                 service runs all the same"
            );
            return Some(Progress::waiting(Reason::NotMonitored, message));
        }
        let mut labels = self.selector();
        labels.insert(LEADS_TO.to_owned(), METRICS.to_owned());
        let spec = ServiceMonitor {
            job_label: NAME.to_owned(),
            selector: selector(&labels),
            endpoints: vec![Endpoint {
                port: METRICS.to_owned(),
                ..Endpoint::default()
            }],
        };
        desired.apply(namespace, &self.object, &self.manifest(spec));
        Some(Progress::Ready)
    }
}

/// uwsgi's options for its statistics, if monitoring is enabled. The variables of requests in flight, which include tokens, are
/// disabled.
pub(crate) fn options(component: &Component<'_>) -> Vec<String> {
    if !component.is_monitored() {
        return Vec::new();
    }
    let said = format!("127.0.0.1:{SAID}");
    ["--stats", &said, "--stats-no-cores", "--memory-report"]
        .map(str::to_owned)
        .into()
}

/// Has a program report the calls that it sends over the message bus, where an exporter counts them.
pub(crate) fn reporting(component: &Component<'_>, program: Program) -> Program {
    if !reports_calls(component) {
        return program;
    }
    let program = program.mount(CALLS, FOLDER, Source::EmptyDir { size_limit: None });
    REPORTING
        .into_iter()
        .fold(program, |program, (name, value)| {
            program.variable(name, value)
        })
}

/// Whether the exporter of a component counts the calls that its program sends over the message bus.
fn reports_calls(component: &Component<'_>) -> bool {
    let service = component.service;
    component.is_monitored()
        && !component.is_api()
        && !service.definition.buses.is_empty()
        && service.release >= REPORTS_CALLS
}

/// The exporter. It has no readiness probe, which would make the whole pod unready.
pub(crate) fn container(component: &Component<'_>) -> Container {
    let service = component.service;
    let resources = ResourceRequirements {
        requests: amounts(RESOURCES),
        limits: amounts(RESOURCES),
        ..ResourceRequirements::default()
    };
    let reports_calls = reports_calls(component);
    let mut command = ["python3", "-c"].map(str::to_owned).to_vec();
    match component.is_api() {
        true => command.extend([OF_UWSGI.to_owned(), SAID.to_string(), PORT.to_string()]),
        false => command.extend([OF_PROCESSES.to_owned(), PORT.to_string()]),
    }
    command.extend(reports_calls.then(|| SOCKET.to_owned()));
    let calls = || {
        vec![VolumeMount {
            name: CALLS.to_owned(),
            mount_path: FOLDER.to_owned(),
            ..VolumeMount::default()
        }]
    };
    Container {
        ports: Some(vec![container_port(METRICS, PORT)]),
        volume_mounts: reports_calls.then(calls),
        ..contained(service, METRICS, command, resources)
    }
}
