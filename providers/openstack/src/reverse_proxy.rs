//! A reverse proxy in an API's pods.

use k8s_openapi::api::core::v1::{Container, Probe, ResourceRequirements, VolumeMount};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::objects::{amounts, tcp_probe};
use crate::pod::container;
use crate::service::{API, Service};
use crate::tls::CERTIFICATE;

/// The upstream's port, in uwsgi's protocol; only the pod itself reaches it.
pub const UPSTREAM_PORT: u16 = 5001;
/// What the container needs: as much as it may have, so that a pod that is guaranteed what it needs stays so.
const RESOURCES: [(&str, &str); 2] = [("cpu", "250m"), ("memory", "128Mi")];

/// A reverse proxy on an API's port, with the API's certificate if the endpoint is encrypted. The service's image has its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReverseProxy {
    /// The name of its container.
    pub name: &'static str,
    /// Its command. Its configuration is among the service's files.
    pub command: Vec<String>,
}

impl ReverseProxy {
    /// Its container. It mounts the configuration and the certificate, and no other Secret.
    pub(crate) fn container(&self, service: &Service<'_>, api: &Container) -> Container {
        let resources = ResourceRequirements {
            requests: amounts(RESOURCES),
            limits: amounts(RESOURCES),
            ..ResourceRequirements::default()
        };
        let seen = [service.definition.folder, CERTIFICATE, "/tmp"];
        let is_seen = |mount: &&VolumeMount| seen.contains(&mount.mount_path.as_str());
        let mounts = api.volume_mounts.iter().flatten().filter(is_seen).cloned();
        Container {
            volume_mounts: Some(mounts.collect()),
            liveness_probe: Some(Probe {
                period_seconds: Some(10),
                ..tcp_probe(IntOrString::String(API.to_owned()))
            }),
            ..container(service, self.name, self.command.clone(), resources)
        }
    }
}
