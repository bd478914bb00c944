//! A server that answers in an API's place, and hands on to it.

use k8s_openapi::api::core::v1::{
    Container, Probe, ResourceRequirements, TCPSocketAction, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::api::CERTIFICATE;
use crate::pod::container;
use crate::service::{API, Service};

/// Port within a pod that the API itself answers on then, in uwsgi's protocol; nobody outside the pod reaches it.
pub const BEHIND: u16 = 5001;
/// What the container needs: as much as it may have, so that a pod that is guaranteed what it needs stays so.
const RESOURCES: [(&str, &str); 2] = [("cpu", "250m"), ("memory", "128Mi")];

/// A server that answers in an API's place on its port, encrypted if the API shall be, and hands on to it. It is in the
/// service's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// What its container is called.
    pub name: &'static str,
    /// Its command. Its files are among the service's configuration.
    pub command: Vec<String>,
}

impl Front {
    /// Its container, beside the API's. It sees the configuration and the certificate, and none of the other Secrets.
    pub(crate) fn container(&self, service: &Service<'_>, api: &Container) -> Container {
        let resources =
            RESOURCES.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
        let resources = ResourceRequirements {
            requests: Some(resources.clone().into()),
            limits: Some(resources.into()),
            ..ResourceRequirements::default()
        };
        let seen = [service.about.folder, CERTIFICATE, "/tmp"];
        let is_seen = |mount: &&VolumeMount| seen.contains(&mount.mount_path.as_str());
        let mounts = api.volume_mounts.iter().flatten().filter(is_seen).cloned();
        Container {
            volume_mounts: Some(mounts.collect()),
            liveness_probe: Some(Probe {
                tcp_socket: Some(TCPSocketAction {
                    port: IntOrString::String(API.to_owned()),
                    ..TCPSocketAction::default()
                }),
                period_seconds: Some(10),
                timeout_seconds: Some(5),
                ..Probe::default()
            }),
            ..container(service, self.name, self.command.clone(), resources)
        }
    }
}
