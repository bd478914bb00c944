//! What is read of a Deployment or StatefulSet that exists. The rest of its template is what was composed, and isn't parsed.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition};
use provider_composer::{Resource, ResourceKind};
use serde::Deserialize;

use crate::files::Volume;

/// An observed Deployment or StatefulSet.
pub struct Seen {
    /// The image of the first container of its template.
    pub image: Option<String>,
    /// The annotations of its template.
    pub annotations: BTreeMap<String, String>,
    /// The volumes of its template.
    pub volumes: Vec<Volume>,
    /// Whether it is being deleted, and its pods terminate.
    pub is_deleted: bool,
    /// Whether all pods are of the latest revision, available or not.
    pub updated: bool,
    /// Whether all pods are of the latest revision, and available.
    pub done: bool,
    /// The number of ready pods of any revision.
    pub ready: i32,
    /// The conditions of a Deployment. A StatefulSet has none.
    pub conditions: Option<Vec<DeploymentCondition>>,
}

/// What is read of a Deployment or StatefulSet, whichever `K` is.
#[derive(Deserialize)]
pub struct Observed<K> {
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
    #[serde(skip)]
    _kind: PhantomData<K>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    generation: Option<i64>,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    replicas: Option<i32>,
    updated_replicas: Option<i32>,
    available_replicas: Option<i32>,
    ready_replicas: Option<i32>,
    conditions: Option<Vec<DeploymentCondition>>,
}

/// What is read of the spec of an object that creates pods.
#[derive(Default, Deserialize)]
pub(crate) struct Spec {
    replicas: Option<i32>,
    template: Option<Template>,
}

impl Spec {
    /// The volumes of its pods.
    pub(crate) fn volumes(&self) -> &[Volume] {
        let pod = self
            .template
            .as_ref()
            .and_then(|template| template.spec.as_ref());
        let volumes = pod.and_then(|pod| pod.volumes.as_deref());
        volumes.unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
struct Template {
    metadata: Option<TemplateMetadata>,
    spec: Option<Pod>,
}

#[derive(Deserialize)]
struct TemplateMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Pod {
    containers: Option<Vec<Container>>,
    volumes: Option<Vec<Volume>>,
}

#[derive(Deserialize)]
struct Container {
    image: Option<String>,
}

impl<K: Resource> Resource for Observed<K> {
    const KIND: ResourceKind = K::KIND;
}

impl<K: Resource> From<Observed<K>> for Seen {
    fn from(seen: Observed<K>) -> Self {
        let (spec, status) = (seen.spec.unwrap_or_default(), seen.status);
        let current = status
            .as_ref()
            .filter(|status| status.observed_generation >= seen.metadata.generation);
        let updated = current.is_some_and(|status| status.updated_replicas == status.replicas);
        let done = current.is_some_and(|status| {
            let counts = [
                status.replicas,
                status.updated_replicas,
                status.available_replicas,
            ];
            let all = spec.replicas.unwrap_or(1);
            counts.iter().all(|count| *count == Some(all))
        });
        let status = status.unwrap_or_default();
        let conditions = (K::KIND == Deployment::KIND).then_some(status.conditions);
        let is_deleted = seen.metadata.deletion_timestamp.is_some();
        let template = spec.template.unwrap_or_default();
        let pod = template.spec.unwrap_or_default();
        let containers = pod.containers.unwrap_or_default();
        let annotations = template.metadata.and_then(|metadata| metadata.annotations);
        Self {
            image: containers.into_iter().next().and_then(|first| first.image),
            annotations: annotations.unwrap_or_default(),
            volumes: pod.volumes.unwrap_or_default(),
            is_deleted,
            updated,
            done: done && !is_deleted,
            ready: status.ready_replicas.unwrap_or(0),
            conditions: conditions.map(Option::unwrap_or_default),
        }
    }
}
