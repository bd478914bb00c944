//! An OpenStack service: its resource, release and names.

use std::collections::BTreeMap;

use c5c3_api::CustomResource;
use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::parts::{Common, CredentialsRef, ServiceStatus};
use c5c3_kinds::{Manifest, cert_manager, gateway, mariadb, prometheus};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service as KubernetesService};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{
    Failure, Key, Live, Lookup, Metadata, ObservedState, Owner, Reason, Resource, ResourceKind,
    SecretValues, Subject, Use,
};
use serde::de::DeserializeOwned;

use crate::extra::{Extra, Owned};
use crate::host::in_cluster;
use crate::objects::labelled;
use crate::prerequisite::Prerequisite;
use crate::registry::{ServiceDefinition, dependency_kinds};
use crate::release::Release;
use crate::{extra, image};

/// Label of all composed objects: the service's name.
pub(crate) const NAME: &str = "app.kubernetes.io/name";
/// Label of all composed objects: the resource's name.
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
/// Label of all composed objects: the component of the service.
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";
/// Label of all composed objects: the release.
const VERSION: &str = "app.kubernetes.io/version";
/// The component that serves the API.
pub(crate) const API: &str = "api";

/// An OpenStack service: its resource, release and names.
pub struct Service<'a> {
    /// Its fixed facts.
    pub definition: &'static ServiceDefinition,
    /// The namespace of its resource.
    pub namespace: &'a str,
    /// The name of its resource.
    pub name: &'a str,
    /// The part of the spec that all services have.
    pub common: &'a Common,
    /// The observed state.
    pub observed: &'a ObservedState<'a>,
    /// The options that the user adds.
    pub extra: Extra,
    /// The desired release.
    pub release: Release,
    /// The desired image.
    pub image: String,
    /// The installed release. `None` before the first is ready.
    pub installed: Option<Release>,
    owner: Owner,
}

impl ServiceDefinition {
    /// Validates a resource of the service. `owned` are the options that the operator owns, besides those of all services. `status` has
    /// the installed release.
    ///
    /// # Errors
    /// The name, the image, the release or the extra configuration isn't valid.
    pub fn service<'a, S: CustomResource>(
        &'static self,
        owned: &[Owned<'_>],
        subject: &'a Subject<S>,
        observed: &'a ObservedState<'a>,
        common: &'a Common,
        status: &ServiceStatus,
    ) -> Result<Service<'a>, Failure> {
        if subject.name().contains('.') {
            return Err(Failure::new(
                Reason::Invalid,
                "metadata.name has a dot, and a Service of this name would be another host: create the resource under a name \
                 of letters, digits and dashes",
            ));
        }
        let release = image::release(self, common)?;
        let installed = status.release.as_deref();
        let installed = installed.and_then(|release| release.parse::<Release>().ok());
        if let Some(installed) = installed {
            installed.may_become(release).map_err(|message| {
                Failure::new(Reason::ReleaseNotReachable, format!("release {message}"))
            })?;
        }
        let secrets = extra::secrets(common, subject.namespace(), observed)?;
        Ok(Service {
            definition: self,
            namespace: subject.namespace(),
            name: subject.name(),
            common,
            observed,
            extra: Extra::of(self.name, owned, release, common, secrets)?,
            release,
            image: image::reference(self, release, &common.image)?,
            installed,
            owner: Owner::of(ResourceKind::of::<S>(), &subject.metadata),
        })
    }
}

impl Service<'_> {
    /// Whether another release is installed than the desired one.
    pub fn upgrades(&self) -> bool {
        self.installed
            .is_some_and(|installed| installed != self.release)
    }

    /// One object of the service's namespace, by its type.
    pub fn get<T: Resource + DeserializeOwned>(&self, name: &str) -> Lookup<Live<T>> {
        self.observed.get(self.namespace, name)
    }

    /// The same by its type alone: of its metadata, only what the type reads.
    pub fn body<T: Resource + DeserializeOwned>(&self, name: &str) -> Lookup<T> {
        self.observed.body(self.namespace, name)
    }

    /// The objects of a type in the service's namespace with all these labels, by name.
    pub fn list<T: Resource + DeserializeOwned>(
        &self,
        labels: &[(&str, &str)],
    ) -> Lookup<Vec<Live<T>>> {
        self.observed.list(self.namespace, labels)
    }

    /// The keys of the objects of a kind in the service's namespace with all these labels, by name.
    pub fn keys(&self, kind: ResourceKind, labels: &[(&str, &str)]) -> Lookup<Vec<Key>> {
        self.observed.keys(kind, self.namespace, labels)
    }

    /// The values of a Secret in the service's namespace, as [`SecretValues::read`] reads them.
    ///
    /// # Errors
    /// The Secret doesn't exist, or can't be read.
    pub fn secret(&self, name: &str, purpose: &str) -> Prerequisite<SecretValues> {
        SecretValues::read(self.observed, self.namespace, name, purpose)
    }

    /// The other resource of this service that an object's labels name, if any. Objects that outlast their owner have no ownerReference.
    pub fn other_instance<'o>(&self, object: &'o Metadata) -> Option<&'o str> {
        let labels = &object.labels;
        let name = labels.get(NAME).map(String::as_str);
        let instance = labels.get(INSTANCE).map(String::as_str);
        instance.filter(|instance| name == Some(self.definition.name) && *instance != self.name)
    }

    /// The name of an object of this service: the resource's name and a purpose.
    pub fn named(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.name)
    }

    /// The labels that select all objects of this service.
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

    /// An object of another operator's kind, for a component.
    pub(crate) fn manifest<S>(&self, component: &str, spec: S) -> Manifest<S> {
        Manifest {
            metadata: self.metadata(component),
            spec,
        }
    }

    /// The Secret with user and password of a server, and the key of the password, with their defaults.
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

    /// The labels that select a component's pods. They never change, because a Deployment's selector is immutable.
    pub fn selector(&self, component: &str) -> BTreeMap<String, String> {
        let mut labels = self.identity();
        labels.insert(COMPONENT.to_owned(), component.to_owned());
        labels
    }

    /// Metadata with the labels of a component. Composing an object adds the other common labels.
    pub fn metadata(&self, component: &str) -> ObjectMeta {
        let mut labels = self.selector(component);
        labels.insert(VERSION.to_owned(), self.release.to_string());
        labelled(labels)
    }

    /// Metadata with the labels of a component and one more.
    pub fn labelled(&self, component: &str, label: &str, value: &str) -> ObjectMeta {
        let mut metadata = self.metadata(component);
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(label.to_owned(), value.to_owned());
        metadata
    }

    /// The host name of the API within the cluster, for instance `keystone.openstack.svc.cluster.local`.
    pub fn host(&self) -> String {
        self.host_of(self.name)
    }

    /// The host name within the cluster of a Kubernetes Service in its namespace.
    pub(crate) fn host_of(&self, object: &str) -> String {
        in_cluster(object, self.namespace)
    }

    /// URL of the API within the cluster, without a path.
    pub fn endpoint(&self) -> String {
        let scheme = match self.common.tls.enabled {
            true => "https",
            false => "http",
        };
        format!("{scheme}://{}:{}", self.host(), self.definition.port())
    }
}

/// The kinds that the composer of a service without an API uses, which only has Jobs.
pub fn uses_of_jobs() -> Vec<Use> {
    let composed = [Secret::KIND, ConfigMap::KIND, Job::KIND].map(Use::composes);
    let read = dependency_kinds().map(Use::reads);
    composed.into_iter().chain(read).collect()
}

/// The kinds that the composers of all services with an API use.
pub fn uses() -> Vec<Use> {
    let composed = [
        Deployment::KIND,
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
    let read = [
        StatefulSet::KIND,
        gateway::Gateway::KIND,
        Manifest::<mariadb::MariaDb>::KIND,
        ResourceKind::of::<CredentialRotationSpec>(),
    ];
    let mut uses = uses_of_jobs();
    uses.extend(composed.map(Use::composes));
    uses.extend(read.map(Use::reads));
    uses
}
