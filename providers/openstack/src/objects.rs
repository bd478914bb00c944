//! Objects of Kubernetes that several composers compose, and parts of them.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMap, ContainerPort, PodSpec, PodTemplateSpec, Probe, Secret, ServicePort, TCPSocketAction,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The metadata of an object with these labels.
pub fn labelled(labels: BTreeMap<String, String>) -> ObjectMeta {
    ObjectMeta {
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}

/// A selector of the pods with these labels.
pub fn selector(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels.clone()),
        ..LabelSelector::default()
    }
}

/// The template of pods with these labels and annotations.
pub fn pod_template(
    labels: BTreeMap<String, String>,
    annotations: impl IntoIterator<Item = (String, String)>,
    pod: PodSpec,
) -> PodTemplateSpec {
    let annotations: BTreeMap<String, String> = annotations.into_iter().collect();
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            ..labelled(labels)
        }),
        spec: Some(pod),
    }
}

/// A Secret of type `Opaque` with these values.
pub fn opaque<K: Into<String>, V: Into<Vec<u8>>>(
    metadata: ObjectMeta,
    data: impl IntoIterator<Item = (K, V)>,
) -> Secret {
    let data = data.into_iter();
    let data = data.map(|(key, value)| (key.into(), ByteString(value.into())));
    Secret {
        metadata,
        data: Some(data.collect()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// A ConfigMap with these texts.
pub fn config_map<K: Into<String>>(
    metadata: ObjectMeta,
    data: impl IntoIterator<Item = (K, String)>,
) -> ConfigMap {
    let data = data.into_iter().map(|(key, text)| (key.into(), text));
    ConfigMap {
        metadata,
        data: Some(data.collect()),
        ..ConfigMap::default()
    }
}

/// A port of a container, and its name.
pub fn container_port(name: &str, port: u16) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(port),
        ..ContainerPort::default()
    }
}

/// A port of a Service, and its name.
pub fn service_port(name: &str, port: u16) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        port: i32::from(port),
        ..ServicePort::default()
    }
}

/// A PodDisruptionBudget by which at most one of the pods with these labels is evicted at a time.
pub fn budget(metadata: ObjectMeta, labels: &BTreeMap<String, String>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata,
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(labels)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

/// Amounts of resources by their names.
pub fn amounts<const N: usize>(amounts: [(&str, &str); N]) -> Option<BTreeMap<String, Quantity>> {
    let amounts = amounts.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    Some(amounts.into())
}

/// A probe that the kernel answers while a process listens.
pub fn tcp_probe(port: IntOrString) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port,
            ..TCPSocketAction::default()
        }),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}
