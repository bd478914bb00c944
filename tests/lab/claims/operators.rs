//! What Gardener, Rook, External Secrets and our own operators would write: statuses, and nothing else.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result};
use kube::core::DynamicObject;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::unreported::{is_unreported, unreported};
use super::{
    BLOCK_POOL, CEPH, CEPH_CLIENT, CONTROL_PLANE, EXTERNAL_SECRET, PUSH_SECRET, Runs, SHARE, rook,
    text,
};
use crate::cluster::Cluster;
use crate::garden::SHOOT;
use crate::lab::Lab;
use crate::objects::{Kind, kind};
use crate::watched::{Watched, report};

const SERVICE: Kind = kind("v1", "Service");
const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");

/// Simulates the operators of a site on which only Crossplane runs, from the first check of the site until this is dropped.
#[derive(Default)]
pub struct Simulated(OnceCell<Watched>);

/// The first status that the operator of a kind writes to an object when all goes well.
struct FirstStatus<'a> {
    cluster: &'a Cluster,
    kind: Kind,
    /// The field of the status without which an object has none yet.
    field: &'static str,
    status: Value,
}

/// Gives every object that has no status yet the one of an operator for whom all went well, where the operator doesn't run.
pub(super) async fn work(lab: &Lab, runs: &Runs) -> Result<()> {
    match runs {
        Runs::Crossplane(simulated) => simulated.begin(lab).await,
        Runs::Operators(operators) => {
            pools(lab).await?;
            operators.work().await
        }
        Runs::Pods(storages) => {
            pools(lab).await?;
            for (storage, ceph) in storages {
                healthy(storage).report().await?;
                rook::work(storage, ceph).await?;
            }
            balance(&lab.control_plane, [192, 0, 2]).await
        }
    }
}

async fn pools(lab: &Lab) -> Result<()> {
    for first in of_pools(lab) {
        first.report().await?;
    }
    Ok(())
}

impl Simulated {
    /// Watches the objects of these operators, since to list all of them at each check would keep the API servers busy.
    async fn begin(&self, lab: &Lab) -> Result<()> {
        let watched = self.0.get_or_try_init(async || {
            let mut watched = Watched::default();
            for first in of_pools(lab).into_iter().chain(of_claims(lab)) {
                first.watch(&mut watched).await?;
            }
            anyhow::Ok(watched)
        });
        watched.await.map(|_| ())
    }
}

impl FirstStatus<'_> {
    /// Writes it to every object that has no status yet.
    async fn report(&self) -> Result<()> {
        for object in unreported(self.cluster, self.kind, self.field).await? {
            let status = self.status.clone();
            self.cluster.report(self.kind, &object, status).await?;
        }
        Ok(())
    }

    /// Writes it to every object that has no status, from now on.
    async fn watch(self, watched: &mut Watched) -> Result<()> {
        let Self {
            cluster,
            kind,
            field,
            status,
        } = self;
        let (resource, _) = cluster.resource(kind.api_version, kind.kind).await?;
        let about = Arc::new((cluster.client(), resource, status));
        let act = move |object| {
            let about = Arc::clone(&about);
            async move {
                let (client, resource, status) = &*about;
                if is_unreported(&object, field) {
                    report(client, resource, &object, status).await;
                }
            }
        };
        watched.each(cluster, kind, act).await
    }
}

/// What Gardener and Rook write for pools.
fn of_pools(lab: &Lab) -> [FirstStatus<'_>; 2] {
    let shoot = json!({
        "technicalID": "shoot--c5c3", "gardener": {"id": "lab", "name": "lab", "version": "1.120.0"}, "hibernated": false,
        "uid": "00000000-0000-0000-0000-000000000000",
        "lastOperation": {"type": "Create", "state": "Succeeded", "progress": 100, "description": "done",
            "lastUpdateTime": "2026-01-01T00:00:00Z"},
    });
    let shoot = FirstStatus {
        cluster: &lab.garden,
        kind: SHOOT,
        field: "lastOperation",
        status: shoot,
    };
    [shoot, healthy(&lab.storage)]
}

/// The status of a healthy CephCluster.
fn healthy(storage: &Cluster) -> FirstStatus<'_> {
    let status = json!({"phase": "Ready", "ceph": {"health": "HEALTH_OK", "capacity": {
        "bytesTotal": 1_u64 << 50, "bytesUsed": 1_u64 << 40, "bytesAvailable": (1_u64 << 50) - (1_u64 << 40)}}});
    FirstStatus {
        cluster: storage,
        kind: CEPH,
        field: "phase",
        status,
    }
}

/// What the operators that claims depend on write.
fn of_claims(lab: &Lab) -> Vec<FirstStatus<'_>> {
    let condition = |type_| json!({"type": type_, "status": "True", "reason": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let ready = json!({"conditions": [condition("Ready")]});
    let mut share = ready.clone();
    let hosts = ["node-1", "node-2"].map(|name| json!({"name": name, "phase": "Leased"}));
    share["hosts"] = json!(hosts);
    share["hostCount"] = json!(hosts.len());
    let pool = json!({"nodeCount": 50, "freeVcpus": 6400, "freeMemoryGB": 25600});
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
    let mut all = Vec::new();
    let mut add = |cluster, kind, field, status: &Value| {
        all.push(FirstStatus {
            cluster,
            kind,
            field,
            status: status.clone(),
        });
    };
    for cluster in [&lab.hypervisor, &lab.control_plane, &lab.storage] {
        add(cluster, SHARE, "conditions", &share);
        add(cluster, POOL, "nodeCount", &pool);
        add(cluster, EXTERNAL_SECRET, "conditions", &ready);
    }
    for cluster in [&lab.control_plane, &lab.storage] {
        add(cluster, PUSH_SECRET, "conditions", &ready);
    }
    for kind in [BLOCK_POOL, CEPH_CLIENT] {
        add(&lab.storage, kind, "phase", &json!({"phase": "Ready"}));
    }
    add(
        &lab.control_plane,
        CONTROL_PLANE,
        "conditions",
        &control_plane,
    );
    all
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
