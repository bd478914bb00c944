//! What may not be: a name twice, a second consumer of a dedicated pool.

use lab::{Result, ensure, throughout_until};
use serde_json::json;

use super::activity;
use super::hostile::claim;
use super::tenants::CUSTOMER_B;
use lab::claims::{CONTROL_PLANE, HYPERVISORS, NAMESPACE, OPENSTACK, SHARE, Site};

/// A claim of the same name in another namespace is refused, and so is a change of it that is invalid. The older claim isn't affected.
pub async fn name_taken(site: &Site<'_>) -> Result<()> {
    // Crossplane may still wait until it tries again, after what happened to a pool and to the function.
    site.phase(OPENSTACK, CUSTOMER_B, "Ready").await?;
    let twin = claim("customer-b-staging", "tenant-z");
    site.lab.management.apply(&twin.to_string()).await?;
    let place = "tenant-z/customer-b-staging";
    site.says(place, "Accepted", "NameTaken", "belongs to another claim")
        .await?;
    site.phase(OPENSTACK, place, "Failed").await?;
    activity::shows(site, place, Some(("Stalled", "NameTaken"))).await?;
    let twice = json!({"spec": {"storageClusters": ["st-pool-a", "infrastructure/st-pool-a"]}});
    site.lab.management.edit(OPENSTACK, place, twice).await?;
    site.says(place, "Accepted", "Invalid", "names st-pool-a twice")
        .await?;
    activity::refused(site, place).await?;
    let composed = site.composed_again(OPENSTACK, CUSTOMER_B);
    throughout_until("the elder stays Ready", composed, async || {
        let elder = site.get(OPENSTACK, CUSTOMER_B).await?;
        ensure!(
            elder.data["status"]["phase"] == "Ready",
            "{}",
            elder.data["status"]
        );
        site.lab
            .control_plane
            .get(
                CONTROL_PLANE,
                "openstack-customer-b-staging/customer-b-staging",
            )
            .await?;
        Ok(())
    })
    .await?;
    site.lab.management.delete(OPENSTACK, place).await?;
    site.until("the refused claim is gone", async || {
        site.lab.management.gone(OPENSTACK, place).await
    })
    .await?;
    site.lab.hypervisor.get(SHARE, "customer-b-staging").await?;
    Ok(())
}

/// A dedicated pool admits the first consumer and refuses the second.
pub async fn dedicated(site: &Site<'_>) -> Result<()> {
    site.claim("pools/hv-pool-compliance").await?;
    site.phase(HYPERVISORS, "infrastructure/hv-pool-compliance", "Ready")
        .await?;
    let consumer = |name, namespace| {
        let mut consumer = claim(name, namespace);
        consumer["spec"]["hypervisorClusters"] = json!(["hv-pool-compliance"]);
        consumer.to_string()
    };
    let first = consumer("finance-prod", "tenant-finance");
    site.lab.management.apply(&first).await?;
    site.phase(OPENSTACK, "tenant-finance/finance-prod", "Ready")
        .await?;
    let second = consumer("finance-too", "tenant-z");
    site.lab.management.apply(&second).await?;
    let place = "tenant-z/finance-too";
    site.says(
        place,
        "PoolsReady",
        "PoolDedicated",
        "it is dedicated to another claim",
    )
    .await?;
    site.phase(OPENSTACK, place, "Pending").await?;
    activity::shows(site, place, Some(("Stalled", "PoolDedicated"))).await?;
    site.lab
        .control_plane
        .gone(NAMESPACE, "openstack-finance-too")
        .await?;
    for place in [place, "tenant-finance/finance-prod"] {
        site.lab.management.delete(OPENSTACK, place).await?;
    }
    site.until("both are gone", async || {
        for place in [place, "tenant-finance/finance-prod"] {
            site.lab.management.gone(OPENSTACK, place).await?;
        }
        site.lab
            .control_plane
            .gone(CONTROL_PLANE, "openstack-finance-prod/finance-prod")
            .await
    })
    .await
}
