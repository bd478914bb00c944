//! One control plane, and what everything of it is called.

use c5c3_api::control_plane::{ControlPlaneServices, ControlPlaneSpec, Korc};
use provider_composer::Subject;

use crate::services::{self, Service};

/// The resource that all is composed for.
pub type ControlPlane = Subject<ControlPlaneSpec>;

/// One control plane, as every part of the recipe looks at it.
pub struct Recipe<'a> {
    /// The resource.
    pub subject: &'a ControlPlane,
    /// Its services, by whichever name they are called.
    pub services: ControlPlaneServices,
    /// Its catalogue.
    pub korc: Korc,
}

impl<'a> Recipe<'a> {
    /// What is to be made of a control plane.
    pub fn of(subject: &'a ControlPlane) -> Self {
        Self {
            subject,
            services: subject.spec.services(),
            korc: subject.spec.korc(),
        }
    }

    /// The namespace that everything lives in.
    pub fn namespace(&self) -> &str {
        self.subject.namespace()
    }

    /// Keystone's region.
    pub fn region(&self) -> &str {
        &self.subject.spec.global.region
    }

    /// The services of the catalogue that run, Keystone first.
    pub fn enabled(&self) -> impl Iterator<Item = &'static Service> {
        services::ALL.iter().filter(|service| self.runs(service))
    }

    /// Whether a service runs.
    pub fn runs(&self, service: &Service) -> bool {
        match service.name {
            "keystone" => self.services.keystone.enabled,
            "glance" => self.services.glance.enabled,
            "placement" => self.services.placement.enabled,
            "nova" => self.services.nova.enabled,
            "neutron" => self.services.neutron.enabled,
            "cinder" => self.services.cinder.enabled,
            _ => false,
        }
    }

    /// The URL of a service's API within the cluster, as the catalogue has it, for instance
    /// `https://keystone.openstack.svc.cluster.local:5000/v3`.
    pub fn endpoint(&self, service: &Service) -> String {
        let scheme = match self.subject.spec.global.tls.enabled {
            true => "https",
            false => "http",
        };
        let (name, namespace, port) = (service.name, self.namespace(), service.port);
        let path = service.path;
        format!("{scheme}://{name}.{namespace}.svc.cluster.local:{port}{path}")
    }
}
