//! What Gardener, Rook, External Secrets and our own operators would write: statuses, and nothing else.

use anyhow::Result;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{
    BLOCK_POOL, CEPH, CEPH_CLIENT, CONTROL_PLANE, EXTERNAL_SECRET, PUSH_SECRET, SHARE, keys,
};
use crate::ceph::Ceph;
use crate::cluster::Cluster;
use crate::garden::SHOOT;
use crate::lab::Lab;
use crate::objects::{Kind, kind};

const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");

/// Gives every object that has no status yet the one of an operator for whom all went well. Where there is a Ceph, and our
/// operators run, these have really done it.
pub(super) async fn work(lab: &Lab, ceph: Option<&Ceph>) -> Result<()> {
    let shoot = json!({
        "technicalID": "shoot--c5c3", "gardener": {"id": "lab", "name": "lab", "version": "1.120.0"}, "hibernated": false,
        "uid": "00000000-0000-0000-0000-000000000000",
        "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100, "description": "done",
            "lastUpdateTime": "2026-01-01T00:00:00Z"},
    });
    first_status(&lab.garden, SHOOT, "lastOperation", shoot).await?;
    let cluster = json!({"phase": "Ready", "ceph": {"health": "HEALTH_OK", "capacity": {
        "bytesTotal": 1_u64 << 50, "bytesUsed": 1_u64 << 40, "bytesAvailable": (1_u64 << 50) - (1_u64 << 40)}}});
    first_status(&lab.storage, CEPH, "phase", cluster).await?;
    let ready = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    for cluster in [&lab.hypervisor, &lab.control_plane, &lab.storage] {
        let mut share = ready.clone();
        let hosts = ["node-1", "node-2"].map(|name| json!({"name": name, "phase": "Leased"}));
        share["hosts"] = json!(hosts);
        share["hostCount"] = json!(hosts.len());
        first_status(cluster, SHARE, "conditions", share).await?;
        let pool = json!({"nodeCount": 50, "freeVcpus": 6400, "freeMemoryGB": 25600});
        first_status(cluster, POOL, "nodeCount", pool).await?;
    }
    for cluster in [&lab.hypervisor, &lab.storage] {
        first_status(cluster, EXTERNAL_SECRET, "conditions", ready.clone()).await?;
    }
    first_status(&lab.control_plane, PUSH_SECRET, "conditions", ready.clone()).await?;
    match ceph {
        Some(ceph) => keys::work(lab, ceph, &ready).await,
        None => all_else(lab, ready).await,
    }
}

/// What nobody really does.
async fn all_else(lab: &Lab, ready: Value) -> Result<()> {
    for kind in [BLOCK_POOL, CEPH_CLIENT] {
        first_status(&lab.storage, kind, "phase", json!({"phase": "Ready"})).await?;
    }
    first_status(&lab.storage, PUSH_SECRET, "conditions", ready.clone()).await?;
    first_status(
        &lab.control_plane,
        EXTERNAL_SECRET,
        "conditions",
        ready.clone(),
    )
    .await?;
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

async fn first_status(cluster: &Cluster, kind: Kind, field: &str, status: Value) -> Result<()> {
    for object in unreported(cluster, kind, field).await? {
        report(cluster, kind, &object, status.clone()).await?;
    }
    Ok(())
}

/// The objects whose status hasn't this field yet, and that stay.
pub(super) async fn unreported(
    cluster: &Cluster,
    kind: Kind,
    field: &str,
) -> Result<Vec<DynamicObject>> {
    let mut objects = cluster.list(kind, "").await?;
    objects.retain(|object| {
        object.metadata.deletion_timestamp.is_none() && object.data["status"][field].is_null()
    });
    Ok(objects)
}

/// Gives an object a status. One that is gone or changed by now is seen in the next round.
pub(super) async fn report(
    cluster: &Cluster,
    kind: Kind,
    object: &DynamicObject,
    status: Value,
) -> Result<()> {
    let name = object.name_any();
    let place = match object.namespace() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    };
    if let Err(error) = cluster.set_status(kind, &place, status).await
        && cluster.find(kind, &place).await?.is_some()
    {
        return Err(error);
    }
    Ok(())
}
