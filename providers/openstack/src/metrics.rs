//! Metrics of an API, which an exporter reads from uwsgi.

use c5c3_kinds::Manifest;
use c5c3_kinds::prometheus::{Endpoint, ServiceMonitor};
use k8s_openapi::api::core::v1::{
    Container, ResourceRequirements, Service as KubernetesService, ServicePort, ServiceSpec,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason};

use crate::component::Component;
use crate::objects::{amounts, container_port, selector, service_port};
use crate::pod::container as contained;
use crate::service::{NAME, Service};

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
            return Some(Progress::waiting(
                Reason::NotMonitored,
                format!(
                    "Prometheus isn't told where the metrics are: {why}; they are at Service {name}, port {PORT}, and the API \
                     serves all the same"
                ),
            ));
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

/// The exporter. It has no readiness probe, which would make the whole pod unready.
pub(crate) fn container(service: &Service<'_>) -> Container {
    let resources = ResourceRequirements {
        requests: amounts(RESOURCES),
        limits: amounts(RESOURCES),
        ..ResourceRequirements::default()
    };
    let script = include_str!("metrics.py");
    let ports = [SAID, PORT].map(|port| port.to_string());
    let command = ["python3", "-c", script].map(str::to_owned);
    let command = command.into_iter().chain(ports).collect();
    Container {
        ports: Some(vec![container_port(METRICS, PORT)]),
        ..contained(service, METRICS, command, resources)
    }
}
