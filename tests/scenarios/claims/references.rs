//! What a tenant's claim refers to: composite and composed resources of others, and Compositions.

use lab::{Cluster, Result, ensure};
use serde_json::{Value, json};

use super::hostile::{TENANT, claim, delete};
use super::tenants::CUSTOMER_A;
use lab::claims::{Generation, OPENSTACK, Site};

/// A claim that names another's composite resource isn't bound to it, and its deletion deletes nothing.
pub async fn composite_of_another(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let before = site.composite(OPENSTACK, CUSTOMER_A).await?;
    let victim = site.get(OPENSTACK, CUSTOMER_A).await?;
    let mut thief = claim("thief", TENANT);
    thief["spec"]["resourceRef"] = victim.data["spec"]["resourceRef"].clone();
    thief["spec"]["compositeDeletePolicy"] = json!("Background");
    tenant.apply(&thief.to_string()).await?;
    let place = format!("{TENANT}/thief");
    let refusal = "not bound to this claim";
    site.says(&place, "Synced", "ReconcileError", refusal)
        .await?;
    delete(site, &place).await?;
    let after = site.composite(OPENSTACK, CUSTOMER_A).await?;
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.metadata.deletion_timestamp, None);
    assert_eq!(after.data["spec"], before.data["spec"]);
    Ok(())
}

/// A tenant may write which resources its claim has composed. Crossplane deletes what isn't composed any more.
pub async fn resources_of_another(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let victim = site.get(OPENSTACK, CUSTOMER_A).await?;
    let references = victim.data["spec"]["crossplane"]["resourceRefs"].clone();
    ensure!(references.as_array().is_some_and(|list| !list.is_empty()));
    let mut thief = claim("thief", TENANT);
    thief["spec"]["crossplane"] = json!({"resourceRefs": references});
    tenant.apply(&thief.to_string()).await?;
    let place = format!("{TENANT}/thief");
    site.phase(OPENSTACK, &place, "Ready").await?;
    delete(site, &place).await?;
    let kept = site.get(OPENSTACK, CUSTOMER_A).await?;
    assert_eq!(kept.data["spec"]["crossplane"]["resourceRefs"], references);
    Ok(())
}

/// A resource of the tenant that is annotated as a composed one admits a claim to no pool, though Crossplane passes it on.
pub async fn decoys(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let mut decoy = claim("decoy", TENANT);
    decoy["spec"]["storageClusters"] = json!(["st-missing"]);
    decoy["metadata"]["annotations"] =
        json!({"crossplane.io/composition-resource-name": "control-plane"});
    tenant.apply(&decoy.to_string()).await?;
    let mut forger = claim("forger", TENANT);
    forger["spec"]["storageClusters"] = json!(["st-missing"]);
    let reference =
        json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster", "name": "decoy"});
    forger["spec"]["crossplane"] = json!({"resourceRefs": [reference]});
    tenant.apply(&forger.to_string()).await?;
    let place = format!("{TENANT}/forger");
    site.phase(OPENSTACK, &place, "Pending").await?;
    let composed = site.composed("forger").await?;
    ensure!(composed.is_empty(), "{composed:?}");
    delete(site, &place).await?;
    // Crossplane deletes what it was referred to and isn't composed.
    let decoy = format!("{TENANT}/decoy");
    match site.lab.management.gone(OPENSTACK, &decoy).await {
        Ok(()) => Ok(()),
        Err(_) => delete(site, &decoy).await,
    }
}

/// A Composition of pools composes nothing for a claim.
pub async fn composition_of_pools(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let chosen = choosing(site, "odd", "storage-pool");
    tenant.apply(&chosen.to_string()).await?;
    let place = format!("{TENANT}/odd");
    let composite = site
        .until("Crossplane refuses the Composition", async || {
            let composite = site.composite(OPENSTACK, &place).await?;
            let conditions = composite.data["status"]["conditions"].to_string();
            ensure!(
                conditions.contains("is not compatible with"),
                "{conditions}"
            );
            Ok(composite)
        })
        .await?;
    let composed = site
        .composed(&composite.metadata.name.unwrap_or_default())
        .await?;
    ensure!(composed.is_empty(), "{composed:?}");
    delete(site, &place).await
}

/// The policy that is shipped keeps a tenant from choosing a Composition, and neither Crossplane nor the platform team. From here on it
/// applies to all that this scenario does.
pub async fn refused_by_policy(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let management = &site.lab.management;
    management.apply_files("package/policies").await?;
    let chosen = choosing(site, "chooser", "openstack-development");
    let refusal = "sets or changes compositionRef: remove it";
    site.until("the policy is in effect", async || {
        let refused = tenant.would_apply(&chosen).await;
        ensure!(
            refused.is_err_and(|error| error.to_string().contains(refusal)),
            "a tenant may choose a Composition"
        );
        Ok(())
    })
    .await?;
    let mut plain = claim("chooser", TENANT);
    plain["spec"]["storageClusters"] = json!(["st-missing"]);
    tenant.apply(&plain.to_string()).await?;
    let place = format!("{TENANT}/chooser");
    site.phase(OPENSTACK, &place, "Pending").await?;
    let (field, composition) = choice(site, "openstack-development");
    let change = json!({"spec": {(field): composition}});
    let refused = tenant.edit(OPENSTACK, &place, change.clone()).await;
    ensure!(
        refused.is_err_and(|error| error.to_string().contains(refusal)),
        "a tenant may change the Composition"
    );
    management.edit(OPENSTACK, &place, change).await?;
    delete(site, &place).await
}

/// The choice of a Composition in the spec of a claim.
fn choice(site: &Site<'_>, composition: &str) -> (&'static str, Value) {
    let name = json!({"name": composition});
    match site.generation {
        Generation::Claims => ("compositionRef", name),
        Generation::Namespaced => ("crossplane", json!({"compositionRef": name})),
    }
}

/// A claim of the tenant that chooses a Composition.
fn choosing(site: &Site<'_>, name: &str, composition: &str) -> Value {
    let mut claim = claim(name, TENANT);
    let (field, chosen) = choice(site, composition);
    claim["spec"][field] = chosen;
    claim
}
