//! A control plane cluster with our operator in it.

use std::sync::Arc;

use lab::{Cluster, Etcd, Kind, Machine, Operator, Result, ensure, eventually, kind, minutes};
use serde_json::{Value, json};

use crate::every_part::infrastructure;

pub const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
pub const SECRET: Kind = kind("v1", "Secret");

/// A control plane cluster with our operator in it.
pub struct Site {
    pub cluster: Cluster,
    pub operator: Operator,
}

impl Site {
    /// Installs all kinds, and our operator by its chart, and starts it under the chart's role.
    pub async fn open(machine: &Arc<Machine>) -> Result<Self> {
        let etcd = Etcd::start(machine)?;
        let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
        cluster.install_control_plane_kinds().await?;
        let operator = Operator::installed(machine, &cluster, "c5c3", &[]).await?;
        Ok(Self { cluster, operator })
    }

    /// Makes a namespace and a ControlPlane of the same name in it.
    pub async fn control_plane(&self, name: &str, spec: Value) -> Result<()> {
        self.namespace(name).await?;
        // Cortex's database is the user's own.
        let password = json!({ "password": "chosen-by-the-user" });
        self.secret(name, "cortex-db-credentials", password).await?;
        let control_plane = json!({
            "apiVersion": "c5c3.io/v1alpha1",
            "kind": "ControlPlane",
            "metadata": { "name": name, "namespace": name },
            "spec": spec,
        });
        self.cluster
            .apply(&control_plane.to_string())
            .await
            .map(drop)
    }

    /// Changes the spec of the control plane of a namespace, and waits until the operator has reconciled that.
    pub async fn reconciled(&self, namespace: &str, spec: Value) -> Result<()> {
        let name = format!("{namespace}/{namespace}");
        let change = json!({ "spec": spec });
        let changed = self.cluster.edit(CONTROL_PLANE, &name, change).await?;
        eventually(&format!("{name} is reconciled"), minutes(1), async || {
            let control_plane = self.cluster.get(CONTROL_PLANE, &name).await?;
            let status = &control_plane.data["status"];
            ensure!(
                status["observedGeneration"] == json!(changed.metadata.generation),
                "{status}"
            );
            Ok(())
        })
        .await
    }

    /// Makes a namespace.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.cluster.apply(&namespace.to_string()).await.map(drop)
    }

    /// Makes a Secret that a user would.
    pub async fn secret(&self, namespace: &str, name: &str, values: Value) -> Result<()> {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": name, "namespace": namespace },
            "stringData": values,
        });
        self.cluster.apply(&secret.to_string()).await.map(drop)
    }

    /// Everything that our operator has written so far: verb, resource and `namespace/name`.
    pub fn written(&self) -> Result<Vec<(String, String, String)>> {
        let requests = self.cluster.audit()?;
        let operator = Operator::user("c5c3");
        let ours = requests
            .into_iter()
            .filter(|request| request.user == operator);
        let written = ours.filter(|request| {
            request.writes() && !matches!(request.resource.as_str(), "leases" | "events")
        });
        Ok(written
            .map(|request| (request.verb, request.resource, request.name))
            .collect())
    }
}

/// An application credential as whoever keeps the catalogue hands it out.
pub fn credential(secret: &str) -> Value {
    json!({ "application_credential_id": "0123", "application_credential_secret": secret })
}

/// The least that has every part.
pub fn small() -> Value {
    json!({
        "openStackRelease": "2025.2",
        "infrastructure": infrastructure(),
        "services": {
            "keystone": { "replicas": 1 },
            "glance": { "replicas": 1 },
            "placement": { "replicas": 1 },
            "nova": { "api": { "replicas": 1 }, "scheduler": { "replicas": 1 }, "conductor": { "replicas": 1 } },
            "neutron": { "api": { "replicas": 1 } },
            "cinder": { "api": { "replicas": 1 }, "scheduler": { "replicas": 1 } },
        },
        "compute": { "hypervisorClusters": ["hv-pool-a"] },
        "storage": {
            "storageClusters": ["st-pool-a"],
            "ceph": {
                "pools": { "volumes": "small-volumes", "images": "small-images", "ephemeral": "small-ephemeral" },
                "clients": [
                    { "service": "glance", "storageCluster": "st-pool-a", "user": "small-glance",
                      "secretRef": { "name": "ceph-glance-st-pool-a" } },
                    { "service": "cinder", "storageCluster": "st-pool-a", "user": "small-cinder",
                      "secretRef": { "name": "ceph-cinder-st-pool-a" } },
                    { "service": "nova", "storageCluster": "st-pool-a", "user": "small-nova",
                      "secretRef": { "name": "ceph-nova-st-pool-a" } },
                ],
            },
        },
        "cortex": { "enabled": true },
        "tempest": { "enabled": true },
        "global": { "tls": { "enabled": false } },
    })
}
