//! Clusters that a tenant's claims may not enlarge, occupy or use.

use lab::{Cluster, Context, Result, SHOOT, ensure};
use serde_json::{Value, json};

use super::hostile::{TENANT, claim, delete};
use lab::claims::{CONTROL_PLANE_CLUSTER, HYPERVISORS, OPENSTACK, Site};

/// The pool that every claim may use.
const SHARED: &str = "infrastructure/hv-pool-a";
/// The fields of the Shoot's machines.
const WORKERS: &str = "/spec/provider/workers/0";

/// Claims that a pool can't serve grow no other pool.
pub async fn hopeless_claims(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let customers = ["customer-a-prod", "customer-b-staging"];
    consumers(site, SHARED, &customers).await?;
    let before = workers(site).await?;
    let names = ["hopeless-1", "hopeless-2", "hopeless-3"];
    for name in names {
        let mut hopeless = claim(name, TENANT);
        hopeless["spec"]["size"] = json!("xlarge");
        hopeless["spec"]["storageClusters"] = json!(["st-missing"]);
        tenant.apply(&hopeless.to_string()).await?;
    }
    for name in names {
        site.phase(OPENSTACK, &format!("{TENANT}/{name}"), "Pending")
            .await?;
    }
    consumers(site, SHARED, &customers).await?;
    assert_eq!(workers(site).await?, before);
    for name in names {
        delete(site, &format!("{TENANT}/{name}")).await?;
    }
    Ok(())
}

/// A claim that no pool can serve doesn't occupy a dedicated pool, and isn't told who does.
pub async fn dedicated_pool(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let pool = "infrastructure/hv-pool-compliance";
    site.claim("pools/hv-pool-compliance").await?;
    site.phase(HYPERVISORS, pool, "Ready").await?;
    let wanting = |name, namespace, storage| {
        let mut claim = claim(name, namespace);
        claim["spec"]["hypervisorClusters"] = json!(["hv-pool-compliance"]);
        claim["spec"]["storageClusters"] = json!([storage]);
        claim.to_string()
    };
    tenant
        .apply(&wanting("squatter", TENANT, "st-missing"))
        .await?;
    let squatter = format!("{TENANT}/squatter");
    site.phase(OPENSTACK, &squatter, "Pending").await?;
    let management = &site.lab.management;
    let (finance, namespace) = ("finance-prod", "tenant-finance");
    management
        .apply(&wanting(finance, namespace, "st-pool-a"))
        .await?;
    consumers(site, pool, &[finance]).await?;
    tenant
        .apply(&wanting("follower", TENANT, "st-pool-a"))
        .await?;
    let follower = format!("{TENANT}/follower");
    let refusal = "it is dedicated to another claim";
    site.says(&follower, "PoolsReady", "PoolDedicated", refusal)
        .await?;
    consumers(site, pool, &[finance]).await?;
    for place in [squatter, follower] {
        delete(site, &place).await?;
    }
    management
        .delete(OPENSTACK, &format!("{namespace}/{finance}"))
        .await
}

/// A control plane cluster of other tenants takes no claim.
pub async fn control_plane_cluster_of_others(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let cluster = "infrastructure/eu-de-1-control-plane";
    let share = async |sharing: Value| {
        let sharing = json!({"spec": {"sharing": sharing}});
        let management = &site.lab.management;
        management
            .edit(CONTROL_PLANE_CLUSTER, cluster, sharing)
            .await
    };
    let others = ["tenant-customer-a", "tenant-customer-b", "tenant-finance"];
    share(json!({"allowedNamespaces": others})).await?;
    tenant.apply(&claim("intruder", TENANT).to_string()).await?;
    let place = format!("{TENANT}/intruder");
    let refusal = "doesn't allow claims from namespace tenant-z";
    site.says(&place, "PoolsReady", "PoolNotAllowed", refusal)
        .await?;
    let composite = site.composite(OPENSTACK, &place).await?;
    let name = composite.metadata.name.unwrap_or_default();
    let composed = site.composed(&name).await?;
    ensure!(composed.is_empty(), "{composed:?}");
    delete(site, &place).await?;
    share(Value::Null).await.map(drop)
}

/// Waits until a pool has these consumers alone.
async fn consumers(site: &Site<'_>, pool: &str, expected: &[&str]) -> Result<()> {
    site.until(&format!("{pool} has its consumers"), async || {
        let pool = site.get(HYPERVISORS, pool).await?;
        let consumers = pool.data["status"]["consumers"].as_array();
        let names = consumers.into_iter().flatten().map(|one| &one["name"]);
        let names: Vec<_> = names.collect();
        ensure!(names == expected, "{names:?}");
        Ok(())
    })
    .await
}

/// The machines of the pool that every claim may use.
async fn workers(site: &Site<'_>) -> Result<Value> {
    let shoot = site.lab.garden.get(SHOOT, "garden-c5c3/hv-pool-a").await?;
    let workers = shoot.data.pointer(WORKERS);
    let workers = workers.context("the Shoot has no workers")?;
    Ok(json!([workers["minimum"], workers["maximum"]]))
}
