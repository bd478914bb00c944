//! The Service, the NetworkPolicy and the PodDisruptionBudget of a component.

use k8s_openapi::api::core::v1::{Service as KubernetesService, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{
    NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::DesiredState;

use crate::component::Component;
use crate::objects::{budget, selector, service_port};
use crate::service::API;

/// Label of a namespace: its name, which the API server sets.
const NAMESPACE: &str = "kubernetes.io/metadata.name";

/// All pods of some namespaces, as a NetworkPolicy has them; none without a namespace, since an empty selector would select all.
pub fn pods_of(namespaces: &[String]) -> Option<NetworkPolicyPeer> {
    let named = LabelSelectorRequirement {
        key: NAMESPACE.to_owned(),
        operator: "In".to_owned(),
        values: Some(namespaces.to_vec()),
    };
    let peer = NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector {
            match_expressions: Some(vec![named]),
            ..LabelSelector::default()
        }),
        ..NetworkPolicyPeer::default()
    };
    Some(peer).filter(|_| !namespaces.is_empty())
}

impl Component<'_> {
    /// Applies the Service, a NetworkPolicy that allows the API's port alone, and the PodDisruptionBudget. Metrics are for
    /// namespaces that only a control plane knows, which allows them.
    pub(crate) fn connect(&self, desired: &mut DesiredState) {
        let (labels, namespace) = (self.selector(), self.service.namespace);
        let port = self.definition.port();
        if let Some(port) = port {
            let service = KubernetesService {
                metadata: self.metadata(),
                spec: Some(ServiceSpec {
                    selector: Some(labels.clone()),
                    ports: Some(vec![ServicePort {
                        target_port: Some(IntOrString::String(API.to_owned())),
                        ..service_port(API, port)
                    }]),
                    ..ServiceSpec::default()
                }),
                ..KubernetesService::default()
            };
            desired.apply(namespace, &self.object, &service);
        }
        let network = NetworkPolicy {
            metadata: self.metadata(),
            spec: Some(NetworkPolicySpec {
                pod_selector: Some(selector(&labels)),
                policy_types: Some(vec!["Ingress".to_owned()]),
                ingress: port.map(|port| {
                    vec![NetworkPolicyIngressRule {
                        ports: Some(vec![NetworkPolicyPort {
                            port: Some(IntOrString::Int(i32::from(port))),
                            ..NetworkPolicyPort::default()
                        }]),
                        ..NetworkPolicyIngressRule::default()
                    }]
                }),
                ..NetworkPolicySpec::default()
            }),
        };
        desired.apply(namespace, &self.object, &network);
        let mut budget = budget(self.metadata(), &labels);
        // A pod that isn't ready serves nobody, and would hold up the drain of its node.
        budget
            .spec
            .get_or_insert_default()
            .unhealthy_pod_eviction_policy = Some("AlwaysAllow".to_owned());
        desired.apply(namespace, &self.object, &budget);
    }
}
