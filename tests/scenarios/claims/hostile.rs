//! What a tenant tries against another: his name, his namespace, what he leaves behind, the clusters of the platform.

use lab::{DynamicObject, Kind, Result, SHOOT, ensure, never_until};
use serde_json::{Value, json};

use super::deletion::{VOLUMES, hold_volumes};
use super::tenants::{CUSTOMER_A, CUSTOMER_B};
use lab::claims::{BLOCK_POOL, CONTROL_PLANE, HYPERVISORS, NAMESPACE, OPENSTACK, STORAGE, Site};

/// The tenant.
pub(super) const TENANT: &str = "tenant-z";

const UID: &str = "c5c3.io/claim-uid";
const ANNOTATION: &str = "c5c3.io/adopt-by";

/// A claim in the tenant's own namespace, labelled as another tenant's, composes its own objects and touches no other's.
pub async fn labelled_as_another(site: &Site<'_>) -> Result<()> {
    let before = owners(site).await?;
    let mut claim = claim("labelled", TENANT);
    claim["metadata"]["labels"] = json!({
        "crossplane.io/claim-name": "customer-a-prod",
        "crossplane.io/claim-namespace": "tenant-customer-a",
    });
    let place = "tenant-z/labelled";
    site.lab.management.apply(&claim.to_string()).await?;
    site.phase(OPENSTACK, place, "Ready").await?;
    assert_eq!(owners(site).await?, before);
    let own = site.lab.control_plane.get(NAMESPACE, "openstack-labelled");
    assert_eq!(label(&own.await?), uid(site, place).await?);
    delete(site, place).await?;
    site.until("its namespace is gone", async || {
        let cluster = &site.lab.control_plane;
        cluster.gone(NAMESPACE, "openstack-labelled").await
    })
    .await?;
    assert_eq!(owners(site).await?, before);
    site.phase(OPENSTACK, CUSTOMER_A, "Ready").await.map(drop)
}

/// A namespace that no claim composed is neither adopted nor deleted, until the platform team hands it over.
pub async fn namespace_of_the_platform(site: &Site<'_>) -> Result<()> {
    let name = "openstack-platform";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let cluster = &site.lab.control_plane;
    cluster.apply(&namespace.to_string()).await?;
    let place = "tenant-z/platform";
    let claim = claim("platform", TENANT).to_string();
    site.lab.management.apply(&claim).await?;
    refused(site, place, "belongs to no claim").await?;
    let labels = cluster.get(NAMESPACE, name).await?.metadata.labels;
    assert_eq!(labels.unwrap_or_default().get(UID), None);
    delete(site, place).await?;
    let namespace = cluster.get(NAMESPACE, name).await?;
    assert_eq!(namespace.metadata.deletion_timestamp, None);

    site.lab.management.apply(&claim).await?;
    refused(site, place, "belongs to no claim").await?;
    let handed = json!({"metadata": {"annotations": {ANNOTATION: uid(site, place).await?}}});
    cluster.edit(NAMESPACE, name, handed).await?;
    site.phase(OPENSTACK, place, "Ready").await?;
    delete(site, place).await
}

/// While the data of a deleted claim are still there, a new claim of its name gets nothing of them.
pub async fn freed_name(site: &Site<'_>) -> Result<()> {
    hold_volumes(site, true).await?;
    let volumes = site.lab.storage.get(BLOCK_POOL, VOLUMES).await?;
    let former = label(&volumes);
    site.lab.management.delete(OPENSTACK, CUSTOMER_A).await?;
    site.until("the volumes are being deleted", async || {
        let volumes = site.lab.storage.get(BLOCK_POOL, VOLUMES).await?;
        ensure!(volumes.metadata.deletion_timestamp.is_some(), "not yet");
        Ok(())
    })
    .await?;
    let place = "tenant-z/customer-a-prod";
    let claim = claim("customer-a-prod", TENANT).to_string();
    site.lab.management.apply(&claim).await?;
    refused(site, place, "belongs to another claim").await?;
    let composed = site.composed_again(OPENSTACK, place);
    never_until("the data stay the former claim's", composed, async || {
        let volumes = site.lab.storage.get(BLOCK_POOL, VOLUMES).await?;
        ensure!(label(&volumes) == former, "another has them: {volumes:?}");
        Ok(())
    })
    .await?;
    hold_volumes(site, false).await?;
    site.phase(OPENSTACK, place, "Ready").await?;
    let volumes = site.lab.storage.get(BLOCK_POOL, VOLUMES).await?;
    assert_eq!(label(&volumes), uid(site, place).await?);
    delete(site, place).await
}

/// A storage cluster that is named as a hypervisor cluster gets neither its Shoot nor its kubeconfig.
pub async fn cluster_of_another_kind(site: &Site<'_>) -> Result<()> {
    let place = "infrastructure/hv-pool-a";
    let shoot = site.lab.garden.get(SHOOT, "garden-c5c3/hv-pool-a").await?;
    let twin = json!({
        "apiVersion": STORAGE.api_version, "kind": STORAGE.kind,
        "metadata": {"name": "hv-pool-a", "namespace": "infrastructure"},
        "spec": {"region": "eu-de-1", "name": "hv-pool-a", "workers": 5,
            "ironcore": {"machinePool": "ironcore-storage"}},
    });
    site.lab.management.apply(&twin.to_string()).await?;
    site.phase(STORAGE, place, "Failed").await?;
    let after = site.lab.garden.get(SHOOT, "garden-c5c3/hv-pool-a").await?;
    assert_eq!(label(&after), label(&shoot));
    assert_eq!(after.data["spec"], shoot.data["spec"]);
    site.lab.management.delete(STORAGE, place).await?;
    site.until("the refused cluster is gone", async || {
        site.lab.management.gone(STORAGE, place).await
    })
    .await?;
    let shoot = site.lab.garden.get(SHOOT, "garden-c5c3/hv-pool-a").await?;
    assert_eq!(shoot.metadata.deletion_timestamp, None);
    site.phase(HYPERVISORS, place, "Ready").await.map(drop)
}

/// Who owns what the two tenants have.
pub(super) async fn owners(site: &Site<'_>) -> Result<Vec<String>> {
    let mut owners = Vec::new();
    for claim in [CUSTOMER_A, CUSTOMER_B] {
        let name = claim.split('/').next_back().unwrap_or_default();
        let place = format!("openstack-{name}/{name}");
        let volumes = format!("rook-ceph/{name}-volumes");
        let objects: [(&lab::Cluster, Kind, &str); 2] = [
            (&site.lab.control_plane, CONTROL_PLANE, &place),
            (&site.lab.storage, BLOCK_POOL, &volumes),
        ];
        for (cluster, kind, place) in objects {
            owners.push(label(&cluster.get(kind, place).await?));
        }
    }
    Ok(owners)
}

/// Waits until a claim is refused because its name is taken.
pub(super) async fn refused(site: &Site<'_>, place: &str, whose: &str) -> Result<()> {
    site.says(place, "Accepted", "NameTaken", whose).await?;
    site.phase(OPENSTACK, place, "Failed").await.map(drop)
}

pub(super) async fn delete(site: &Site<'_>, place: &str) -> Result<()> {
    site.lab.management.delete(OPENSTACK, place).await?;
    site.until(&format!("{place} is gone"), async || {
        site.lab.management.gone(OPENSTACK, place).await
    })
    .await
}

pub(super) async fn uid(site: &Site<'_>, place: &str) -> Result<String> {
    let composite = site.composite(OPENSTACK, place).await?;
    Ok(composite.metadata.uid.unwrap_or_default())
}

fn label(object: &DynamicObject) -> String {
    let labels = object.metadata.labels.clone().unwrap_or_default();
    labels.get(UID).cloned().unwrap_or_default()
}

pub(super) fn claim(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": OPENSTACK.api_version, "kind": OPENSTACK.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "region": "eu-de-1", "size": "small",
            "hypervisorClusters": ["hv-pool-a"], "storageClusters": ["st-pool-a"],
        },
    })
}
