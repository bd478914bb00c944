//! What Gardener, Rook, External Secrets and our own operators would write: statuses, and nothing else.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{
    BLOCK_POOL, CEPH, CEPH_CLIENT, CONTROL_PLANE, EXTERNAL_SECRET, PUSH_SECRET, Runs, SHARE, rook,
    text,
};
use crate::cluster::Cluster;
use crate::garden::SHOOT;
use crate::lab::Lab;
use crate::objects::{Kind, kind};

const SERVICE: Kind = kind("v1", "Service");
const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");

/// Gives every object that has no status yet the one of an operator for whom all went well, where the operator doesn't run.
pub(super) async fn work(lab: &Lab, runs: &Runs) -> Result<()> {
    let shoot = json!({
        "technicalID": "shoot--c5c3", "gardener": {"id": "lab", "name": "lab", "version": "1.120.0"}, "hibernated": false,
        "uid": "00000000-0000-0000-0000-000000000000",
        "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100, "description": "done",
            "lastUpdateTime": "2026-01-01T00:00:00Z"},
    });
    first_status(&lab.garden, SHOOT, "lastOperation", shoot).await?;
    let cluster = json!({"phase": "Ready", "ceph": {"health": "HEALTH_OK", "capacity": {
        "bytesTotal": 1_u64 << 50, "bytesUsed": 1_u64 << 40, "bytesAvailable": (1_u64 << 50) - (1_u64 << 40)}}});
    first_status(&lab.storage, CEPH, "phase", cluster.clone()).await?;
    match runs {
        Runs::Crossplane => all_else(lab).await,
        Runs::Operators(operators) => operators.work().await,
        Runs::Pods(storages) => {
            for (storage, ceph) in storages {
                first_status(storage, CEPH, "phase", cluster.clone()).await?;
                rook::work(storage, ceph).await?;
            }
            balance(&lab.control_plane, [192, 0, 2]).await
        }
    }
}

/// What no operator really does here.
async fn all_else(lab: &Lab) -> Result<()> {
    let condition = |type_| json!({"type": type_, "status": "True", "reason": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let ready = json!({"conditions": [condition("Ready")]});
    for cluster in [&lab.hypervisor, &lab.control_plane, &lab.storage] {
        let mut share = ready.clone();
        let hosts = ["node-1", "node-2"].map(|name| json!({"name": name, "phase": "Leased"}));
        share["hosts"] = json!(hosts);
        share["hostCount"] = json!(hosts.len());
        first_status(cluster, SHARE, "conditions", share).await?;
        let pool = json!({"nodeCount": 50, "freeVcpus": 6400, "freeMemoryGB": 25600});
        first_status(cluster, POOL, "nodeCount", pool).await?;
        first_status(cluster, EXTERNAL_SECRET, "conditions", ready.clone()).await?;
    }
    for cluster in [&lab.control_plane, &lab.storage] {
        first_status(cluster, PUSH_SECRET, "conditions", ready.clone()).await?;
    }
    for kind in [BLOCK_POOL, CEPH_CLIENT] {
        first_status(&lab.storage, kind, "phase", json!({"phase": "Ready"})).await?;
    }
    let services = [
        "Ready",
        "OVNReady",
        "NovaReady",
        "NeutronReady",
        "CinderReady",
    ];
    let control_plane = json!({
        "conditions": services.map(condition),
        "endpoints": {"keystone": "https://keystone.example.com", "nova": "https://nova.example.com"},
    });
    first_status(
        &lab.control_plane,
        CONTROL_PLANE,
        "conditions",
        control_plane,
    )
    .await
}

/// Gives every load balancer an address of its own, in a network. A node leads them to pods, since hypervisors send to it what is for
/// other networks.
pub(super) async fn balance(cluster: &Cluster, [a, b, c]: [u8; 3]) -> Result<()> {
    let mut services = cluster.list(SERVICE, "").await?;
    services.retain(|service| service.data["spec"]["type"] == "LoadBalancer");
    let address = |service: &DynamicObject| {
        text(&service.data, "/status/loadBalancer/ingress/0/ip")
            .parse()
            .ok()
    };
    let used: BTreeSet<Ipv4Addr> = services.iter().filter_map(address).collect();
    let mut free = (1..255)
        .map(|number| Ipv4Addr::new(a, b, c, number))
        .filter(|address| !used.contains(address));
    for service in services.iter().filter(|service| address(service).is_none()) {
        let address = free.next().context("all addresses are used")?;
        let status = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
        cluster.report(SERVICE, service, status).await?;
    }
    Ok(())
}

async fn first_status(cluster: &Cluster, kind: Kind, field: &str, status: Value) -> Result<()> {
    for object in unreported(cluster, kind, field).await? {
        cluster.report(kind, &object, status.clone()).await?;
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
