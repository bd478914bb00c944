//! One component of a service: its name, labels, scale and endpoint.

use std::collections::BTreeMap;

use c5c3_api::parts::{self, Autoscaling, Exposure, Resources};
use c5c3_kinds::Manifest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{Failure, Reason};

use crate::definition::{ComponentDefinition, ComponentKind, part};
use crate::service::{API, Service};

/// How many replicas a component has, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale<'a> {
    /// Replicas; the minimum if there is a HorizontalPodAutoscaler.
    pub replicas: u32,
    /// The settings of the HorizontalPodAutoscaler, if there is one.
    pub autoscaling: Option<&'a Autoscaling>,
    /// CPU and memory of each replica.
    pub resources: &'a Resources,
}

impl<'a, const REPLICAS: u32> From<&'a parts::Component<REPLICAS>> for Scale<'a> {
    fn from(wanted: &'a parts::Component<REPLICAS>) -> Self {
        Self {
            replicas: wanted.replicas,
            autoscaling: None,
            resources: &wanted.resources,
        }
    }
}

impl<'a, const REPLICAS: u32> From<&'a parts::ApiComponent<REPLICAS>> for Scale<'a> {
    fn from(wanted: &'a parts::ApiComponent<REPLICAS>) -> Self {
        Self {
            replicas: wanted.replicas,
            autoscaling: wanted.autoscaling.as_ref(),
            resources: &wanted.resources,
        }
    }
}

/// One component of a service.
pub struct Component<'a> {
    /// Its service.
    pub service: &'a Service<'a>,
    /// Its fixed facts.
    pub definition: ComponentDefinition,
    /// Its label `app.kubernetes.io/component`: the definition's name, prefixed with the cell's name if it has one.
    pub name: String,
    /// The name of its objects: the resource's for the API, `<resource>-<component>` for others.
    pub object: String,
    /// How many replicas it has, and how large they are.
    pub scale: Scale<'a>,
    /// How clients outside the cluster reach it.
    pub expose: Option<&'a Exposure>,
}

impl Component<'_> {
    /// The container's name. That of the API and of Jobs is the service's name.
    pub(crate) fn container(&self) -> String {
        let suffix = Some(self.definition.name).filter(|name| *name != API);
        self.service.definition.part(suffix.unwrap_or_default())
    }

    /// The labels that select its pods.
    pub fn selector(&self) -> BTreeMap<String, String> {
        self.service.selector(&self.name)
    }

    /// Metadata of its objects.
    pub fn metadata(&self) -> ObjectMeta {
        self.service.metadata(&self.name)
    }

    /// Returns one of its objects, of another operator's kind.
    pub(crate) fn manifest<S>(&self, spec: S) -> Manifest<S> {
        self.service.manifest(&self.name, spec)
    }

    /// The host name of its endpoint within the cluster, for instance `keystone.openstack.svc.cluster.local`.
    pub fn host(&self) -> String {
        self.service.host_of(&self.object)
    }

    /// Whether uwsgi serves it.
    pub(crate) fn is_api(&self) -> bool {
        matches!(self.definition.kind, ComponentKind::Wsgi { .. })
    }

    /// Whether Prometheus scrapes it.
    pub(crate) fn is_monitored(&self) -> bool {
        let monitoring = &self.service.common.monitoring;
        monitoring.enabled && (self.is_api() || monitoring.processes)
    }
}

impl<'a> Service<'a> {
    /// Creates a component of the service, or of one of its cells unless `cell` is empty.
    ///
    /// # Errors
    /// `replicas` is 0.
    pub fn component(
        &'a self,
        definition: ComponentDefinition,
        cell: &str,
        scale: impl Into<Scale<'a>>,
    ) -> Result<Component<'a>, Failure> {
        let scale = scale.into();
        if scale.replicas == 0 {
            return Err(Failure::new(
                Reason::Invalid,
                "replicas is 0, and then nothing would answer: give at least 1, or delete the resource",
            ));
        }
        let name = match cell {
            "" => definition.name.to_owned(),
            cell => format!("{cell}-{}", definition.name),
        };
        let suffix = Some(name.as_str()).filter(|name| *name != API);
        Ok(Component {
            service: self,
            definition,
            object: part(self.name, suffix.unwrap_or_default()),
            name,
            scale,
            expose: None,
        })
    }

    /// The component that serves the API, with its exposure.
    ///
    /// # Errors
    /// `replicas` is 0.
    pub fn api(&'a self, scale: impl Into<Scale<'a>>) -> Result<Component<'a>, Failure> {
        let expose = self.common.expose.as_ref();
        let api = self.component(self.definition.api, "", scale)?;
        Ok(Component { expose, ..api })
    }
}
