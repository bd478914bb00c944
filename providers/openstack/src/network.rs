//! How a service's API is reached, and how many of its pods may be away at once.

use k8s_openapi::api::core::v1::{Service as KubernetesService, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::Composition;

use crate::metrics;
use crate::pod::selector;
use crate::service::{API, Service};

impl Service<'_> {
    /// Wants what the API is reached by: a Service, a NetworkPolicy that lets nothing else through, and a
    /// PodDisruptionBudget.
    pub fn expose(&self, composition: &mut Composition) {
        let (labels, port) = (self.selector(API), i32::from(self.about.port));
        let service = KubernetesService {
            metadata: self.metadata(API),
            spec: Some(ServiceSpec {
                selector: Some(labels.clone()),
                ports: Some(vec![ServicePort {
                    name: Some("api".to_owned()),
                    port,
                    target_port: Some(IntOrString::String("api".to_owned())),
                    ..ServicePort::default()
                }]),
                ..ServiceSpec::default()
            }),
            ..KubernetesService::default()
        };
        composition.apply(self.namespace, self.name, &service);
        let metrics = self.is_monitored().then_some(metrics::PORT);
        let ports = [port].into_iter().chain(metrics.map(i32::from));
        let ports = ports.map(|port| NetworkPolicyPort {
            port: Some(IntOrString::Int(port)),
            ..NetworkPolicyPort::default()
        });
        let network = NetworkPolicy {
            metadata: self.metadata(API),
            spec: Some(NetworkPolicySpec {
                pod_selector: Some(selector(&labels)),
                policy_types: Some(vec!["Ingress".to_owned()]),
                ingress: Some(vec![NetworkPolicyIngressRule {
                    ports: Some(ports.collect()),
                    ..NetworkPolicyIngressRule::default()
                }]),
                ..NetworkPolicySpec::default()
            }),
        };
        composition.apply(self.namespace, self.name, &network);
        let budget = PodDisruptionBudget {
            metadata: self.metadata(API),
            spec: Some(PodDisruptionBudgetSpec {
                max_unavailable: Some(IntOrString::Int(1)),
                selector: Some(selector(&labels)),
                ..PodDisruptionBudgetSpec::default()
            }),
            ..PodDisruptionBudget::default()
        };
        composition.apply(self.namespace, self.name, &budget);
    }
}
