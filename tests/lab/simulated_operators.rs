//! The operators of others, simulated: whatever ours waits for comes up at once. For scenarios with so many control planes that
//! the real ones would take hours; each says what the real one says, which the API server checks by its kinds.

use std::sync::Arc;

use anyhow::Result;
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cluster::Cluster;
use crate::keystones::Keystones;
use crate::machine::Machine;
use crate::objects::{Kind, kind};
use crate::watched::{Watched, report};

/// Which operator is simulated for a kind.
#[derive(Clone, Copy)]
enum Part {
    Kubernetes,
    MariaDb,
    RabbitMq,
    /// A database, virtual host or permission in one of them, or a user of a database.
    Account,
    MessagingUser,
    Valkey,
    KOrc,
    Keystone,
    Service,
    Tests,
}

const KORC: &str = "openstack.k-orc.cloud/v1alpha1";

/// What the operators of others look after in a control plane.
const FOREIGN: [(Part, Kind); 11] = [
    (Part::MariaDb, kind("k8s.mariadb.com/v1alpha1", "MariaDB")),
    (
        Part::RabbitMq,
        kind("rabbitmq.com/v1beta1", "RabbitmqCluster"),
    ),
    (Part::Valkey, kind("cache.cs.sap.com/v1alpha1", "Valkey")),
    (Part::KOrc, kind(KORC, "Domain")),
    (Part::KOrc, kind(KORC, "Project")),
    (Part::KOrc, kind(KORC, "Role")),
    (Part::KOrc, kind(KORC, "User")),
    (Part::KOrc, kind(KORC, "Service")),
    (Part::KOrc, kind(KORC, "Endpoint")),
    (Part::KOrc, kind(KORC, "ApplicationCredential")),
    (Part::KOrc, kind(KORC, "VolumeType")),
];

/// What they look after for our operators of services.
const OF_SERVICES: [(Part, Kind); 6] = [
    (Part::Account, kind("k8s.mariadb.com/v1alpha1", "Database")),
    (Part::Account, kind("k8s.mariadb.com/v1alpha1", "User")),
    (Part::Account, kind("k8s.mariadb.com/v1alpha1", "Grant")),
    (Part::Account, kind("rabbitmq.com/v1beta1", "Vhost")),
    (Part::MessagingUser, kind("rabbitmq.com/v1beta1", "User")),
    (Part::Account, kind("rabbitmq.com/v1beta1", "Permission")),
];

/// The kinds of Kubernetes' own controllers, where no pods are simulated.
const WORKLOADS: [(Part, Kind); 2] = [
    (Part::Kubernetes, kind("apps/v1", "Deployment")),
    (Part::Kubernetes, kind("apps/v1", "StatefulSet")),
];

/// What our operators of services look after, and Kubernetes.
const SERVICES: [(Part, Kind); 10] = [
    (Part::Kubernetes, kind("apps/v1", "StatefulSet")),
    (
        Part::Keystone,
        kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone"),
    ),
    (
        Part::Service,
        kind("glance.openstack.c5c3.io/v1alpha1", "Glance"),
    ),
    (
        Part::Service,
        kind("placement.openstack.c5c3.io/v1alpha1", "Placement"),
    ),
    (
        Part::Service,
        kind("nova.openstack.c5c3.io/v1alpha1", "Nova"),
    ),
    (
        Part::Service,
        kind("neutron.openstack.c5c3.io/v1alpha1", "Neutron"),
    ),
    (
        Part::Service,
        kind("cinder.openstack.c5c3.io/v1alpha1", "Cinder"),
    ),
    (Part::Service, kind("ovn.c5c3.io/v1alpha1", "OVNCluster")),
    (Part::Service, kind("cortex.c5c3.io/v1alpha1", "Cortex")),
    (
        Part::Tests,
        kind("tempest.openstack.c5c3.io/v1alpha1", "Tempest"),
    ),
];

/// The operators of others, simulated until this is dropped.
pub struct SimulatedOperators {
    _simulators: Watched,
}

impl SimulatedOperators {
    /// Begins to simulate them, and our own operators of services. The kinds must be installed.
    pub async fn simulate(machine: &Machine, cluster: &Cluster) -> Result<Self> {
        let keystones = Arc::new(Keystones::start(machine).await?);
        let parts = FOREIGN.into_iter().chain(SERVICES);
        Self::of(cluster, parts, Some(keystones)).await
    }

    /// Begins to simulate them beside our own operators of services. The kinds must be installed.
    pub async fn beside_services(cluster: &Cluster) -> Result<Self> {
        Self::of(cluster, FOREIGN.into_iter().chain(OF_SERVICES), None).await
    }

    /// Begins to simulate them beside this project's operators of services, and the controllers of Deployments and StatefulSets, which
    /// have no pods. The kinds must be installed.
    pub async fn instead_of_pods(cluster: &Cluster) -> Result<Self> {
        let parts = FOREIGN.into_iter().chain(OF_SERVICES).chain(WORKLOADS);
        Self::of(cluster, parts, None).await
    }

    async fn of(
        cluster: &Cluster,
        parts: impl Iterator<Item = (Part, Kind)>,
        keystones: Option<Arc<Keystones>>,
    ) -> Result<Self> {
        let mut simulators = Watched::default();
        for (part, kind) in parts {
            let (resource, _) = cluster.resource(kind.api_version, kind.kind).await?;
            let simulator = Arc::new(Simulator {
                part,
                kind,
                resource,
                client: cluster.client(),
                keystones: keystones.clone(),
            });
            let act = move |object| {
                let simulator = Arc::clone(&simulator);
                async move { simulator.come_up(&object).await }
            };
            simulators.each(cluster, kind, act).await?;
        }
        Ok(Self {
            _simulators: simulators,
        })
    }
}

/// Simulates one operator for one kind.
struct Simulator {
    part: Part,
    kind: Kind,
    resource: ApiResource,
    client: Client,
    keystones: Option<Arc<Keystones>>,
}

impl Simulator {
    /// Writes a status where it isn't so yet.
    async fn come_up(&self, object: &DynamicObject) {
        let status = self
            .part
            .status(self.kind, object, self.keystones.as_deref());
        let said = &object.data["status"];
        let is_so = status
            .as_object()
            .is_some_and(|status| status.iter().all(|(key, value)| said[key] == *value));
        if is_so || object.metadata.deletion_timestamp.is_some() {
            return;
        }
        report(&self.client, &self.resource, object, &status).await;
    }
}

impl Part {
    /// What is said of an object that is as wanted.
    fn status(self, kind: Kind, object: &DynamicObject, keystones: Option<&Keystones>) -> Value {
        let spec = &object.data["spec"];
        let generation = object.metadata.generation;
        let replicas = spec["replicas"].as_u64().unwrap_or(1);
        match self {
            Self::Kubernetes => {
                let mut status = json!({
                    "observedGeneration": generation,
                    "replicas": replicas,
                    "readyReplicas": replicas,
                    "updatedReplicas": replicas,
                    "availableReplicas": replicas,
                });
                if kind.kind == "Deployment" {
                    let available = condition("Available", "True", "MinimumReplicasAvailable");
                    status["conditions"] = json!([available]);
                }
                status
            }
            Self::MariaDb => json!({
                "replicas": replicas,
                "conditions": [condition("Ready", "True", "StatefulSetReady")],
            }),
            Self::RabbitMq => json!({
                "observedGeneration": generation,
                "conditions": [
                    condition("AllReplicasReady", "True", "AllPodsAreReady"),
                    condition("ClusterAvailable", "True", "AtLeastOneEndpointAvailable"),
                ],
            }),
            Self::Valkey => json!({ "observedGeneration": generation, "state": "Ready" }),
            Self::KOrc => json!({
                "id": identifier(kind, object),
                "conditions": [
                    observed(condition("Available", "True", "Success"), generation),
                    observed(condition("Progressing", "False", "Success"), generation),
                ],
            }),
            Self::Keystone => json!({
                "conditions": [observed(condition("Ready", "True", "Ready"), generation)],
                "endpoint": keystones.map(|all| all.url(&object.namespace().unwrap_or_default())),
                "release": spec["release"],
            }),
            Self::Account => json!({
                "conditions": [condition("Ready", "True", "Created")],
            }),
            Self::MessagingUser => json!({
                "username": object.name_any(),
                "credentials": spec["importCredentialsSecret"],
                "conditions": [condition("Ready", "True", "Created")],
            }),
            Self::Tests => json!({
                "conditions": [observed(condition("Ready", "True", "Ready"), generation)],
            }),
            Self::Service => {
                let mut status = Self::Tests.status(kind, object, keystones);
                if let Some(release) = spec.get("release") {
                    status["release"] = release.clone();
                }
                status
            }
        }
    }
}

/// Every kind of which an operator is simulated.
pub fn simulated_kinds() -> impl Iterator<Item = Kind> {
    parts().map(|(_, kind)| kind)
}

/// The status of an object that is as wanted, but for the URL of a Keystone; none where no operator is simulated.
pub fn simulated_status(kind: Kind, object: &DynamicObject) -> Option<Value> {
    let (part, _) = parts().find(|(_, other)| *other == kind)?;
    Some(part.status(kind, object, None))
}

fn parts() -> impl Iterator<Item = (Part, Kind)> {
    FOREIGN.into_iter().chain(OF_SERVICES).chain(SERVICES)
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "reason": reason,
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn observed(mut condition: Value, generation: Option<i64>) -> Value {
    condition["observedGeneration"] = json!(generation);
    condition
}

/// An ID in Keystone: the same for what is called the same, since every control plane has a Keystone of its own.
fn identifier(kind: Kind, object: &DynamicObject) -> String {
    let digest = Sha256::digest(format!("{} {}", kind.kind, object.name_any()));
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
