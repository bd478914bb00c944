//! An operator that watches some namespaces works there, and has no rights elsewhere.

use std::sync::Arc;

use lab::{Cluster, Etcd, Kind, Machine, Operator, Result, ensure, eventually, kind, minutes};
use serde_json::json;

use super::SECRET;

const NODE: Kind = kind("v1", "Node");
const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const DEFINITION: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");

pub fn operator_of_watched_namespaces_works_there_only() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        installs_definitions_that_stay(&cluster).await?;
        cluster.install_control_plane_kinds().await?;
        cluster.apply(OBJECTS).await?;
        let misspelled = ["watchNamespace={watched}"];
        let refused = cluster
            .install_chart("keystone-operator", "operators", &misspelled)
            .await;
        ensure!(refused.is_err(), "an unknown value is taken");
        let values = ["watchNamespaces={watched}"];
        cluster
            .install_chart("keystone-operator", "operators", &values)
            .await?;
        let account = cluster.acting_as("operators/keystone-operator").await?;
        eventually("the Role lets it read", minutes(1), async || {
            account.get(SECRET, "watched/one").await.map(drop)
        })
        .await?;
        let elsewhere = account.get(SECRET, "default/one").await;
        ensure!(elsewhere.is_err(), "it reads a Secret elsewhere");
        let all = account.list(SECRET, "").await;
        ensure!(all.is_err(), "it lists the Secrets of all namespaces");

        let name = "keystone-operator";
        let _operator =
            Operator::watching(&machine, &account, name, &["keystone"], &["watched"]).await?;
        // Twice, so that it has had the time for another one meanwhile.
        for replicas in [3, 2] {
            let spec = json!({"spec": {"replicas": replicas}});
            let generation = cluster
                .edit(KEYSTONE, "watched/keystone", spec)
                .await?
                .metadata
                .generation;
            eventually("it reconciles", minutes(1), async || {
                let keystone = cluster.get(KEYSTONE, "watched/keystone").await?;
                let status = &keystone.data["status"];
                ensure!(
                    status["observedGeneration"] == json!(generation),
                    "{status}"
                );
                Ok(())
            })
            .await?;
        }
        let keystone = cluster.get(KEYSTONE, "default/keystone").await?;
        let status = keystone.data.get("status");
        ensure!(status.is_none(), "it reconciles others, too: {status:?}");
        reads_nodes(&machine, &cluster).await
    })
}

/// Helm and Argo CD leave definitions in the cluster when their release ends.
async fn installs_definitions_that_stay(cluster: &Cluster) -> Result<()> {
    cluster.install_chart("c5c3-crds", "operators", &[]).await?;
    let definition = cluster
        .get(DEFINITION, "keystones.keystone.openstack.c5c3.io")
        .await?;
    let annotations = definition.metadata.annotations.unwrap_or_default();
    for (name, value) in [
        ("helm.sh/resource-policy", "keep"),
        (
            "argocd.argoproj.io/sync-options",
            "Prune=false,Delete=false",
        ),
    ] {
        ensure!(
            annotations.get(name).is_some_and(|found| found == value),
            "{annotations:?}"
        );
    }
    let labels = definition.metadata.labels.unwrap_or_default();
    ensure!(
        labels.contains_key("app.kubernetes.io/name")
            && !labels.contains_key("app.kubernetes.io/instance"),
        "{labels:?}"
    );
    Ok(())
}

/// An operator of Nodes becomes ready: beside its Role it may read those, which no Role can allow.
async fn reads_nodes(machine: &Arc<Machine>, cluster: &Cluster) -> Result<()> {
    let name = "ovn-operator";
    let values = ["watchNamespaces={watched}"];
    cluster.install_chart(name, "operators", &values).await?;
    let account = cluster.acting_as("operators/ovn-operator").await?;
    eventually("it may list Nodes", minutes(1), async || {
        account.list(NODE, "").await.map(drop)
    })
    .await?;
    let all = account.list(SECRET, "").await;
    ensure!(all.is_err(), "it lists the Secrets of all namespaces");
    Operator::watching(machine, &account, name, &["ovn"], &["watched"])
        .await
        .map(drop)
}

const OBJECTS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: watched}}
---
{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: watched}}
---
{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: default}}
---
{apiVersion: keystone.openstack.c5c3.io/v1alpha1, kind: Keystone, metadata: {name: keystone, namespace: watched}, spec: {release: \"2025.2\", database: {host: db.example.com}, bootstrap: {adminPasswordSecretRef: {name: admin, key: password}}}}
---
{apiVersion: keystone.openstack.c5c3.io/v1alpha1, kind: Keystone, metadata: {name: keystone, namespace: default}, spec: {release: \"2025.2\", database: {host: db.example.com}, bootstrap: {adminPasswordSecretRef: {name: admin, key: password}}}}
";
