//! The Service, the NetworkPolicy and the PodDisruptionBudget of a component.

use k8s_openapi::api::core::v1::{Service as KubernetesService, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::DesiredState;

use crate::component::Component;
use crate::metrics;
use crate::pod::selector;

impl Component<'_> {
    /// Applies the Service, a NetworkPolicy that allows only its ports, and the PodDisruptionBudget.
    pub(crate) fn connect(&self, desired: &mut DesiredState) {
        let (labels, namespace) = (self.selector(), self.service.namespace);
        let port = self.definition.port().map(i32::from);
        if let Some(port) = port {
            let service = KubernetesService {
                metadata: self.metadata(),
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
            desired.apply(namespace, &self.object, &service);
        }
        let metrics = self.is_monitored().then_some(metrics::PORT);
        let ports = port.into_iter().chain(metrics.map(i32::from));
        let ports = ports.map(|port| NetworkPolicyPort {
            port: Some(IntOrString::Int(port)),
            ..NetworkPolicyPort::default()
        });
        let network = NetworkPolicy {
            metadata: self.metadata(),
            spec: Some(NetworkPolicySpec {
                pod_selector: Some(selector(&labels)),
                policy_types: Some(vec!["Ingress".to_owned()]),
                ingress: port.map(|_| {
                    vec![NetworkPolicyIngressRule {
                        ports: Some(ports.collect()),
                        ..NetworkPolicyIngressRule::default()
                    }]
                }),
                ..NetworkPolicySpec::default()
            }),
        };
        desired.apply(namespace, &self.object, &network);
        let budget = PodDisruptionBudget {
            metadata: self.metadata(),
            spec: Some(PodDisruptionBudgetSpec {
                max_unavailable: Some(IntOrString::Int(1)),
                selector: Some(selector(&labels)),
                ..PodDisruptionBudgetSpec::default()
            }),
            ..PodDisruptionBudget::default()
        };
        desired.apply(namespace, &self.object, &budget);
    }
}
