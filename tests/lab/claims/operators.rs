//! What Gardener, Rook, External Secrets and our own operators would write: statuses, and nothing else.

use anyhow::Result;
use serde_json::{Value, json};

use super::{BLOCK_POOL, CEPH, CONTROL_PLANE, SHARE};
use crate::cluster::Cluster;
use crate::garden::SHOOT;
use crate::lab::Lab;
use crate::objects::{Kind, kind};

const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");
const PUSH_SECRET: Kind = kind("external-secrets.io/v1alpha1", "PushSecret");
const RABBITMQ: Kind = kind("rabbitmq.com/v1beta1", "RabbitmqCluster");
const VALKEY: Kind = kind("cache.cs.sap.com/v1alpha1", "Valkey");
const EXTERNAL_SECRET: Kind = kind("external-secrets.io/v1", "ExternalSecret");

/// Gives every object that has no status yet the one of an operator for whom all went well. Where our operators run, those
/// of RabbitMQ and Valkey are played for them.
pub(super) async fn work(lab: &Lab, operated: bool) -> Result<()> {
    let shoot = json!({
        "technicalID": "shoot--c5c3", "gardener": {"id": "lab", "name": "lab", "version": "1.120.0"}, "hibernated": false,
        "uid": "00000000-0000-0000-0000-000000000000",
        "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100, "description": "done",
            "lastUpdateTime": "2026-01-01T00:00:00Z"},
    });
    first_status(&lab.garden, SHOOT, "lastOperation", shoot).await?;
    let ceph = json!({"phase": "Ready", "ceph": {"health": "HEALTH_OK", "capacity": {
        "bytesTotal": 1_u64 << 50, "bytesUsed": 1_u64 << 40, "bytesAvailable": (1_u64 << 50) - (1_u64 << 40)}}});
    first_status(&lab.storage, CEPH, "phase", ceph).await?;
    for name in ["CephBlockPool", "CephClient"] {
        let rook = Kind {
            api_version: BLOCK_POOL.api_version,
            kind: name,
        };
        first_status(&lab.storage, rook, "phase", json!({"phase": "Ready"})).await?;
    }
    let ready = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    first_status(&lab.storage, PUSH_SECRET, "conditions", ready.clone()).await?;
    first_status(
        &lab.control_plane,
        EXTERNAL_SECRET,
        "conditions",
        ready.clone(),
    )
    .await?;
    for cluster in [&lab.hypervisor, &lab.control_plane, &lab.storage] {
        let mut share = ready.clone();
        share["hosts"] = json!(["node-1", "node-2"]);
        first_status(cluster, SHARE, "conditions", share).await?;
        let pool = json!({"nodeCount": 50, "freeVcpus": 6400, "freeMemoryGB": 25600});
        first_status(cluster, POOL, "nodeCount", pool).await?;
    }
    if operated {
        return infrastructure(&lab.control_plane, ready).await;
    }
    let mut control_plane = ready;
    control_plane["endpoints"] = json!({
        "keystone": "https://keystone.example.com", "nova": "https://nova.example.com",
    });
    first_status(
        &lab.control_plane,
        CONTROL_PLANE,
        "conditions",
        control_plane,
    )
    .await
}

/// None of the services that have pods uses a message bus or a cache of its own.
async fn infrastructure(cluster: &Cluster, ready: Value) -> Result<()> {
    let bus = json!({"observedGeneration": 1, "conditions": [
        {"type": "AllReplicasReady", "status": "True", "reason": "AllPodsAreReady"},
        {"type": "ClusterAvailable", "status": "True", "reason": "AtLeastOneEndpointAvailable"},
    ]});
    first_status(cluster, RABBITMQ, "conditions", bus).await?;
    let mut cache = ready;
    cache["observedGeneration"] = json!(1);
    cache["state"] = json!("Ready");
    first_status(cluster, VALKEY, "state", cache).await
}

async fn first_status(cluster: &Cluster, kind: Kind, field: &str, status: Value) -> Result<()> {
    for object in cluster.list(kind, "").await? {
        if object.metadata.deletion_timestamp.is_some() || !object.data["status"][field].is_null() {
            continue;
        }
        let name = object.metadata.name.unwrap_or_default();
        let place = match object.metadata.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        };
        // What was listed may be gone or changed by now; the next round sees.
        if let Err(error) = cluster.set_status(kind, &place, status.clone()).await
            && cluster.find(kind, &place).await?.is_some()
        {
            return Err(error);
        }
    }
    Ok(())
}
