//! One OpenStack service, as every part of its recipe looks at it.

use std::collections::BTreeMap;

use c5c3_api::CustomResource;
use c5c3_api::parts::{Common, CredentialsRef};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service as KubernetesService};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{Failure, Owner, Reason, Resource, ResourceKind, Subject, Use};

use crate::component::{Component, Scale};
use crate::definition::ServiceDefinition;
use crate::extra::{Extra, Owned};
use crate::manifest::{Manifest, cert_manager, gateway, mariadb, prometheus};
use crate::release::Release;
use crate::{dependency, image};

/// Label of everything that a service's operator composes: the service's name.
pub(crate) const NAME: &str = "app.kubernetes.io/name";
/// Label with the resource's name.
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label with the component of the service that an object belongs to.
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";
/// Label with the release.
const VERSION: &str = "app.kubernetes.io/version";
/// The component that serves the API.
pub(crate) const API: &str = "api";

/// One OpenStack service, as every part of its recipe looks at it.
pub struct Service<'a> {
    /// What is the same in every resource.
    pub definition: &'static ServiceDefinition,
    /// The namespace that it lives in.
    pub namespace: &'a str,
    /// The name of its resource.
    pub name: &'a str,
    /// What every service has.
    pub common: &'a Common,
    /// What the user adds to its configuration.
    pub extra: Extra<'a>,
    /// The release that is wanted.
    pub release: Release,
    /// The image that is wanted.
    pub image: String,
    /// The release that runs; none before the first is ready.
    pub installed: Option<Release>,
    owner: Owner,
}

impl<'a> Service<'a> {
    /// The service that a resource asks for. `installed` is the release that its status says runs, `owned` what of the
    /// configuration is the operator's own besides what is in every service.
    ///
    /// # Errors
    /// The image, the release or the extra configuration isn't valid: the failure says what to change.
    pub fn of<S: CustomResource>(
        definition: &'static ServiceDefinition,
        owned: &[Owned<'_>],
        subject: &'a Subject<S>,
        installed: Option<&str>,
        common: &'a Common,
    ) -> Result<Self, Failure> {
        if subject.name().contains('.') {
            return Err(Failure::new(
                Reason::Invalid,
                "metadata.name has a dot, and a Service of this name would be another host: create the resource under a name \
                 of letters, digits and dashes",
            ));
        }
        let release = image::release(definition.name, common)?;
        let installed = installed.and_then(|release| release.parse::<Release>().ok());
        if let Some(installed) = installed {
            installed.may_become(release).map_err(|message| {
                Failure::new(Reason::ReleaseNotReachable, format!("release {message}"))
            })?;
        }
        Ok(Self {
            definition,
            namespace: subject.namespace(),
            name: subject.name(),
            common,
            extra: Extra::of(definition.name, owned, release, common)?,
            release,
            image: image::reference(definition.name, release, &common.image)?,
            installed,
            owner: Owner::of(ResourceKind::of::<S>(), &subject.metadata),
        })
    }

    /// What something of this service is called: its name and what for.
    pub fn named(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.name)
    }

    /// The labels that everything composed for this service has: a selector of it all.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.identity();
        for (label, value) in self.owner.labels() {
            labels.insert(label.to_owned(), value.to_owned());
        }
        labels
    }

    /// The labels that name the service and its resource, without the operator's own.
    pub fn identity(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (NAME.to_owned(), self.definition.name.to_owned()),
            (INSTANCE.to_owned(), self.name.to_owned()),
        ])
    }

    /// An object of a foreign kind, for a component.
    pub(crate) fn manifest<S>(&self, component: &str, spec: S) -> Manifest<S> {
        Manifest {
            metadata: self.metadata(component),
            spec,
        }
    }

    /// The Secret with user and password of a server, and the key of the password: what is given, or the usual
    /// name where nothing is.
    pub(crate) fn credentials<'r>(
        &self,
        given: Option<&'r CredentialsRef>,
        usual: String,
    ) -> (String, &'r str) {
        match given {
            Some(reference) => (reference.name.clone(), &reference.key),
            None => (usual, "password"),
        }
    }

    /// The labels that only a component's pods have. They never change: a Deployment's selector can't.
    pub fn selector(&self, component: &str) -> BTreeMap<String, String> {
        let mut labels = self.identity();
        labels.insert(COMPONENT.to_owned(), component.to_owned());
        labels
    }

    /// Metadata with the labels of a component. The rest of the common labels are added to every object.
    pub fn metadata(&self, component: &str) -> ObjectMeta {
        let mut labels = self.selector(component);
        labels.insert(VERSION.to_owned(), self.release.to_string());
        ObjectMeta {
            labels: Some(labels),
            ..ObjectMeta::default()
        }
    }

    /// Metadata with the labels of a component and one more.
    pub fn labelled(&self, component: &str, label: &str, value: &str) -> ObjectMeta {
        let mut metadata = self.metadata(component);
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(label.to_owned(), value.to_owned());
        metadata
    }

    /// The API's name within the cluster, for instance `keystone.openstack.svc.cluster.local`.
    pub fn host(&self) -> String {
        self.host_of(self.name)
    }

    /// The name within the cluster of a Kubernetes Service in its namespace.
    pub(crate) fn host_of(&self, object: &str) -> String {
        format!("{object}.{}.svc.cluster.local", self.namespace)
    }

    /// URL of the API within the cluster, without a path.
    pub fn endpoint(&self) -> String {
        let scheme = match self.common.tls.enabled {
            true => "https",
            false => "http",
        };
        format!("{scheme}://{}:{}", self.host(), self.definition.port())
    }

    /// The API, with how clients outside the cluster reach it.
    ///
    /// # Errors
    /// There are no replicas.
    pub fn api(&'a self, scale: Scale<'a>) -> Result<Component<'a>, Failure> {
        let expose = self.common.expose.as_ref();
        let api = Component::of(self, self.definition.api, "", scale)?;
        Ok(Component { expose, ..api })
    }
}

/// The kinds that every service's composer uses.
pub fn uses() -> Vec<Use> {
    let composed = [
        Secret::KIND,
        ConfigMap::KIND,
        Deployment::KIND,
        Job::KIND,
        KubernetesService::KIND,
        NetworkPolicy::KIND,
        PodDisruptionBudget::KIND,
        HorizontalPodAutoscaler::KIND,
        Ingress::KIND,
        Manifest::<gateway::HttpRoute>::KIND,
        Manifest::<gateway::BackendTlsPolicy>::KIND,
        Manifest::<mariadb::Database>::KIND,
        Manifest::<mariadb::User>::KIND,
        Manifest::<mariadb::Grant>::KIND,
        Manifest::<cert_manager::Certificate>::KIND,
        Manifest::<prometheus::ServiceMonitor>::KIND,
    ];
    let read = [StatefulSet::KIND, Manifest::<mariadb::MariaDb>::KIND];
    let read = read.into_iter().chain(dependency::KINDS).map(Use::reads);
    composed
        .into_iter()
        .map(Use::composes)
        .chain(read)
        .collect()
}
