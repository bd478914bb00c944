//! A hundred control planes with all operators of this project in one process, and the minute after.

use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use lab::{Build, Machine, Replicas, Result, Site, eventually, minutes};
use serde_json::{Value, json};

use super::budget::Budget;
use super::hundred::{AT_ONCE, COUNT, OPERATOR, minute_after, names, until_idle};
use super::process::Process;
use super::seen::Seen;
use super::usage::Usage;
use crate::every_part;

/// The most memory of all operators together, in MB.
const MEMORY: f64 = 256.0;

/// Services with a user of Ceph.
const CLIENTS: [&str; 3] = ["cinder", "glance", "nova"];

/// Runs all operators, and checks the budget.
pub async fn become_ready_and_idle(machine: Arc<Machine>) -> Result<()> {
    let names = names();
    let site = Site::open_for_all_operators(&machine, Build::Release, &names).await?;
    let account = site.cluster.account(OPERATOR).await?;
    let mut budget = Budget::default();
    let port = site.start(OPERATOR, &account, Replicas::One)?;
    let process = Process::of(&machine, OPERATOR)?;
    let seen = Seen::begin(&site.cluster);
    until_idle(&machine, port).await?;
    budget.report("memory before", process.memory()?, " MB");

    let before = Usage::now(&site, port).await?;
    let began = Instant::now();
    create_all(&site, &names).await?;
    eventually("all are Ready", minutes(20), async || {
        machine.check(OPERATOR)?;
        seen.are_ready(COUNT)
    })
    .await?;
    budget.report(
        "all from apply to Ready",
        began.elapsed().as_secs_f64(),
        " s",
    );
    let used = Usage::now(&site, port).await?;
    used.report(&mut budget, &before, &site)?;

    until_idle(&machine, port).await?;
    minute_after(&mut budget, &site, &process).await?;
    budget.limit("memory of all operators", process.memory()?, MEMORY, " MB");
    budget.report("memory at its peak", process.peak()?, " MB");
    budget.check()
}

async fn create_all(site: &Site, names: &[String]) -> Result<()> {
    let created = stream::iter(names).map(async |name| create(site, name).await);
    let created = created.buffer_unordered(AT_ONCE);
    created.try_collect::<Vec<()>>().await.map(drop)
}

/// Creates a namespace with a ControlPlane of every service that this project's operators reconcile, one member of each part, and the
/// Secrets that its user creates.
async fn create(site: &Site, name: &str) -> Result<()> {
    let clients = CLIENTS.map(|service| {
        json!({
            "service": service, "storageCluster": "st-pool-a", "user": service,
            "secretRef": { "name": format!("ceph-{service}") },
        })
    });
    let spec = json!({
        "openStackRelease": "2025.2",
        "infrastructure": every_part::infrastructure(),
        "storage": {
            "storageClusters": ["st-pool-a"],
            "ceph": {
                "pools": { "volumes": "volumes", "images": "images", "ephemeral": "ephemeral" },
                "clients": clients,
            },
        },
        "global": { "tls": { "enabled": false } },
    });
    site.control_plane(name, &spec).await?;
    for service in CLIENTS {
        let secret = ceph(name, service);
        site.cluster.apply(&secret.to_string()).await?;
    }
    Ok(())
}

/// The Secret with a user of Ceph.
fn ceph(namespace: &str, user: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": format!("ceph-{user}"), "namespace": namespace },
        "stringData": {
            "userID": user,
            "userKey": "given",
            "keyring": format!("[client.{user}]\n\tkey = given\n"),
            "ceph.conf": "[global]\nmon_host = 192.0.2.1\n",
        },
    })
}
