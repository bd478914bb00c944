//! What a tenant with the Role of the documentation tries: kinds that it may not write, claims that no API server may accept, and
//! claims that are accepted and must harm nobody.

use lab::{Cluster, Context, Result, bail, ensure, kind};
use serde_json::{Value, json};

use super::hostile::{TENANT, claim, delete, owners, refused, uid};
use super::tenants::{CUSTOMER_A, CUSTOMER_B};
use super::{admission, references};
use lab::claims::{
    CONTROL_PLANE, CONTROL_PLANE_CLUSTER, Generation, HYPERVISORS, OPENSTACK, STORAGE, Site, tenant,
};

/// Everything that the tenant tries ends in a refusal, or harms nobody.
pub async fn of_a_tenant(site: &Site<'_>) -> Result<()> {
    let tenant = tenant(&site.lab.management, TENANT).await?;
    let before = owners(site).await?;
    kinds_of_the_platform(site, &tenant).await?;
    claims_of_others(&tenant).await?;
    invalid_claims(&tenant).await?;
    invalid_names(site, &tenant).await?;
    claim_of_another_uid(site, &tenant).await?;
    match site.generation {
        Generation::Claims => references::composite_of_another(site, &tenant).await?,
        Generation::Namespaced => {
            references::resources_of_another(site, &tenant).await?;
            references::decoys(site, &tenant).await?;
        }
    }
    references::composition_of_pools(site, &tenant).await?;
    references::refused_by_policy(site, &tenant).await?;
    admission::hopeless_claims(site, &tenant).await?;
    admission::dedicated_pool(site, &tenant).await?;
    admission::control_plane_cluster_of_others(site, &tenant).await?;
    large_claim(site, &tenant).await?;
    assert_eq!(owners(site).await?, before);
    for claim in [CUSTOMER_A, CUSTOMER_B] {
        site.phase(OPENSTACK, claim, "Ready").await?;
    }
    Ok(())
}

/// An `Object` would apply anything in any cluster; the other kinds cost machines, or order deletions.
async fn kinds_of_the_platform(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "planted", "namespace": "default"},
    });
    let (object, usage) = match site.generation {
        Generation::Claims => (
            json!({
                "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
                "metadata": {"name": "planted"},
                "spec": {"forProvider": {"manifest": map}, "providerConfigRef": {"name": "gardener"}},
            }),
            json!({
                "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "Usage",
                "metadata": {"name": "planted"},
            }),
        ),
        Generation::Namespaced => (
            json!({
                "apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
                "metadata": {"name": "planted", "namespace": TENANT},
                "spec": {
                    "forProvider": {"manifest": map},
                    "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "gardener"},
                },
            }),
            json!({
                "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
                "metadata": {"name": "planted", "namespace": TENANT},
            }),
        ),
    };
    let clusters = [CONTROL_PLANE_CLUSTER, HYPERVISORS, STORAGE].map(|kind| {
        json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": {"name": "planted", "namespace": TENANT},
        })
    });
    for manifest in [object, usage].iter().chain(&clusters) {
        forbidden(tenant.refuses(&manifest.to_string()).await?)?;
    }
    let (kinds, place) = match site.generation {
        Generation::Claims => (
            [
                kind("kubernetes.crossplane.io/v1alpha2", "Object"),
                kind("apiextensions.crossplane.io/v1beta1", "Usage"),
            ],
            "planted".to_owned(),
        ),
        Generation::Namespaced => (
            [
                kind("kubernetes.m.crossplane.io/v1alpha1", "Object"),
                kind("protection.crossplane.io/v1beta1", "Usage"),
            ],
            format!("{TENANT}/planted"),
        ),
    };
    for kind in kinds {
        let change = json!({"metadata": {"annotations": {"changed": "true"}}});
        fails(tenant.edit(kind, &place, change).await)?;
        fails(tenant.delete(kind, &place).await)?;
    }
    Ok(())
}

async fn claims_of_others(tenant: &Cluster) -> Result<()> {
    let (namespace, name) = CUSTOMER_A.split_once('/').context("an odd name")?;
    forbidden(tenant.refuses(&claim(name, namespace).to_string()).await?)?;
    let edited = json!({"spec": {"size": "small"}});
    fails(tenant.edit(OPENSTACK, CUSTOMER_A, edited).await)?;
    fails(tenant.get(OPENSTACK, CUSTOMER_A).await)?;
    fails(tenant.delete(OPENSTACK, CUSTOMER_A).await)
}

/// What a schema must refuse: text that would break out of a configuration file or name something of another.
async fn invalid_claims(tenant: &Cluster) -> Result<()> {
    for (field, value) in [
        (
            "/spec/region",
            json!("eu-de-1\n[oslo_policy]\npolicy_file = evil.yaml"),
        ),
        ("/spec/controlPlaneCluster", json!("../management")),
        ("/spec/hypervisorClusters/0", json!("hv-pool-a\u{1b}[2J")),
        ("/spec/storageClusters", json!(["st-pool-a", "st-pool-a"])),
        ("/spec/network", json!({"mtu": 1})),
        ("/spec/tls", json!({"issuerRef": "a b"})),
        (
            "/spec/storage",
            json!({"ceph": {"volumePool": {"quotaGB": -1}}}),
        ),
        ("/spec/size", json!("huge")),
        ("/spec/openStackRelease", json!("2025.2; rm")),
    ] {
        let mut invalid = claim("invalid", TENANT);
        match invalid.pointer_mut(field) {
            Some(place) => *place = value,
            None => {
                let name = field.rsplit('/').next().unwrap_or_default();
                invalid["spec"][name] = value;
            }
        }
        let reason = tenant.refuses(&invalid.to_string()).await?;
        let name = field.trim_start_matches('/').split('/').nth(1);
        let name = name.unwrap_or_default();
        ensure!(
            reason.contains("is invalid") && reason.contains(name),
            "{field}: {reason}"
        );
    }
    Ok(())
}

/// Names of which no namespace can be named, or one of the platform would be. Crossplane 1.20 has no schema of a claim's name.
async fn invalid_names(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    for name in ["keystone.openstack", "operators"] {
        let invalid = claim(name, TENANT).to_string();
        if site.generation == Generation::Namespaced {
            let reason = tenant.refuses(&invalid).await?;
            ensure!(reason.contains("is invalid"), "{name}: {reason}");
            continue;
        }
        tenant.apply(&invalid).await?;
        let place = format!("{TENANT}/{name}");
        let refusal = format!("the namespace openstack-{name} ");
        site.says(&place, "Accepted", "Invalid", &refusal).await?;
        delete(site, &place).await?;
    }
    Ok(())
}

/// A claim that says that it is another's gets nothing of the other's.
async fn claim_of_another_uid(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let (_, name) = CUSTOMER_B.split_once('/').context("an odd name")?;
    let victim = uid(site, CUSTOMER_B).await?;
    let mut twin = claim(name, TENANT);
    twin["metadata"]["labels"] = json!({"c5c3.io/claim-uid": victim});
    twin["metadata"]["annotations"] = json!({"c5c3.io/adopt-by": victim});
    tenant.apply(&twin.to_string()).await?;
    let place = format!("{TENANT}/{name}");
    refused(site, &place, "belongs to another claim").await?;
    delete(site, &place).await
}

/// A claim as large as the API server takes it delays no other.
async fn large_claim(site: &Site<'_>, tenant: &Cluster) -> Result<()> {
    let mut large = claim("large", TENANT);
    large["spec"]["storageClusters"] = json!(["st-missing"]);
    let label = |number: u32| (format!("filler-{number:05}"), json!("x".repeat(60)));
    // Server-side apply records each label once more in metadata.managedFields.
    let labels: serde_json::Map<String, Value> = (0..9_000).map(label).collect();
    large["metadata"]["labels"] = Value::Object(labels);
    tenant.apply(&large.to_string()).await?;
    let place = format!("{TENANT}/large");
    site.phase(OPENSTACK, &place, "Pending").await?;
    let medium = json!({"spec": {"size": "medium"}});
    let management = &site.lab.management;
    management.edit(OPENSTACK, CUSTOMER_B, medium).await?;
    let control_plane = "openstack-customer-b-staging/customer-b-staging";
    site.until("another claim is served", async || {
        let cluster = &site.lab.control_plane;
        let spec = cluster.get(CONTROL_PLANE, control_plane).await?.data["spec"].clone();
        let replicas = &spec["services"]["keystone"]["replicas"];
        ensure!(*replicas == 3, "{replicas} replicas");
        Ok(())
    })
    .await?;
    delete(site, &place).await
}

fn forbidden(reason: String) -> Result<()> {
    ensure!(reason.contains("is forbidden"), "{reason}");
    Ok(())
}

/// Fine when a request was refused for want of a right.
fn fails<T>(response: Result<T>) -> Result<()> {
    match response {
        Ok(_) => bail!("a tenant may do this"),
        Err(error) => forbidden(format!("{error:#}")),
    }
}
