//! The parts that nobody here runs: pods, Valkey's operator, and the operators of the services. The test simulates them, a
//! round at a time.

use std::collections::BTreeSet;

use kube::ResourceExt;
use lab::{Cluster, DynamicObject, Kind, Result, kind, simulated_kinds, simulated_status};
use provider_control_plane::graph::{GRAPH, Node, Step};
use serde_json::{Value, json};

pub const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const ENDPOINTS: Kind = kind("v1", "Endpoints");

/// What the test simulates.
pub struct Simulation {
    /// URL of the Keystone that runs; none: the status only says so.
    pub keystone: Option<String>,
    /// Whether MariaDB's and RabbitMQ's own operators run: then only their pods are simulated.
    pub infrastructure_runs: bool,
    /// Parts that don't come up, by the namespace of their control plane.
    pub held: BTreeSet<(String, Node)>,
}

impl Simulation {
    /// One round: whatever exists and isn't held back comes up.
    pub async fn step(&self, cluster: &Cluster) -> Result<()> {
        if self.infrastructure_runs {
            self.pods(cluster).await?;
        }
        for step in GRAPH.iter() {
            if self.infrastructure_runs && matches!(step.node, Node::MariaDb | Node::RabbitMq) {
                continue;
            }
            let Some(kind) = kind_of(step) else {
                continue;
            };
            for object in cluster.list(kind, "").await? {
                let namespace = object.namespace().unwrap_or_default();
                if !self.held.contains(&(namespace, step.node)) {
                    come_up(cluster, kind, &object, self.status(kind, &object)).await?;
                }
            }
        }
        Ok(())
    }

    /// Every pod is ready, and RabbitMQ's Service has one behind it.
    async fn pods(&self, cluster: &Cluster) -> Result<()> {
        for object in cluster.list(STATEFUL_SET, "").await? {
            // First, because RabbitMQ's operator looks once it hears of the pods, and then is stuck at not having any.
            if object.name_any() == "openstack-rabbitmq-server" {
                let endpoints = json!({
                    "apiVersion": ENDPOINTS.api_version,
                    "kind": ENDPOINTS.kind,
                    "metadata": {
                        "name": "openstack-rabbitmq",
                        "namespace": object.namespace(),
                        // Of the Service, without which RabbitMQ's operator doesn't see them.
                        "labels": { "app.kubernetes.io/part-of": "rabbitmq" },
                    },
                    "subsets": [{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 5672 }] }],
                });
                cluster.apply(&endpoints.to_string()).await?;
            }
            let status = self.status(STATEFUL_SET, &object);
            come_up(cluster, STATEFUL_SET, &object, status).await?;
        }
        Ok(())
    }

    /// What its operator says of an object that is as wanted.
    fn status(&self, kind: Kind, object: &DynamicObject) -> Value {
        let mut status = simulated_status(kind, object).unwrap_or_default();
        match kind.kind {
            "Keystone" => {
                let url = self.keystone.as_deref();
                status["endpoint"] = json!(url.unwrap_or("http://keystone:5000"));
            }
            "StatefulSet" => status["currentReplicas"] = status["replicas"].clone(),
            _ => {}
        }
        status
    }
}

/// The kind whose first object says how a part is; none for the catalogue.
pub fn kind_of(step: &Step) -> Option<Kind> {
    let (resource, _) = step.objects.first()?;
    let is_first =
        |kind: &Kind| kind.kind == resource.kind && kind.api_version == resource.api_version();
    simulated_kinds().find(is_first)
}

/// Writes a status where it isn't so yet.
async fn come_up(
    cluster: &Cluster,
    kind: Kind,
    object: &DynamicObject,
    status: Value,
) -> Result<()> {
    let said = &object.data["status"];
    let is_so = status
        .as_object()
        .is_some_and(|status| status.iter().all(|(key, value)| said[key] == *value));
    if is_so || object.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    cluster.report(kind, object, status).await
}
