//! The rights that the GitOps repository of the examples gives to a tenant's manifests, checked on a real API server.

use lab::claims::OPENSTACK;
use lab::suite::{CLUSTER, Scenario};
use lab::{Cluster, Etcd, Result, bail, ensure, eventually, minutes, scenario};
use serde_json::{Value, json};

/// The scenario of the repository.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Gate,
    60 s,
    tenants_of_the_repository_write_claims_of_their_namespace_alone,
    [CLUSTER]
)];

const NAMESPACE: &str = "tenant-customer-a";
const CLAIM: &str = "tenant-customer-a/customer-a-prod";

fn tenants_of_the_repository_write_claims_of_their_namespace_alone() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "management").await?;
        let definitions = [
            definition("c5c3.io", "v1alpha1", "OpenStackCluster"),
            definition("kustomize.toolkit.fluxcd.io", "v1", "Kustomization"),
        ];
        for definition in definitions {
            cluster.apply(&definition).await?;
        }
        for namespace in ["flux-system", NAMESPACE, "tenant-customer-b"] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            cluster.apply(&namespace.to_string()).await?;
        }
        cluster
            .apply_files("examples/gitops/apps/flux-policies/policy.yaml")
            .await?;
        let tenants = "examples/gitops/tenants";
        for tenant in ["customer-a", "customer-b"] {
            cluster
                .apply_files(format!("{tenants}/{tenant}/rbac.yaml"))
                .await?;
        }

        let flux = cluster.acting_as(&format!("{NAMESPACE}/flux")).await?;
        let own = format!("{tenants}/customer-a/openstack-clusters/prod.yaml");
        eventually("the tenant's claim is applied", minutes(1), async || {
            flux.apply_files(&own).await
        })
        .await?;
        let other = format!("{tenants}/customer-b/openstack-clusters/staging.yaml");
        forbidden("another tenant's claim", flux.apply_files(&other).await)?;
        forbidden("a deletion", flux.delete(OPENSTACK, CLAIM).await)?;
        cluster.get(OPENSTACK, CLAIM).await?;

        // The API server learns of a policy a moment later.
        eventually("the policy is in effect", minutes(1), async || {
            let with_all_rights = kustomization(NAMESPACE, &json!({"path": "./"}));
            let reason = cluster.refuses(&with_all_rights).await?;
            ensure!(reason.contains("set spec.serviceAccountName"), "{reason}");
            Ok(())
        })
        .await?;
        let elsewhere = json!({
            "serviceAccountName": "flux",
            "kubeConfig": {"secretRef": {"name": "hv-pool-a-kubeconfig"}},
        });
        let reason = cluster
            .refuses(&kustomization(NAMESPACE, &elsewhere))
            .await?;
        ensure!(reason.contains("remove spec.kubeConfig"), "{reason}");
        let own = kustomization(NAMESPACE, &json!({"serviceAccountName": "flux"}));
        forbidden("another Kustomization", flux.apply(&own).await)?;
        cluster.apply(&own).await?;
        let of_the_platform = kustomization("flux-system", &json!({"path": "./"}));
        cluster.apply(&of_the_platform).await?;
        Ok(())
    })
}

/// Fails unless the API server has refused a request because of the service account's rights.
fn forbidden<T>(what: &str, response: Result<T>) -> Result<()> {
    match response {
        Ok(_) => bail!("{what} is possible with the tenant's service account"),
        Err(error) => ensure!(
            format!("{error:#}").contains("cannot "),
            "{what}: {error:#}"
        ),
    }
    Ok(())
}

/// A definition that accepts any field, for scenarios that don't need the kind's own.
pub fn definition(group: &str, version: &str, kind: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": any},
            }],
        },
    });
    definition.to_string()
}

fn kustomization(namespace: &str, spec: &Value) -> String {
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "more", "namespace": namespace},
        "spec": spec,
    });
    kustomization.to_string()
}
