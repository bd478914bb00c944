//! Two tenants on the same pools: from Pending to Ready, changes, failures.

use lab::{Result, bail, ensure, seconds, throughout, throughout_until};
use serde_json::json;

use super::activity;
use lab::claims::{
    BLOCK_POOL, CEPH, CONTROL_PLANE, CONTROL_PLANE_CLUSTER, HYPERVISORS, NAMESPACE, OPENSTACK,
    SHARE, STORAGE, Site, text,
};

/// The first tenant, who comes before the pools.
pub const CUSTOMER_A: &str = "tenant-customer-a/customer-a-prod";
/// The second tenant.
pub const CUSTOMER_B: &str = "tenant-customer-b/customer-b-staging";

/// A claim waits for its pools, then two become ready on the same ones.
pub async fn share_pools(site: &Site<'_>) -> Result<()> {
    site.claim("claims/customer-a-prod").await?;
    site.phase(OPENSTACK, CUSTOMER_A, "Pending").await?;
    // Crossplane brings conditions to a claim in a turn of their own.
    site.until("a missing pool is said", async || {
        let pending = site.get(OPENSTACK, CUSTOMER_A).await?;
        ensure!(
            lab::condition(&pending, "PoolsReady") == Some("False"),
            "a missing pool isn't said: {}",
            pending.data["status"]
        );
        Ok(())
    })
    .await?;
    activity::shows(site, CUSTOMER_A, Some(("Reconciling", "PoolMissing"))).await?;
    let composite = site.composite(OPENSTACK, CUSTOMER_A).await?;
    let name = composite.metadata.name.unwrap_or_default();
    assert_eq!(
        site.composed(&name).await?.len(),
        0,
        "something is made before the pools are there"
    );

    let ready = become_ready(site);
    throughout_until("Crossplane handles every change", ready, async || {
        responsive(site).await
    })
    .await
}

/// Fails if Crossplane drops changes of what a claim composes or requires, as 2.x does when there are too many.
async fn responsive(site: &Site<'_>) -> Result<()> {
    let kind = site.composite_kind(OPENSTACK);
    for composite in site.lab.management.list(kind, "").await? {
        ensure!(
            lab::condition(&composite, "Responsive") != Some("False"),
            "{:?}: {}",
            composite.metadata.name,
            composite.data["status"]["conditions"]
        );
    }
    Ok(())
}

/// Creates the pools, and waits until both claims are ready.
async fn become_ready(site: &Site<'_>) -> Result<()> {
    for pool in ["control-plane", "hv-pool-a", "hv-pool-b", "st-pool-a"] {
        site.claim(&format!("pools/{pool}")).await?;
    }
    site.phase(
        CONTROL_PLANE_CLUSTER,
        "infrastructure/eu-de-1-control-plane",
        "Ready",
    )
    .await?;
    site.phase(HYPERVISORS, "infrastructure/hv-pool-a", "Ready")
        .await?;
    site.phase(STORAGE, "infrastructure/st-pool-a", "Ready")
        .await?;
    site.until("pools say what they have", async || {
        let pool = site.get(HYPERVISORS, "infrastructure/hv-pool-a").await?;
        ensure!(
            pool.data["status"]["nodeCount"] == 50,
            "{}",
            pool.data["status"]
        );
        let pool = site.get(STORAGE, "infrastructure/st-pool-a").await?;
        ensure!(
            pool.data["status"]["capacity"]["total"] == "1048576Gi",
            "{}",
            pool.data["status"]
        );
        Ok(())
    })
    .await?;

    site.claim("claims/customer-b-staging").await?;
    for claim in [CUSTOMER_A, CUSTOMER_B] {
        let ready = site.phase(OPENSTACK, claim, "Ready").await?;
        activity::shows(site, claim, None).await?;
        let status = &ready.data["status"];
        assert_eq!(
            status["endpoints"]["keystone"],
            "https://keystone.example.com"
        );
        let pools = &status["consumedPools"];
        assert_eq!(
            pools["hypervisor"][0],
            json!({"name": "hv-pool-a", "status": "Ready", "nodeCount": 2})
        );
        assert_eq!(pools["storage"][0]["name"], "st-pool-a");
        assert_eq!(status["cephResources"]["volumePool"]["status"], "Ready");
        let (_, name) = claim.split_once('/').unwrap_or_default();
        site.lab
            .control_plane
            .get(CONTROL_PLANE, &format!("openstack-{name}/{name}"))
            .await?;
        site.lab
            .storage
            .get(BLOCK_POOL, &format!("rook-ceph/{name}-volumes"))
            .await?;
        site.lab.hypervisor.get(SHARE, name).await?;
    }
    site.until("both pools list both tenants", async || {
        for (kind, name) in [
            (HYPERVISORS, "infrastructure/hv-pool-a"),
            (STORAGE, "infrastructure/st-pool-a"),
        ] {
            let pool = site.get(kind, name).await?;
            let consumers = pool.data["status"]["consumers"]
                .as_array()
                .map_or(0, Vec::len);
            ensure!(consumers == 2, "{name} lists {}", pool.data["status"]);
        }
        Ok(())
    })
    .await
}

/// Size and pools change; a hand edit comes back; an unhealthy pool degrades and harms nothing.
pub async fn change(site: &Site<'_>) -> Result<()> {
    let edit =
        json!({"spec": {"size": "medium", "hypervisorClusters": ["hv-pool-a", "hv-pool-b"]}});
    site.lab
        .management
        .edit(OPENSTACK, CUSTOMER_B, edit)
        .await?;
    let place = "openstack-customer-b-staging/customer-b-staging";
    site.until("size and pools reach the ControlPlane", async || {
        let spec = site.lab.control_plane.get(CONTROL_PLANE, place).await?.data["spec"].clone();
        ensure!(
            spec["services"]["keystone"]["replicas"] == 3,
            "{}",
            spec["services"]
        );
        ensure!(
            spec["compute"]["hypervisorClusters"] == json!(["hv-pool-a", "hv-pool-b"]),
            "{}",
            spec["compute"]
        );
        // hv-pool-b's own API server is, in this lab, the storage pool's.
        site.lab
            .storage
            .get(SHARE, "customer-b-staging")
            .await
            .map(drop)
    })
    .await?;
    let edit = json!({"spec": {"hypervisorClusters": ["hv-pool-a"]}});
    site.lab
        .management
        .edit(OPENSTACK, CUSTOMER_B, edit)
        .await?;
    site.says(CUSTOMER_B, "Retained", "DataRetained", "share-hv-pool-b")
        .await?;
    let empty = json!({"hosts": [], "hostCount": 0});
    site.lab
        .storage
        .set_status(SHARE, "customer-b-staging", empty)
        .await?;
    site.until(
        "the share of a pool that is no longer named goes without hosts",
        async || {
            let namespace = "openstack-customer-b-staging";
            site.lab.storage.gone(SHARE, "customer-b-staging").await?;
            site.lab.storage.gone(NAMESPACE, namespace).await
        },
    )
    .await?;
    site.phase(OPENSTACK, CUSTOMER_B, "Ready").await?;

    let edit = json!({"spec": {"services": {"keystone": {"replicas": 9}}}});
    site.lab
        .control_plane
        .edit(CONTROL_PLANE, place, edit)
        .await?;
    site.until("a hand edit is undone", async || {
        let found = site.lab.control_plane.get(CONTROL_PLANE, place).await?;
        ensure!(
            found.data["spec"]["services"]["keystone"]["replicas"] == 3,
            "{}",
            found.data["spec"]
        );
        Ok(())
    })
    .await?;

    let before = uids(site).await?;
    let health = |health: &str| json!({"ceph": {"health": health}});
    site.lab
        .storage
        .set_status(CEPH, "rook-ceph/rook-ceph", health("HEALTH_ERR"))
        .await?;
    let degraded = site.phase(OPENSTACK, CUSTOMER_A, "Degraded").await?;
    assert_eq!(
        degraded.data["status"]["consumedPools"]["storage"][0]["status"],
        "HEALTH_ERR"
    );
    site.lab
        .storage
        .set_status(CEPH, "rook-ceph/rook-ceph", health("HEALTH_OK"))
        .await?;
    let ready = site.phase(OPENSTACK, CUSTOMER_A, "Ready");
    throughout_until("what runs stays", ready, async || {
        ensure!(uids(site).await? == before, "objects were made anew");
        Ok(())
    })
    .await
    .map(drop)
}

/// The function dies in the middle of a change; nothing is lost, and the change goes on when it is back.
pub async fn survive(site: &Site<'_>) -> Result<()> {
    let before = uids(site).await?;
    site.lab.function.kill()?;
    let edit = json!({"spec": {"size": "xlarge"}});
    site.lab
        .management
        .edit(OPENSTACK, CUSTOMER_A, edit)
        .await?;
    throughout(
        "nothing goes while the function is dead",
        seconds(8),
        async || {
            ensure!(
                uids(site).await? == before,
                "objects are missing or were made anew"
            );
            Ok(())
        },
    )
    .await?;
    site.lab.function.start().await?;
    site.until("the change goes on", async || {
        let found = site
            .lab
            .control_plane
            .get(CONTROL_PLANE, "openstack-customer-a-prod/customer-a-prod")
            .await?;
        ensure!(
            found.data["spec"]["services"]["nova"]["api"]["replicas"] == 7,
            "{}",
            found.data["spec"]
        );
        Ok(())
    })
    .await?;
    ensure!(uids(site).await? == before, "objects were made anew");
    site.phase(OPENSTACK, CUSTOMER_A, "Ready").await?;
    Ok(())
}

/// Identities of what runs for both tenants; they change when something is deleted and made again.
async fn uids(site: &Site<'_>) -> Result<Vec<String>> {
    let mut uids = Vec::new();
    for (cluster, kind) in [
        (&site.lab.control_plane, CONTROL_PLANE),
        (&site.lab.storage, BLOCK_POOL),
        (&site.lab.hypervisor, SHARE),
    ] {
        for object in cluster.list(kind, "").await? {
            if object.metadata.deletion_timestamp.is_some() {
                bail!("{} {:?} is being deleted", kind.kind, object.metadata.name);
            }
            uids.push(format!(
                "{} {}",
                text(&object.data, "/kind"),
                object.metadata.uid.unwrap_or_default()
            ));
        }
    }
    uids.sort();
    Ok(uids)
}
